package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// maxRecords bounds the rows of one answer of URL_HISTORY and URL_STATS, and
// maxJournal the bytes of the objects in it.
const (
	maxRecords = 1000000
	maxJournal = 256 << 20
)

// URLHistory reads the journal of URLs (docs/spec/storage.md 4.18): for each element the rows
// of each URL that it selects, in the order in which they were written unless its
// criterion has another; the LIMIT of that holds for each URL. It is nil for an
// unknown site, and when no URL is selected. A condition that is refused is an
// error that names its clause, as is an answer that is too large.
func (s *Store) URLHistory(ctx context.Context, list []wire.URLRecordsRequest) ([]*wire.URLHistoryResponse, error) {
	var answers []*wire.URLHistoryResponse
	err := s.view(ctx, "URLHistory", func(t *tx) error {
		answers = make([]*wire.URLHistoryResponse, len(list))
		room := journalRoom{rows: maxRecords, bytes: maxJournal}
		for i, r := range list {
			object := fmt.Sprintf("URLHistoryRequest[%d]", i)
			site, err := t.recordsOf(sqldb.Logs, object, "logCriterions", r)
			if err != nil || site == "" {
				if err != nil {
					return err
				}
				continue
			}
			answer := &wire.URLHistoryResponse{SiteID: site, LogRows: []wire.LogRow{}}
			selected, err := t.eachSelected(object, site, r, func(md5s []string) error {
				rows, err := t.journal(object, site, md5s, r.Criterion, &room)
				answer.LogRows = append(answer.LogRows, rows...)
				return err
			})
			if err != nil {
				return err
			}
			if selected {
				answers[i] = answer
			}
		}
		return nil
	})
	return answers, err
}

// recordsOf checks both criterions of an element, and finds its site; "" for an
// unknown one, or a null element.
func (t *tx) recordsOf(database, object, criterion string, r wire.URLRecordsRequest) (string, error) {
	if r.Null {
		return "", nil
	}
	if _, err := t.rowsClauses(sqldb.URLs, object+".urlCriterions", r.SiteID, r.URLsCriterion); err != nil {
		return "", err
	}
	if _, err := t.rowsClauses(database, object+"."+criterion, r.SiteID, r.Criterion); err != nil {
		return "", err
	}
	return t.known(r.SiteID)
}

// eachSelected gives the keys that an element selects, some at a time.
func (t *tx) eachSelected(object, site string, r wire.URLRecordsRequest, do func(md5s []string) error) (selected bool, err error) {
	if r.URLMd5 != "" {
		return true, do([]string{r.URLMd5})
	}
	p := pick{database: sqldb.URLs, site: site, object: object + ".urlCriterions", criterion: r.URLsCriterion, ordered: true}
	for !p.done {
		md5s, err := t.next(&p, step)
		if err != nil {
			return selected, err
		}
		if len(md5s) == 0 {
			continue
		}
		selected = true
		if err := do(md5s); err != nil {
			return selected, err
		}
	}
	return selected, nil
}

// journalRoom is what may still come into an answer.
type journalRoom struct{ rows, bytes int }

func (r *journalRoom) take(object string, bytes int) error {
	r.rows, r.bytes = r.rows-1, r.bytes-bytes
	if r.rows < 0 || r.bytes < 0 {
		return &wire.FieldError{Object: object, Reason: fmt.Sprintf("selects more than %d rows or %d bytes; ask for fewer URLs at once", maxRecords, maxJournal)}
	}
	return nil
}

// journal reads the rows of URLs, those of one URL together.
func (t *tx) journal(object, site string, md5s []string, criterion wire.Criterion, room *journalRoom) ([]wire.LogRow, error) {
	c, err := t.rowsClauses(sqldb.Logs, object+".logCriterions", site, criterion)
	if err != nil {
		return nil, err
	}
	if c.order.Text == "" {
		c.order.Text = t.DB.RowID()
	}
	byMd5 := make(map[string][]wire.LogRow, len(md5s))
	read := func(in string, args []any) error {
		var q statement
		q.add("SELECT " + logColumns + " FROM " + t.table(sqldb.Logs, site) + c.as)
		q.where(ofSite(site), expr.SQL{Text: "(URLMd5 IN (" + in + "))", Args: args}, c.where)
		q.order(c.order)
		q.limit(c.limit)
		return t.Each(t.named(site, q.text.String()), q.args, func(scan func(...any) error) error {
			var row wire.LogRow
			if err := scan(wire.Targets(&row, wire.LogColumns)...); err != nil {
				return err
			}
			byMd5[row.URLMd5] = append(byMd5[row.URLMd5], row)
			return room.take(object, len(row.Object))
		})
	}
	if !c.limit.Set {
		err = chunks(md5s, read)
	}
	var rows []wire.LogRow
	for _, md5 := range md5s {
		if c.limit.Set && err == nil {
			err = read("?", []any{md5})
		}
		rows = append(rows, byMd5[md5]...)
	}
	return rows, err
}

