package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Limits of one answer of URL_HISTORY and URL_STATS: rows, and bytes of their objects.
const (
	maxRecords     = 1000000
	maxRecordBytes = 256 << 20
)

// URLHistory reads the journal of URLs (docs/spec/storage.md 4.18): for each selected URL
// its rows in the order of the criterion, or else in the order of writing. The LIMIT
// applies to each URL. The answer of an element is nil for an unknown site and if no URL
// is selected. An invalid criterion is an error with its clause; a too large answer is an
// error too.
func (s *Store) URLHistory(ctx context.Context, list []wire.URLRecordsRequest) ([]*wire.URLHistoryResponse, error) {
	limit := &recordLimit{}
	return readRecords(ctx, s, "URLHistory", list, limit, func(t *tx, object string, r wire.URLRecordsRequest) (*wire.URLHistoryResponse, error) {
		site, err := t.recordsSite(sqldb.Logs, object, "logCriterions", r)
		if err != nil || site == "" {
			return nil, err
		}
		answer := &wire.URLHistoryResponse{SiteID: site, LogRows: []wire.LogRow{}}
		selected, err := t.eachSelected(object, site, r, func(md5s []string) error {
			rows, err := t.journal(object, site, md5s, r.Criterion, limit)
			answer.LogRows = append(answer.LogRows, rows...)
			return err
		})
		if !selected {
			answer = nil
		}
		return answer, err
	})
}

// URLStats reads the event counters of URLs (docs/spec/storage.md 4.19). An element
// selects one URL, the URLs of its criterion on URLs, or without one all URLs with
// counters. Its criterion on counters filters the selection and sets order and limit.
// Answers and errors are as for URLHistory.
func (s *Store) URLStats(ctx context.Context, list []wire.URLRecordsRequest) ([]*wire.URLStatsResponse, error) {
	limit := &recordLimit{}
	return readRecords(ctx, s, "URLStats", list, limit, func(t *tx, object string, r wire.URLRecordsRequest) (*wire.URLStatsResponse, error) {
		site, err := t.recordsSite(sqldb.Freqs, object, "statsCriterions", r)
		if err != nil || site == "" {
			return nil, err
		}
		rows, selected, err := t.frequencies(object, site, r, limit)
		if err != nil || !selected {
			return nil, err
		}
		return &wire.URLStatsResponse{SiteID: site, FreqRows: append([]wire.FreqRow{}, rows...)}, nil
	})
}

// readRecords returns the answer of read for each element. It resets limit when the
// transaction starts.
func readRecords[A any](ctx context.Context, s *Store, op string, list []wire.URLRecordsRequest, limit *recordLimit, read func(*tx, string, wire.URLRecordsRequest) (*A, error)) ([]*A, error) {
	return result(ctx, s.view, op, func(t *tx) ([]*A, error) {
		*limit = recordLimit{rows: maxRecords, bytes: maxRecordBytes}
		answers := make([]*A, len(list))
		for i, r := range list {
			var err error
			if answers[i], err = read(t, elementName(op+"Request", i), r); err != nil {
				return nil, err
			}
		}
		return answers, nil
	})
}

// recordsSite checks both criterions of an element and returns its site, or "" for an
// unknown site or a null element.
func (t *tx) recordsSite(database, object, criterion string, r wire.URLRecordsRequest) (string, error) {
	if r.Null {
		return "", nil
	}
	if _, err := t.rowsClauses(sqldb.URLs, object+".urlCriterions", r.SiteID, r.URLsCriterion); err != nil {
		return "", err
	}
	if _, err := t.rowsClauses(database, object+"."+criterion, r.SiteID, r.Criterion); err != nil {
		return "", err
	}
	return t.storedID(r.SiteID)
}

