package sqlstore

import (
	"context"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// MarkProcessing takes rows of a site for a batch. Rows in Status 4, and rows in 5 and 6
// that the batch or no batch holds, get Status 6 and the batch's id. The map has the
// taken rows as they were before, by URLMd5. An unknown site is an error with
// CodeNotFound.
func (s *Store) MarkProcessing(ctx context.Context, site string, batchID int64, md5s []string) (map[string]wire.URL, error) {
	return result(ctx, s.update, "MarkProcessing", func(t *tx) (map[string]wire.URL, error) { return t.markProcessing(site, batchID, md5s) })
}

func (t *tx) markProcessing(site string, batchID int64, md5s []string) (map[string]wire.URL, error) {
	site, stats, err := t.openSite(site)
	if err != nil {
		return nil, err
	}
	taken, err := t.urls(site, md5s)
	if err != nil {
		return nil, err
	}
	var take []string
	for md5, row := range taken {
		free := row.BatchID == batchID || row.BatchID == 0
		switch {
		case row.Status == wire.StatusCrawled,
			free && row.Status == wire.StatusSelectedProcessing,
			free && row.Status == wire.StatusProcessing:
			take = append(take, md5)
		default:
			delete(taken, md5)
		}
	}
	err = t.counted(site, take, func() error {
		_, err := execIn(t, take, "UPDATE "+t.table(sqldb.URLs, site)+" SET Status = 6, Batch_Id = ?, TcDate = ?"+ofKeys, batchID, t.now, site)
		return err
	})
	if err != nil || stats.off() {
		return taken, err
	}
	for _, md5 := range take {
		if err := stats.reached(md5, wire.StatusProcessing, taken[md5]); err != nil {
			return nil, err
		}
	}
	return taken, nil
}

// FinishProcess stores results of a batch for the rows that it still holds (Status 6).
// The site's TcDateProcess becomes the current time. An unknown site is an error with
// CodeNotFound.
func (s *Store) FinishProcess(ctx context.Context, site string, batchID int64, results []wire.Extracted) error {
	return s.update(ctx, "FinishProcess", func(t *tx) error {
		site, stats, err := t.openSite(site)
		if err != nil {
			return err
		}
		h := hold{tx: t, site: site, batchID: batchID, status: wire.StatusProcessing, stats: stats}
		keys := mapped(results, func(r wire.Extracted) string { return r.URLMd5 })
		err = t.counted(site, keys, func() error {
			for _, r := range results {
				if _, err := h.finish(r.URLMd5, r.Set, "Processed", r.Processed); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		_, err = t.Do("site_touch_process", t.now, site)
		return err
	})
}
