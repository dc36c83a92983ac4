package claims

import (
	"context"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// MarkCrawling takes rows of a site for a batch. Rows in Status 1 and 4 to 7, and rows in
// 2, 3 and 8 that no other batch holds, get Status 3, the batch's id and no errors.
// Missing rows are inserted. Batch 0 is a run without a batch. The marks are by URLMd5. A
// row that this batch has already brought to Status 4 to 7 is Done and unchanged, unless
// the batch is 0: so a batch may run twice. An unknown site is an error with
// CodeNotFound.
func (s *Store) MarkCrawling(ctx context.Context, site string, batchID int64, items []wire.URL) (map[string]wire.Mark, error) {
	return tables.RunForResult(ctx, s.run.Update, "MarkCrawling", func(t *tx) (map[string]wire.Mark, error) { return t.markCrawling(site, batchID, items) })
}

func (t *tx) markCrawling(site string, batchID int64, items []wire.URL) (map[string]wire.Mark, error) {
	site, err := t.OpenSite(site)
	if err != nil {
		return nil, err
	}
	rows, err := t.ReadURLs(site, tables.KeysOf(items))
	if err != nil {
		return nil, err
	}
	marks := make(map[string]wire.Mark, len(items))
	var take, fresh []*wire.URL
	for _, item := range items {
		if _, twice := marks[item.URLMd5]; twice {
			continue
		}
		row, known := rows[item.URLMd5]
		if !known {
			marks[item.URLMd5] = wire.Mark{Row: item}
			item.Status, item.BatchID, item.ErrorMask = wire.StatusCrawling, batchID, 0
			item.TcDate, item.UDate = schema.Date(t.Now), schema.Date(t.Now)
			fresh = append(fresh, &item)
			continue
		}
		m := wire.Mark{Row: row, Known: true}
		switch row.Status {
		case wire.StatusSelectedCrawling, wire.StatusCrawling, wire.StatusSelectedIncremental:
			m.Busy = row.BatchID != batchID && row.BatchID != 0
		case wire.StatusCrawled, wire.StatusSelectedProcessing, wire.StatusProcessing, wire.StatusProcessed:
			m.Done = batchID != 0 && row.BatchID == batchID
		}
		marks[item.URLMd5] = m
		if !m.Busy && !m.Done {
			take = append(take, &row)
		}
	}
	if err := t.AddURLs(site, fresh); err != nil {
		return nil, err
	}
	err = t.CountedRows(site, take, func() (bool, error) {
		for _, row := range take {
			row.Status, row.ErrorMask = wire.StatusCrawling, 0
		}
		_, err := tables.ExecIn(t.tableTx, tables.MapSlice(take, tables.URLKey), "UPDATE "+t.SiteTable(sqldb.URLs, site)+" SET Status = 3, Batch_Id = ?, ErrorMask = 0, TcDate = ?, UDate = ?"+tables.OfKeys,
			batchID, t.Now, t.Now, site)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	for _, row := range take {
		if err := t.StatisticsOf(site).RecordStatus(row.URLMd5, wire.StatusCrawling, marks[row.URLMd5].Row); err != nil {
			return nil, err
		}
	}
	return marks, nil
}

// MarkProcessing takes rows of a site for a batch. Rows in Status 4, and rows in 5 and 6
// that the batch or no batch holds, get Status 6 and the batch's id. The map has the
// taken rows as they were before, by URLMd5. An unknown site is an error with
// CodeNotFound.
func (s *Store) MarkProcessing(ctx context.Context, site string, batchID int64, md5s []string) (map[string]wire.URL, error) {
	return tables.RunForResult(ctx, s.run.Update, "MarkProcessing", func(t *tx) (map[string]wire.URL, error) { return t.markProcessing(site, batchID, md5s) })
}

func (t *tx) markProcessing(site string, batchID int64, md5s []string) (map[string]wire.URL, error) {
	site, err := t.OpenSite(site)
	if err != nil {
		return nil, err
	}
	taken, err := t.ReadURLs(site, md5s)
	if err != nil {
		return nil, err
	}
	var take []*wire.URL
	for md5, row := range taken {
		free := row.BatchID == batchID || row.BatchID == 0
		switch {
		case row.Status == wire.StatusCrawled,
			free && row.Status == wire.StatusSelectedProcessing,
			free && row.Status == wire.StatusProcessing:
			take = append(take, &row)
		default:
			delete(taken, md5)
		}
	}
	err = t.CountedRows(site, take, func() (bool, error) {
		for _, row := range take {
			row.Status = wire.StatusProcessing
		}
		_, err := tables.ExecIn(t.tableTx, tables.MapSlice(take, tables.URLKey), "UPDATE "+t.SiteTable(sqldb.URLs, site)+" SET Status = 6, Batch_Id = ?, TcDate = ?"+tables.OfKeys, batchID, t.Now, site)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	for _, row := range take {
		if err := t.StatisticsOf(site).RecordStatus(row.URLMd5, wire.StatusProcessing, taken[row.URLMd5]); err != nil {
			return nil, err
		}
	}
	return taken, nil
}
