package sqlstore

import (
	"context"
	"fmt"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// URLFetch selects rows of one or many sites, site by site, and may mark them in
// the same transaction (docs/spec/storage.md 4.10), which takes the place of the original's
// lock: no row is given to two requests that mark it. The rows are as they were
// before URLUpdate, but for their Status. The result is the sum of the requests,
// empty and not nil when nothing is due. A condition that is refused is an error
// that names its clause.
func (s *Store) URLFetch(ctx context.Context, list []wire.URLFetchRequest) ([]wire.URL, error) {
	var urls []wire.URL
	writes := false
	for _, r := range list {
		writes = writes || updatesSites(r) || len(r.URLUpdate) > 0
	}
	run := s.view
	if writes {
		run = s.update
	}
	err := run(ctx, "URLFetch", func(t *tx) error {
		urls = []wire.URL{}
		for i, r := range list {
			f := fetch{tx: t, r: r, object: fmt.Sprintf("URLFetch[%d]", i)}
			if err := f.run(); err != nil {
				return err
			}
			urls = append(urls, f.urls...)
		}
		return nil
	})
	return urls, err
}

// updatesSites reports whether r has something to change in a site.
func updatesSites(r wire.URLFetchRequest) bool { return len(r.SiteUpdate) > 0 || r.SiteLists.Given() }

// fetch is one request of URL_FETCH under way.
type fetch struct {
	*tx
	r      wire.URLFetchRequest
	object string
	urls   []wire.URL
	visits map[string]bool // sites that siteUpdate was applied to
}

// candidate is a site that may be visited.
type candidate struct {
	id    string
	delay int64 // RequestDelay, ms
	left  int64 // rows that the site may still give; below 0: no bound
}

func (f *fetch) run() error {
	sites, err := f.candidates()
	if err != nil || len(sites) == 0 {
		return err
	}
	f.visits = map[string]bool{}
	if f.r.Algorithm == 1 && f.r.MaxURLs > 0 {
		err = f.proportional(sites)
	} else {
		err = f.siteAfterSite(sites)
	}
	if err != nil {
		return err
	}
	return f.mark()
}

// lazy reports whether siteUpdate is for the sites that gave rows alone: the
// daemon asks every few seconds, and an idle one must not write.
func (f *fetch) lazy() bool { return f.r.SkipBusySites || f.r.AsBatch != 0 }

// full reports whether the request has as many rows as it wants.
func (f *fetch) full() bool { return f.r.MaxURLs > 0 && int64(len(f.urls)) >= f.r.MaxURLs }

// candidates are the sites to visit, in their order: those of the list that the
// criterion selects too, or all that it selects. Without a list and without a
// WHERE they are the active ones (docs/spec/storage.md 6.1 #7).
func (f *fetch) candidates() ([]*candidate, error) {
	p, err := f.clauses(f.object+".sitesCriterions", f.siteScope(), f.r.SitesCriterion)
	if err != nil {
		return nil, err
	}
	if len(f.r.Sites) == 0 && p.where.Text == "" {
		p.where = expr.SQL{Text: "(State = ?)", Args: []any{int64(wire.SiteActive)}}
	}
	var busy, listed expr.SQL
	if f.r.SkipBusySites {
		busy.Text, busy.Args = "(InFlight = 0 AND (HeldUntil IS NULL OR HeldUntil <= ?))", []any{f.now}
	}
	if n := len(f.r.Sites); n > 0 && n <= chunkSizes[len(chunkSizes)-1] && !p.limit.Set {
		listed.Text = "(Id IN (" + holes(n) + "))"
		for _, id := range f.r.Sites {
			listed.Args = append(listed.Args, id)
		}
	}
	var s statement
	s.add("SELECT Id, RequestDelay FROM " + f.DB.Table(sqldb.Sites, "sites"))
	s.where(p.where, busy, listed)
	s.order(inOrder(p.order, "Id"))
	s.limit(p.limit)
	var sites []*candidate
	byID := map[string]*candidate{}
	err = f.Each(s.text.String(), s.args, func(scan func(...any) error) error {
		c := &candidate{left: -1}
		if err := scan(&c.id, &c.delay); err != nil {
			return err
		}
		if f.r.PaceTime > 0 && c.delay > 0 {
			c.left = max(f.r.PaceTime/c.delay, 1)
		}
		sites, byID[c.id] = append(sites, c), c
		return nil
	})
	if err != nil || len(f.r.Sites) == 0 {
		return sites, err
	}
	sites = nil
	for _, id := range f.r.Sites {
		if c := byID[id]; c != nil {
			sites = append(sites, c)
			delete(byID, id)
		}
	}
	return sites, nil
}

// siteAfterSite visits each site once; LIMIT holds for each.
func (f *fetch) siteAfterSite(sites []*candidate) error {
	for _, c := range sites {
		if f.full() {
			return nil
		}
		p, err := f.prepare(c)
		if err != nil {
			return err
		}
		if _, err := f.take(c, p, p.limit); err != nil {
			return err
		}
	}
	return nil
}

// proportional gives every site an equal share of MaxURLs, at least 1, in rounds
// of growing offset, as long as the site fills its share.
func (f *fetch) proportional(sites []*candidate) error {
	share := max(f.r.MaxURLs/int64(len(sites)), 1)
	prepared := map[string]clauses{}
	for offset := int64(0); len(sites) > 0; offset += share {
		var again []*candidate
		for _, c := range sites {
			if f.full() {
				return nil
			}
			p, ok := prepared[c.id]
			if !ok {
				var err error
				if p, err = f.prepare(c); err != nil {
					return err
				}
				prepared[c.id] = p
			}
			n, err := f.take(c, p, expr.Limit{Offset: offset, Count: share, Set: true})
			if err != nil {
				return err
			}
			if n == share && c.left != 0 {
				again = append(again, c)
			}
		}
		sites = again
	}
	return nil
}

// prepare begins the visit of a site: siteUpdate, then the queries whose values
// the criterion's macros take, then the criterion.
func (f *fetch) prepare(c *candidate) (clauses, error) {
	if _, err := f.known(c.id); err != nil { // locks it when rows are marked
		return clauses{}, err
	}
	if updatesSites(f.r) && !f.lazy() && !f.visits[c.id] {
		f.visits[c.id] = true
		if _, err := f.updateSite(f.object+".siteUpdate", c.id, f.r.SiteUpdate, f.r.SiteLists); err != nil {
			return clauses{}, err
		}
	}
	scope := f.urlScope(c.id)
	for name, query := range f.r.URLsCriterion.SQL {
		value, err := f.cell(c.id, query)
		if err != nil {
			return clauses{}, &wire.FieldError{Object: f.object + ".urlsCriterions.SQL", Field: name, Value: clip(query), Reason: err.Error()}
		}
		scope.Macros[name] = value
	}
	return f.urlClauses(f.object+".urlsCriterions", c.id, scope, f.r.URLsCriterion)
}

// cell is the first column of the first row of a query, or the word NULL. Its
// text goes into a condition, which is checked afterwards.
func (f *fetch) cell(site, query string) (string, error) {
	q, err := f.urlScope(site).Select(query)
	if err != nil {
		return "", err
	}
	var value *string
	if q.Text != "" {
		if _, err := f.Row(f.named(site, "SELECT * FROM ("+q.Text+") AS query LIMIT 1"), q.Args, &value); err != nil {
			return "", err
		}
	}
	if value == nil {
		return "NULL", nil
	}
	return *value, nil
}

// take reads rows of a site within its bound and the request's; it tells how
// many there were before the bounds cut them.
func (f *fetch) take(c *candidate, p clauses, limit expr.Limit) (int64, error) {
	if c.left == 0 {
		return 0, nil
	}
	asked := limit
	if c.left > 0 && (!limit.Set || c.left < limit.Count) {
		limit.Count, limit.Set = c.left, true
	}
	if left := f.r.MaxURLs - int64(len(f.urls)); f.r.MaxURLs > 0 && (!limit.Set || left < limit.Count) {
		limit.Count, limit.Set = left, true
	}
	// Keys first: the database so sorts keys, not rows, and a site that has nothing
	// to give costs little.
	var s statement
	s.add("SELECT URLMd5 FROM " + f.table(sqldb.URLs, c.id) + p.as)
	s.where(ofSite(c.id), p.where)
	s.order(p.order)
	s.limit(limit)
	var keys []string
	err := f.Each(f.named(c.id, s.text.String()), s.args, func(scan func(...any) error) error {
		var md5 string
		err := scan(&md5)
		keys = append(keys, md5)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := f.read(c.id, keys); err != nil {
		return 0, err
	}
	n := int64(len(keys))
	if c.left > 0 {
		c.left -= n
	}
	if limit != asked && n == limit.Count {
		return asked.Count, nil // cut by a bound: the site has as many as it was asked for, maybe
	}
	return n, nil
}

// read appends rows of a site in the order of their keys.
func (f *fetch) read(site string, keys []string) error {
	rows, err := f.tx.urls(site, keys)
	for _, md5 := range keys {
		if row := rows[md5]; row.SiteID != "" && row.URL != "" {
			f.urls = append(f.urls, row)
		}
	}
	return err
}

// mark applies urlUpdate to what was taken and reads the attributes, both site
// by site.
func (f *fetch) mark() error {
	bySite := map[string][]*wire.URL{}
	var order []string
	for i := range f.urls {
		u := &f.urls[i]
		if bySite[u.SiteID] == nil {
			order = append(order, u.SiteID)
		}
		bySite[u.SiteID] = append(bySite[u.SiteID], u)
	}
	for _, site := range order {
		if updatesSites(f.r) && f.lazy() {
			if _, err := f.updateSite(f.object+".siteUpdate", site, f.r.SiteUpdate, f.r.SiteLists); err != nil {
				return err
			}
		}
		if err := f.fillAttributes(site, bySite[site], f.r.AttributeNames); err != nil {
			return err
		}
		if len(f.r.URLUpdate) == 0 {
			continue
		}
		if err := f.markSite(site, bySite[site]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fetch) markSite(site string, urls []*wire.URL) error {
	rows := make([]chosen, len(urls))
	for i, u := range urls {
		rows[i] = chosen{md5: u.URLMd5, status: u.Status}
	}
	if err := f.setURLs(f.urlsTarget(f.object+".urlUpdate", site), rows, f.r.URLUpdate); err != nil {
		return err
	}
	if status, ok := f.r.URLUpdate["Status"].(int64); ok {
		for _, u := range urls {
			u.Status = status
		}
	}
	stats, err := f.statistics(site)
	if err != nil {
		return err
	}
	return stats.updated(rows, f.r.URLUpdate)
}
