package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hce/dc/internal/wire"
)

// URLReturn frees the rows that batches hold (docs/spec/DECISIONS.md 3.4, 3.5): Status 2, 3
// and 8 go back to 1, 5 and 6 to 4, all with State 0 and without a batch; with
// Statuses those alone, and with Age those alone that nobody touched for so long.
// With Fault an attempt is counted; a row whose attempts reach MaxAttempts ends
// in State 2, Status 4 with bit 52 instead. Of more rows than MaxURLs the oldest
// of each site go back, in equal shares (docs/spec/daemon.md 2.8). It tells how many rows were
// freed. Unknown sites are passed over.
func (s *Store) URLReturn(ctx context.Context, r wire.URLReturnRequest) (returned int, err error) {
	err = s.update(ctx, "URLReturn", func(t *tx) error {
		returned = 0
		sites := r.Sites
		if len(sites) == 0 {
			if sites, err = t.texts("sites_in_work"); err != nil {
				return err
			}
		}
		var all []siteHeld
		for _, id := range sites {
			site, err := t.known(id)
			if err != nil {
				return err
			}
			if site == "" {
				continue
			}
			rows, err := t.heldURLs(site, r)
			if err != nil {
				return err
			}
			if len(rows) > 0 {
				all = append(all, siteHeld{site, rows})
			}
		}
		for _, h := range shares(all, r.MaxURLs) {
			if err := t.returnURLs(h.site, h.rows, r); err != nil {
				return err
			}
			returned += len(h.rows)
		}
		if returned > 0 {
			return nil
		}
		return t.Settle() // a batch that holds nothing must not hold something later
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

// heldURL is a row that a batch holds.
type heldURL struct {
	md5                     string
	status, batch, attempts int64
	touched                 string // UDate; "" sorts as the oldest
}

type siteHeld struct {
	site string
	rows []heldURL
}

// heldURLs are the rows of a site that r means; the oldest MaxURLs of them in
// order when that is set.
func (t *tx) heldURLs(site string, r wire.URLReturnRequest) ([]heldURL, error) {
	before := t.time.Add(-time.Duration(r.Age) * time.Second).Format(wire.DateLayout)
	var rows []heldURL
	err := t.Of(site).All("urls_in_work", []any{site}, func(scan func(...any) error) error {
		var h heldURL
		err := scan(&h.md5, &h.status, &h.batch, &h.attempts, &h.touched)
		switch {
		case len(r.Statuses) > 0 && !slices.Contains(r.Statuses, h.status):
		case r.Age > 0 && h.touched >= before:
		case r.BatchID != 0 && h.batch == r.BatchID, r.BatchID == 0 && !slices.Contains(r.Except, h.batch):
			rows = append(rows, h)
		}
		return err
	})
	if err != nil || r.MaxURLs == 0 {
		return rows, err
	}
	slices.SortFunc(rows, func(a, b heldURL) int {
		return cmp.Or(cmp.Compare(a.touched, b.touched), cmp.Compare(a.md5, b.md5))
	})
	return slices.Clone(rows[:min(int64(len(rows)), r.MaxURLs)]), nil
}

// shares cuts the rows of all sites to most, in equal shares: what a site does
// not fill the others get. When there are more sites than that, those with the
// oldest rows come first. 0 is no bound.
func shares(all []siteHeld, most int64) []siteHeld {
	if most == 0 {
		return all
	}
	slices.SortStableFunc(all, func(a, b siteHeld) int { return cmp.Compare(a.rows[0].touched, b.rows[0].touched) })
	taken := make([]int64, len(all))
	for left, open := most, int64(len(all)); left > 0 && open > 0; {
		share := max(left/open, 1)
		open = 0
		for i, h := range all {
			n := min(share, int64(len(h.rows))-taken[i], left)
			taken[i], left = taken[i]+n, left-n
			if taken[i] < int64(len(h.rows)) {
				open++
			}
		}
	}
	cut := all[:0]
	for i, h := range all {
		if h.rows = h.rows[:taken[i]]; len(h.rows) > 0 {
			cut = append(cut, h)
		}
	}
	// Sites are changed in the order in which all requests lock them.
	slices.SortFunc(cut, func(a, b siteHeld) int { return cmp.Compare(a.site, b.site) })
	return cut
}

func (t *tx) returnURLs(site string, rows []heldURL, r wire.URLReturnRequest) error {
	var attempt int64
	if r.Fault {
		attempt = 1
	}
	keys := make([]string, len(rows))
	for i, h := range rows {
		keys[i] = h.md5
	}
	urls := t.Of(site)
	return t.counted(site, keys, func() error {
		for _, h := range rows {
			status := wire.StatusNew
			if h.status == wire.StatusSelectedProcessing || h.status == wire.StatusProcessing {
				status = wire.StatusCrawled
			}
			var err error
			if r.Fault && r.MaxAttempts > 0 && h.attempts+attempt >= r.MaxAttempts {
				_, err = urls.Do("urls_give_up", int64(wire.ErrMaxExecutionTime), t.now, site, h.md5)
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