// URLStats reads how often which event happened to URLs (docs/spec/storage.md 4.19): of one
// URL; of those that the criterion on URLs selects, as far as that on the
// counters does too when it has a clause, whose LIMIT counts them and whose order
// they have then; with a criterion on the counters alone of all URLs that were
// ever counted. An element is nil for an unknown site, and when it selects no
// URL. Refusals are as those of URLHistory.
func (s *Store) URLStats(ctx context.Context, list []wire.URLRecordsRequest) ([]*wire.URLStatsResponse, error) {
	var answers []*wire.URLStatsResponse
	err := s.view(ctx, "URLStats", func(t *tx) error {
		answers = make([]*wire.URLStatsResponse, len(list))
		room := journalRoom{rows: maxRecords, bytes: maxJournal}
		for i, r := range list {
			object := fmt.Sprintf("URLStatsRequest[%d]", i)
			site, err := t.recordsOf(sqldb.Freqs, object, "statsCriterions", r)
			if err != nil {
				return err
			}
			if site == "" {
				continue
			}
			rows, selected, err := t.frequencies(object, site, r, &room)
			if err != nil {
				return err
			}
			if selected {
				answers[i] = &wire.URLStatsResponse{SiteID: site, FreqRows: append([]wire.FreqRow{}, rows...)}
			}
		}
		return nil
	})
	return answers, err
}

func (t *tx) frequencies(object, site string, r wire.URLRecordsRequest, room *journalRoom) (rows []wire.FreqRow, selected bool, err error) {
	if r.URLMd5 == "" && r.URLsCriterion.Empty() {
		err := t.countersWhere(object, site, r.Criterion, true, func(row wire.FreqRow) error {
			rows = append(rows, row)
			return room.take(object, 0)
		})
		return rows, len(rows) > 0, err
	}
	byMd5 := map[string]wire.FreqRow{}
	var order []string
	chosen, err := t.eachSelected(object, site, r, func(md5s []string) error {
		order = append(order, md5s...)
		return chunks(md5s, func(in string, args []any) error {
			return t.eachFrequency("SELECT "+freqColumns+" FROM "+t.table(sqldb.Freqs, site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...), func(row wire.FreqRow) error {
				byMd5[row.URLMd5] = row
				return room.take(object, 0)
			})
		})
	})
	if err != nil || !chosen {
		return nil, false, err
	}
	if r.URLMd5 == "" && !r.Criterion.Empty() {
		rows, err = t.filtered(object, site, r.Criterion, byMd5)
		return rows, len(rows) > 0, err
	}
	for _, md5 := range order {
		if row, there := byMd5[md5]; there {
			rows = append(rows, row)
		}
	}
	return rows, true, nil
}

// filtered leaves the rows that a criterion on the counters selects, in its
// order and within its limit.
func (t *tx) filtered(object, site string, criterion wire.Criterion, rows map[string]wire.FreqRow) (list []wire.FreqRow, err error) {
	err = t.countersWhere(object, site, criterion, false, func(row wire.FreqRow) error {
		if _, chosen := rows[row.URLMd5]; chosen {
			list = append(list, row)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	limit, err := expr.ParseLimit(criterion.Limit)
	if err != nil || !limit.Set {
		return list, err
	}
	n := int64(len(list))
	return list[min(limit.Offset, n):min(limit.Offset+limit.Count, n)], nil
}

// countersWhere reads the counters of a site that a criterion selects.
func (t *tx) countersWhere(object, site string, criterion wire.Criterion, limited bool, each func(wire.FreqRow) error) error {
	c, err := t.rowsClauses(sqldb.Freqs, object+".statsCriterions", site, criterion)
	if err != nil {
		return err
	}
	if c.order.Text == "" {
		c.order.Text = "URLMd5"
	}
	var q statement
	q.add("SELECT " + freqColumns + " FROM " + t.table(sqldb.Freqs, site) + c.as)
	q.where(ofSite(site), c.where)
	q.order(c.order)
	if limited {
		q.limit(c.limit)
	}
	return t.eachFrequency(t.named(site, q.text.String()), q.args, each)
}

func (t *tx) eachFrequency(text string, args []any, each func(wire.FreqRow) error) error {
	return t.Each(text, args, func(scan func(...any) error) error {
		var row wire.FreqRow
		if err := scan(wire.Targets(&row, wire.FreqColumns)...); err != nil {
			return err
		}
		return each(row)
	})
}
