package urls

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
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
	return tables.ReadEach(ctx, s.run.Read, "URLHistoryRequest", list, func(t *Tx, object string, r wire.URLRecordsRequest) (*wire.URLHistoryResponse, error) {
		site, err := t.recordsSite(sqldb.Logs, object, "logCriterions", r)
		if err != nil || site == "" {
			return nil, err
		}
		answer := &wire.URLHistoryResponse{SiteID: site, LogRows: []wire.LogRow{}}
		selected, err := t.eachSelected(object, site, r, func(md5s []string) error {
			rows, err := t.readJournal(object, site, md5s, r.Criterion)
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
	return tables.ReadEach(ctx, s.run.Read, "URLStatsRequest", list, func(t *Tx, object string, r wire.URLRecordsRequest) (*wire.URLStatsResponse, error) {
		site, err := t.recordsSite(sqldb.Freqs, object, "statsCriterions", r)
		if err != nil || site == "" {
			return nil, err
		}
		rows, selected, err := t.readFrequencies(object, site, r)
		if err != nil || !selected {
			return nil, err
		}
		return &wire.URLStatsResponse{SiteID: site, FreqRows: append([]wire.FreqRow{}, rows...)}, nil
	})
}

// recordsSite checks both criterions of an element and returns its site, or "" for an
// unknown site or a null element.
func (t *Tx) recordsSite(database, object, criterion string, r wire.URLRecordsRequest) (string, error) {
	if r.Null {
		return "", nil
	}
	if _, err := t.RowsClauses(sqldb.URLs, object+".urlCriterions", r.SiteID, r.URLsCriterion); err != nil {
		return "", err
	}
	if _, err := t.RowsClauses(database, object+"."+criterion, r.SiteID, r.Criterion); err != nil {
		return "", err
	}
	return t.StoredID(r.SiteID)
}

// eachSelected calls do with the keys that an element selects, a page at a time.
func (t *Tx) eachSelected(object, site string, r wire.URLRecordsRequest, do func(md5s []string) error) (selected bool, err error) {
	if r.URLMd5 != "" {
		return true, do([]string{r.URLMd5})
	}
	p := tables.KeyPages{Database: sqldb.URLs, Site: site, Object: object + ".urlCriterions", Criterion: r.URLsCriterion, Ordered: true}
	for !p.Done {
		md5s, err := t.NextKeys(&p, tables.PageRows)
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

// takeRecord adds a row to the size of the answer.
func (t *Tx) takeRecord(object string, bytes int) error {
	t.records, t.recordBytes = t.records+1, t.recordBytes+bytes
	if t.records > maxRecords || t.recordBytes > maxRecordBytes {
		return &lenient.FieldError{Object: object, Reason: fmt.Sprintf("selects more than %d rows or %d bytes; ask for fewer URLs at once", maxRecords, maxRecordBytes)}
	}
	return nil
}

// readJournal reads the journal rows of URLs, grouped by URL.
func (t *Tx) readJournal(object, site string, md5s []string, criterion wire.Criterion) ([]wire.LogRow, error) {
	c, err := t.RowsClauses(sqldb.Logs, object+".logCriterions", site, criterion)
	if err != nil {
		return nil, err
	}
	c.OrderOr(t.DB.RowID())
	byMd5 := make(map[string][]wire.LogRow, len(md5s))
	read := func(in string, args []any) error {
		text, args := c.BuildQuery("SELECT "+tables.ColumnList(wire.LogColumns)+" FROM "+t.SiteTable(sqldb.Logs, site)+c.As,
			tables.OfSite(site), expr.SQL{Text: "(URLMd5 IN " + in + ")", Args: args})
		return t.Each(t.WithNamedTables(site, text), args, tables.EachRow(tables.FieldsOf[wire.LogRow](wire.LogColumns), func(row wire.LogRow) error {
			byMd5[row.URLMd5] = append(byMd5[row.URLMd5], row)
			return t.takeRecord(object, len(row.Object))
		}))
	}
	if !c.Limit.Set {
		err = tables.ForEachChunk(md5s, read)
	}
	var rows []wire.LogRow
	for _, md5 := range md5s {
		if c.Limit.Set && err == nil {
			err = read("(?)", []any{md5})
		}
		rows = append(rows, byMd5[md5]...)
	}
	return rows, err
}

func (t *Tx) readFrequencies(object, site string, r wire.URLRecordsRequest) (rows []wire.FreqRow, selected bool, err error) {
	if r.URLMd5 == "" && r.URLsCriterion.Empty() {
		rows, err = t.frequenciesWhere(object, site, r.Criterion, nil)
		return rows, len(rows) > 0, err
	}
	byMd5 := map[string]wire.FreqRow{}
	var order []string
	selected, err = t.eachSelected(object, site, r, func(md5s []string) error {
		order = append(order, md5s...)
		return tables.EachIn(t.tableTx, md5s, "SELECT "+tables.ColumnList(wire.FreqColumns)+" FROM "+t.SiteTable(sqldb.Freqs, site)+tables.OfKeys, []any{site},
			tables.FrequencyRow(func(row wire.FreqRow) error {
				byMd5[row.URLMd5] = row
				return t.takeRecord(object, 0)
			}))
	})
	if err != nil || !selected {
		return nil, false, err
	}
	if r.URLMd5 == "" && !r.Criterion.Empty() {
		rows, err = t.frequenciesWhere(object, site, r.Criterion, byMd5)
		return rows, len(rows) > 0, err
	}
	for _, md5 := range order {
		if row, found := byMd5[md5]; found {
			rows = append(rows, row)
		}
	}
	return rows, true, nil
}

// frequenciesWhere reads the counters of a site that a criterion selects, in its order and
// within its limit: those in among, or all if among is nil.
func (t *Tx) frequenciesWhere(object, site string, criterion wire.Criterion, among map[string]wire.FreqRow) (rows []wire.FreqRow, err error) {
	c, err := t.RowsClauses(sqldb.Freqs, object+".statsCriterions", site, criterion)
	if err != nil {
		return nil, err
	}
	c.OrderOr("URLMd5")
	limit := c.Limit
	if among != nil {
		c.Limit = expr.Limit{}
	}
	text, args := c.BuildQuery("SELECT "+tables.ColumnList(wire.FreqColumns)+" FROM "+t.SiteTable(sqldb.Freqs, site)+c.As, tables.OfSite(site))
	err = t.Each(t.WithNamedTables(site, text), args, tables.FrequencyRow(func(row wire.FreqRow) error {
		if among == nil {
			rows = append(rows, row)
			return t.takeRecord(object, 0)
		}
		if _, wanted := among[row.URLMd5]; wanted {
			rows = append(rows, row)
		}
		return nil
	}))
	if among != nil && limit.Set {
		n := int64(len(rows))
		rows = rows[min(limit.Offset, n):min(limit.Offset+limit.Count, n)]
	}
	return rows, err
}
