package sqlstore

import (
	"context"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// MarkProcessing takes rows of a site for a batch: those in Status 4, and those
// in 5 and 6 that the batch holds or no batch does, become Status 6 with the
// batch's id. The map has the rows that were taken, as they were before, by
// URLMd5.
func (s *Store) MarkProcessing(ctx context.Context, site string, batchID int64, md5s []string) (map[string]wire.URL, error) {
	var taken map[string]wire.URL
	err := s.update(ctx, "MarkProcessing", func(t *tx) error {
		site, err := t.mustKnow(site)
		if err != nil {
			return err
		}
		if taken, err = t.urls(site, md5s); err != nil {
			return err
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
			return chunks(take, func(in string, args []any) error {
				_, err := t.Exec("UPDATE "+t.table(sqldb.URLs, site)+" SET Status = 6, Batch_Id = ?, TcDate = ? WHERE Site_Id = ? AND URLMd5 IN ("+in+")",
					append([]any{batchID, t.now, site}, args...)...)
				return err
			})
		})
		if err != nil {
			return err
		}
		stats, err := t.statistics(site)
		if err != nil || stats.off() {
			return err
		}
		for _, md5 := range take {
			if err := stats.reached(md5, wire.StatusProcessing, taken[md5]); err != nil {
				return err
			}
		}
		return nil
	})
	return taken, err
}

// FinishProcess stores results of a batch, of the rows that it still holds
// (Status 6) alone. The site's TcDateProcess becomes now. An unknown site is an
// error with CodeNotFound.
func (s *Store) FinishProcess(ctx context.Context, site string, batchID int64, results []wire.Extracted) error {
	return s.update(ctx, "FinishProcess", func(t *tx) error {
		site, err := t.mustKnow(site)
		if err != nil {
			return err
		}
		stats, err := t.statistics(site)
		if err != nil {
			return err
		}
		h := hold{tx: t, site: site, batchID: batchID, status: wire.StatusProcessing, stats: stats}
		keys := make([]string, len(results))
		for i, r := range results {
			keys[i] = r.URLMd5
		}
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