// eachSelected calls do with the keys that an element selects, a page at a time.
func (t *tx) eachSelected(object, site string, r wire.URLRecordsRequest, do func(md5s []string) error) (selected bool, err error) {
	if r.URLMd5 != "" {
		return true, do([]string{r.URLMd5})
	}
	p := keyPages{database: sqldb.URLs, site: site, object: object + ".urlCriterions", criterion: r.URLsCriterion, ordered: true}
	for !p.done {
		md5s, err := t.nextKeys(&p, pageRows)
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

// recordLimit counts down the size of an answer.
type recordLimit struct{ rows, bytes int }

func (r *recordLimit) take(object string, bytes int) error {
	r.rows, r.bytes = r.rows-1, r.bytes-bytes
	if r.rows < 0 || r.bytes < 0 {
		return &wire.FieldError{Object: object, Reason: fmt.Sprintf("selects more than %d rows or %d bytes; ask for fewer URLs at once", maxRecords, maxRecordBytes)}
	}
	return nil
}

// journal reads the journal rows of URLs, grouped by URL.
func (t *tx) journal(object, site string, md5s []string, criterion wire.Criterion, limit *recordLimit) ([]wire.LogRow, error) {
	c, err := t.rowsClauses(sqldb.Logs, object+".logCriterions", site, criterion)
	if err != nil {
		return nil, err
	}
	c.orderOr(t.DB.RowID())
	byMd5 := make(map[string][]wire.LogRow, len(md5s))
	read := func(in string, args []any) error {
		text, args := c.query("SELECT "+columnList(wire.LogColumns)+" FROM "+t.table(sqldb.Logs, site)+c.as,
			ofSite(site), expr.SQL{Text: "(URLMd5 IN " + in + ")", Args: args})
		return t.Each(t.named(site, text), args, func(scan func(...any) error) error {
			var row wire.LogRow
			if err := scan(wire.Targets(&row, wire.LogColumns)...); err != nil {
				return err
			}
			byMd5[row.URLMd5] = append(byMd5[row.URLMd5], row)
			return limit.take(object, len(row.Object))
		})
	}
	if !c.limit.Set {
		err = chunks(md5s, read)
	}
	var rows []wire.LogRow
	for _, md5 := range md5s {
		if c.limit.Set && err == nil {
			err = read("(?)", []any{md5})
		}
		rows = append(rows, byMd5[md5]...)
	}
	return rows, err
}

func (t *tx) frequencies(object, site string, r wire.URLRecordsRequest, limit *recordLimit) (rows []wire.FreqRow, selected bool, err error) {
	if r.URLMd5 == "" && r.URLsCriterion.Empty() {
		err := t.frequenciesWhere(object, site, r.Criterion, true, func(row wire.FreqRow) error {
			rows = append(rows, row)
			return limit.take(object, 0)
		})
		return rows, len(rows) > 0, err
	}
	byMd5 := map[string]wire.FreqRow{}
	var order []string
	selected, err = t.eachSelected(object, site, r, func(md5s []string) error {
		order = append(order, md5s...)
		return eachIn(t, md5s, "SELECT "+columnList(wire.FreqColumns)+" FROM "+t.table(sqldb.Freqs, site)+ofKeys, []any{site},
			frequencyRow(func(row wire.FreqRow) error {
				byMd5[row.URLMd5] = row
				return limit.take(object, 0)
			}))
	})
	if err != nil || !selected {
		return nil, false, err
	}
	if r.URLMd5 == "" && !r.Criterion.Empty() {
		rows, err = t.filtered(object, site, r.Criterion, byMd5)
		return rows, len(rows) > 0, err
	}
	for _, md5 := range order {
		if row, found := byMd5[md5]; found {
			rows = append(rows, row)
		}
	}
	return rows, true, nil
}

// filtered returns the rows that a criterion on counters selects, in its order and
// within its limit.
func (t *tx) filtered(object, site string, criterion wire.Criterion, rows map[string]wire.FreqRow) (list []wire.FreqRow, err error) {
	err = t.frequenciesWhere(object, site, criterion, false, func(row wire.FreqRow) error {
		if _, selected := rows[row.URLMd5]; selected {
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

// frequenciesWhere reads the counters of a site that a criterion selects.
func (t *tx) frequenciesWhere(object, site string, criterion wire.Criterion, limited bool, each func(wire.FreqRow) error) error {
	c, err := t.rowsClauses(sqldb.Freqs, object+".statsCriterions", site, criterion)
	if err != nil {
		return err
	}
	c.orderOr("URLMd5")
	if !limited {
		c.limit = expr.Limit{}
	}
	text, args := c.query("SELECT "+columnList(wire.FreqColumns)+" FROM "+t.table(sqldb.Freqs, site)+c.as, ofSite(site))
	return t.Each(t.named(site, text), args, frequencyRow(each))
}

func frequencyRow(each func(wire.FreqRow) error) func(scan func(...any) error) error {
	return func(scan func(...any) error) error {
		var row wire.FreqRow
		if err := scan(wire.Targets(&row, wire.FreqColumns)...); err != nil {
			return err
		}
		return each(row)
	}
}
