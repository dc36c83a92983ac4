package store

import (
	"context"
	"slices"

	"hce/dc/internal/dc"
)

// URLReturn frees the rows that batches hold (DECISIONS 3.4, 3.5): Status 2, 3
// and 8 go back to 1, 5 and 6 to 4, all with State 0 and without a batch; with
// Statuses those alone. With Fault an attempt is counted; a row whose attempts
// reach MaxAttempts ends in State 2, Status 4 with bit 52 instead. It tells how
// many rows were freed. Unknown sites are passed over.
func (s *Store) URLReturn(ctx context.Context, r dc.URLReturnRequest) (returned int, err error) {
	err = s.update(ctx, "URLReturn", func(t *tx) error {
		returned = 0
		sites := r.Sites
		if len(sites) == 0 {
			if sites, err = t.texts("sites_in_work"); err != nil {
				return err
			}
		}
		for _, id := range sites {
			site, err := t.known(id)
			if err != nil {
				return err
			}
			if site == "" {
				continue
			}
			n, err := t.returnURLs(site, r)
			if err != nil {
				return err
			}
			returned += n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return returned, nil
}

// texts reads a named query of one text.
func (t *tx) texts(name string, args ...any) ([]string, error) {
	var list []string
	err := t.All(name, args, func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		list = append(list, s)
		return err
	})
	return list, err
}

func (t *tx) returnURLs(site string, r dc.URLReturnRequest) (int, error) {
	type held struct {
		md5                     string
		status, batch, attempts int64
	}
	var rows []held
	err := t.Of(site).All("urls_in_work", []any{site}, func(scan func(...any) error) error {
		var h held
		err := scan(&h.md5, &h.status, &h.batch, &h.attempts)
		if len(r.Statuses) > 0 && !slices.Contains(r.Statuses, h.status) {
			return err
		}
		if r.BatchID != 0 && h.batch == r.BatchID || r.BatchID == 0 && !slices.Contains(r.Except, h.batch) {
			rows = append(rows, h)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	var attempt int64
	if r.Fault {
		attempt = 1
	}
	keys := make([]string, len(rows))
	for i, h := range rows {
		keys[i] = h.md5
	}
	urls := t.Of(site)
	return len(rows), t.counted(site, keys, func() error {
		for _, h := range rows {
			status := dc.StatusNew
			if h.status == dc.StatusSelectedProcessing || h.status == dc.StatusProcessing {
				status = dc.StatusCrawled
			}
			if r.Fault && r.MaxAttempts > 0 && h.attempts+attempt >= r.MaxAttempts {
				_, err = urls.Do("urls_give_up", int64(dc.ErrMaxExecutionTime), t.now, site, h.md5)
			} else {
				_, err = urls.Do("urls_return", status, attempt, t.now, site, h.md5)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
