package claims

import (
	"cmp"
	"context"
	"slices"
	"time"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// URLReturn releases rows that batches hold (docs/spec/DECISIONS.md 3.4, 3.5). Status 2, 3
// and 8 become 1, Status 5 and 6 become 4, all with State 0 and without a batch. Statuses
// and Age limit the rows: Age is the minimum time in seconds since UDate. With Fault each
// release counts an attempt, and a row that reaches MaxAttempts gets State 2, Status 4 and
// bit 52. If more than MaxURLs rows match, the oldest rows of each site are released, in
// equal shares (docs/spec/daemon.md 2.8). It returns the number of rows and skips unknown
// sites.
func (s *Store) URLReturn(ctx context.Context, r wire.URLReturnRequest) (returned int, err error) {
	return tables.RunForResult(ctx, s.run.Update, "URLReturn", func(t *tx) (int, error) {
		held, err := t.heldSites(r)
		if err != nil {
			return 0, err
		}
		n := 0
		for _, h := range limitShares(held, r.MaxURLs) {
			if err := t.returnURLs(h.site, h.rows, r); err != nil {
				return 0, err
			}
			n += len(h.rows)
		}
		if n > 0 {
			return n, nil
		}
		return 0, t.Settle() // a batch that holds nothing now must not hold a row later
	})
}

// URLHeld reads rows that a batch holds, and leaves them with it. With Fault it counts an attempt
// of each; rows that reach MaxAttempts are released as by URLReturn. It returns the number of
// released rows and the other rows.
func (s *Store) URLHeld(ctx context.Context, r wire.URLReturnRequest) (released int, kept []wire.URL, err error) {
	run := tables.Transact[*tx](s.run.Read)
	if r.Fault {
		run = s.run.Update
	}
	kept, err = tables.RunForResult(ctx, run, "URLHeld", func(t *tx) (rows []wire.URL, err error) {
		released = 0
		held, err := t.heldSites(r)
		for _, h := range held {
			if err != nil {
				return nil, err
			}
			var stay []string
			var last []heldURL
			for _, row := range h.rows {
				switch {
				case r.Fault && r.MaxAttempts > 0 && row.attempts+1 >= r.MaxAttempts:
					last = append(last, row)
				default:
					stay = append(stay, row.md5)
				}
			}
			released += len(last)
			if len(last) > 0 {
				err = t.returnURLs(h.site, last, r)
			}
			for _, md5 := range stay {
				if err == nil && r.Fault {
					_, err = t.Of(h.site).Do("urls_attempt", h.site, md5)
				}
			}
			var found map[string]wire.URL
			if err == nil {
				found, err = t.ReadURLs(h.site, stay)
			}
			for _, md5 := range stay {
				if u, ok := found[md5]; ok {
					rows = append(rows, u)
				}
			}
		}
		return rows, err
	})
	return released, kept, err
}

// heldURL is a row that a batch holds.
type heldURL struct {
	md5                     string
	status, batch, attempts int64
	touched                 string // UDate; "" is the oldest
}

type siteHeld struct {
	site string
	rows []heldURL
}

// heldSites returns the sites of r that have rows to release.
func (t *tx) heldSites(r wire.URLReturnRequest) (held []siteHeld, err error) {
	sites := r.Sites
	if len(sites) == 0 {
		if sites, err = tables.NamedColumn[string](t.tableTx, "sites_in_work"); err != nil {
			return nil, err
		}
	}
	for _, id := range sites {
		site, err := t.StoredID(id)
		if err != nil {
			return nil, err
		}
		if site == "" {
			continue
		}
		rows, err := t.heldURLs(site, r)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			held = append(held, siteHeld{site, rows})
		}
	}
	return held, nil
}

// heldURLs returns the rows of a site to release; with MaxURLs at most that many, the
// oldest first.
func (t *tx) heldURLs(site string, r wire.URLReturnRequest) ([]heldURL, error) {
	before := t.Time.Add(-time.Duration(r.Age) * time.Second).Format(schema.DateLayout)
	var rows []heldURL
	err := t.Of(site).All("urls_in_work", []any{site}, func(scan func(...any) error) error {
		var h heldURL
		err := scan(&h.md5, &h.status, &h.batch, &h.attempts, &h.touched)
		switch {
		case len(r.Statuses) > 0 && !slices.Contains(r.Statuses, h.status):
		case r.Age > 0 && h.touched >= before:
		case len(r.URLs) > 0 && !slices.Contains(r.URLs, wire.URLKey{SiteID: site, URLMd5: h.md5}):
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

// limitShares limits the rows of all sites to limit, in equal shares. The unused part of a
// share goes to other sites. If there are more sites than rows, the sites with the oldest
// rows come first. Limit 0 means no limit.
func limitShares(all []siteHeld, limit int64) []siteHeld {
	if limit == 0 {
		return all
	}
	slices.SortStableFunc(all, func(a, b siteHeld) int { return cmp.Compare(a.rows[0].touched, b.rows[0].touched) })
	taken := make([]int64, len(all))
	for left, open := limit, int64(len(all)); left > 0 && open > 0; {
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
	// All requests lock sites in this order.
	slices.SortFunc(cut, func(a, b siteHeld) int { return cmp.Compare(a.site, b.site) })
	return cut
}

func (t *tx) returnURLs(site string, rows []heldURL, r wire.URLReturnRequest) error {
	var attempt int64
	if r.Fault {
		attempt = 1
	}
	urls := t.Of(site)
	return t.RunCounted(site, tables.MapSlice(rows, func(h heldURL) string { return h.md5 }), func() error {
		for _, h := range rows {
			status := wire.StatusNew
			if h.status == wire.StatusSelectedProcessing || h.status == wire.StatusProcessing {
				status = wire.StatusCrawled
			}
			var err error
			if r.Fault && r.MaxAttempts > 0 && h.attempts+attempt >= r.MaxAttempts {
				_, err = urls.Do("urls_give_up", int64(errormask.MaxExecutionTime), t.Now, site, h.md5)
			} else {
				_, err = urls.Do("urls_return", status, attempt, t.Now, site, h.md5)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
