package claims

import (
	"context"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/limits"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

// leasedRoom is what a selection for a batch needs to keep the leases: a condition of sites, and the
// columns that RoomOf gets. Without a cluster there is no condition, and the columns are numbers.
func (f *fetch) leasedRoom() (condition expr.SQL, columns string) {
	if !f.Place.Active() || !f.r.SkipBusySites {
		return condition, "0, 0, 0"
	}
	least := func(max, lease string) string {
		return "(CASE WHEN " + lease + " < " + max + " THEN " + lease + " ELSE " + max + " END)"
	}
	used := "Resources + InFlight + InProcess"
	condition.Text = "((MaxResources = 0 OR " + used + " < " + least("MaxResources", "LeaseResources") +
		") AND (MaxErrors = 0 OR Errors <= " + least("MaxErrors", "LeaseErrors") + "))"
	return condition, "MaxResources, LeaseResources, " + used
}

// URLFetch selects rows of one or many sites, site by site, and may mark them in the same
// transaction (docs/spec/storage.md 4.10): two requests that mark rows never get the same
// row. The rows are as they were before URLUpdate, except for their Status. The result
// joins the rows of all requests and is not nil. An invalid criterion is an error with its
// clause.
func (s *Store) URLFetch(ctx context.Context, list []wire.URLFetchRequest) ([]wire.URL, error) {
	run := tables.Transact[*tx](s.run.Read)
	for _, r := range list {
		if updatesSites(r) || len(r.URLUpdate) > 0 {
			run = s.run.Update
		}
	}
	return tables.RunForResult(ctx, run, "URLFetch", func(t *tx) ([]wire.URL, error) {
		urls := []wire.URL{}
		for i, r := range list {
			f := fetch{tx: t, r: r, object: tables.ElementName("URLFetch", i)}
			if err := f.runFetch(); err != nil {
				return nil, err
			}
			urls = append(urls, f.rows...)
		}
		return urls, nil
	})
}

// Take is URLFetch and MarkCrawling or MarkProcessing of the rows that it selects, in one
// transaction: a batch that takes its rows writes each of them once. The Status of URLUpdate
// says which of the two. The rows are those that MarkCrawling or MarkProcessing would read, all of
// them are taken. Trash reports whether Trash has items.
func (s *Store) Take(ctx context.Context, list []wire.URLFetchRequest, batchID int64) (rows []wire.URL, trash bool, err error) {
	rows, err = tables.RunForResult(ctx, s.run.Update, "Take", func(t *tx) ([]wire.URL, error) {
		rows := []wire.URL{}
		for i, r := range list {
			f := fetch{tx: t, r: r, object: tables.ElementName("URLFetch", i), taker: batchID, takes: true}
			if err := f.runFetch(); err != nil {
				return nil, err
			}
			rows = append(rows, f.rows...)
		}
		trash, err = t.Get("trash_any", nil, new(int))
		return rows, err
	})
	return rows, trash, err
}

// updatesSites reports whether r changes a site.
func updatesSites(r wire.URLFetchRequest) bool { return len(r.SiteUpdate) > 0 || r.SiteLists.Given() }

// fetch is the state of one request of URL_FETCH.
type fetch struct {
	*tx
	r       wire.URLFetchRequest
	object  string
	rows    []wire.URL
	updated map[string]bool // sites that siteUpdate was applied to
	takes   bool            // see Take
	taker   int64           // id of the batch
}

// candidate is a site that the request may read.
type candidate struct {
	id    string
	delay int64           // RequestDelay, ms
	left  int64           // number of rows that may be read; below 0: unlimited
	taken map[string]bool // URLMd5 of the rows that were read
	real  bool            // one of them belongs to no trap
}

func (f *fetch) runFetch() error {
	sites, err := f.candidateSites()
	if err != nil || len(sites) == 0 {
		return err
	}
	f.updated = map[string]bool{}
	if f.r.Algorithm == 1 && f.r.MaxURLs > 0 {
		err = f.readInShares(sites)
	} else {
		err = f.siteAfterSite(sites)
	}
	if err != nil {
		return err
	}
	return f.markSelected()
}

// isLazy reports whether siteUpdate applies only to sites that gave rows. The daemon fetches
// every few seconds, and an idle daemon must not write.
func (f *fetch) isLazy() bool { return f.r.SkipBusySites || f.r.AsBatch != 0 }

// isFull reports whether the request has MaxURLs rows.
func (f *fetch) isFull() bool { return f.r.MaxURLs > 0 && int64(len(f.rows)) >= f.r.MaxURLs }

// candidateSites returns the sites to read, in their order: the sites of the list that match
// the criterion, or all that match. Without a list and a WHERE these are the active sites
// (docs/spec/storage.md 6.1 #7).
func (f *fetch) candidateSites() ([]*candidate, error) {
	p, err := f.BuildClauses(f.object+".sitesCriterions", f.SiteScope(), f.r.SitesCriterion)
	if err != nil {
		return nil, err
	}
	if len(f.r.Sites) == 0 && p.Where.Text == "" {
		p.Where = expr.SQL{Text: "(State = ?)", Args: []any{int64(wire.SiteActive)}}
	}
	var busy, listed expr.SQL
	if f.r.SkipBusySites {
		free := "InFlight = 0"
		if n := len(f.r.Own); n > 0 {
			free = "(InFlight = 0 OR Id IN (" + tables.Placeholders(n) + "))"
			busy.Args = tables.MapSlice(f.r.Own, func(id string) any { return id })
		}
		busy.Text, busy.Args = "("+free+" AND (HeldUntil IS NULL OR HeldUntil <= ?))", append(busy.Args, f.Now)
	}
	if n := len(f.r.Sites); n > 0 && n <= tables.ChunkSizes[len(tables.ChunkSizes)-1] && !p.Limit.Set {
		listed.Text, listed.Args = "(Id IN ("+tables.Placeholders(n)+"))", tables.MapSlice(f.r.Sites, func(id string) any { return id })
	}
	p.TieBreak("Id")
	leased, room := f.leasedRoom()
	text, args := p.BuildQuery("SELECT Id, RequestDelay, "+room+" FROM "+f.SitesTable(), busy, listed, leased)
	var sites []*candidate
	byID := map[string]*candidate{}
	err = f.Each(text, args, func(scan func(...any) error) error {
		c := &candidate{left: -1, taken: map[string]bool{}}
		var limit, lease, used int64
		if err := scan(&c.id, &c.delay, &limit, &lease, &used); err != nil {
			return err
		}
		delay, known := c.delay, true
		if f.r.Pace != nil {
			var pace int64
			pace, known = f.r.Pace(c.id)
			delay = max(delay, pace)
		}
		if f.r.PaceTime > 0 && delay > 0 {
			hosts := int64(1)
			if f.r.Hosts != nil {
				hosts = f.r.Hosts(c.id)
			}
			c.left = max(f.r.PaceTime*hosts/delay, 1)
		}
		if !known && (c.left < 0 || c.left > wire.FirstURLs) {
			c.left = wire.FirstURLs
		}
		if most := limits.RoomOf(limit, lease, used); most >= 0 && (c.left < 0 || c.left > most) {
			c.left = most
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

// siteAfterSite reads each site once. LIMIT applies to each site.
func (f *fetch) siteAfterSite(sites []*candidate) error {
	for _, c := range sites {
		if f.isFull() {
			return nil
		}
		p, err := f.prepareSite(c)
		if err != nil {
			return err
		}
		if _, err := f.takeRows(c, p, p.Limit); err != nil {
			return err
		}
	}
	return nil
}

// readInShares reads an equal share of MaxURLs from each site, at least 1 row, in rounds. A site
// that does not fill its share is not read again.
func (f *fetch) readInShares(sites []*candidate) error {
	share := max(f.r.MaxURLs/int64(len(sites)), 1)
	prepared := map[string]tables.Clauses{}
	for len(sites) > 0 {
		var again []*candidate
		for _, c := range sites {
			if f.isFull() {
				return nil
			}
			p, ok := prepared[c.id]
			if !ok {
				var err error
				if p, err = f.prepareSite(c); err != nil {
					return err
				}
				prepared[c.id] = p
			}
			n, err := f.takeRows(c, p, expr.Limit{Count: share, Set: true})
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

// prepareSite applies siteUpdate to a site, reads the values of the criterion's macros, and
// checks the criterion.
func (f *fetch) prepareSite(c *candidate) (tables.Clauses, error) {
	if _, err := f.StoredID(c.id); err != nil { // locks the site before its rows are marked
		return tables.Clauses{}, err
	}
	if updatesSites(f.r) && !f.isLazy() && !f.updated[c.id] {
		f.updated[c.id] = true
		if _, err := f.UpdateSite(f.object+".siteUpdate", c.id, f.r.SiteUpdate, f.r.SiteLists); err != nil {
			return tables.Clauses{}, err
		}
	}
	scope := f.URLScope(c.id)
	for name, query := range f.r.URLsCriterion.SQL {
		value, err := f.readCell(c.id, query)
		if err != nil {
			return tables.Clauses{}, &lenient.FieldError{Object: f.object + ".urlsCriterions.SQL", Field: name, Value: tables.ClipText(query), Reason: err.Error()}
		}
		scope.Macros[name] = value
	}
	return f.URLClauses(f.object+".urlsCriterions", c.id, scope, f.r.URLsCriterion)
}

// readCell returns the first column of the first row of a query, or "NULL". The text becomes
// part of a condition that is checked later.
func (f *fetch) readCell(site, query string) (string, error) {
	q, err := f.URLScope(site).Select(query)
	if err != nil {
		return "", err
	}
	var value *string
	if q.Text != "" {
		if _, err := f.Row(f.WithNamedTables(site, "SELECT * FROM ("+q.Text+") AS query LIMIT 1"), q.Args, &value); err != nil {
			return "", err
		}
	}
	if value == nil {
		return "NULL", nil
	}
	return *value, nil
}

// takeRows reads rows of a site that were not read yet, within the limits of the site and of the
// request. It returns the number of rows before these limits apply. It asks for the known rows
// again and leaves them out: in an order with ties, MySQL gives a row to several offsets.
func (f *fetch) takeRows(c *candidate, p tables.Clauses, limit expr.Limit) (int64, error) {
	if c.left == 0 {
		return 0, nil
	}
	p.Limit = limit
	if c.left > 0 && (!p.Limit.Set || c.left < p.Limit.Count) {
		p.Limit.Count, p.Limit.Set = c.left, true
	}
	if left := f.r.MaxURLs - int64(len(f.rows)); f.r.MaxURLs > 0 && (!p.Limit.Set || left < p.Limit.Count) {
		p.Limit.Count, p.Limit.Set = left, true
	}
	asked := p
	asked.Limit.Count += int64(len(c.taken)) // without a limit there is one round only
	// Only keys: sorting them is cheaper than sorting rows.
	text, args := asked.BuildQuery("SELECT URLMd5, RetryCause FROM "+f.SiteTable(sqldb.URLs, c.id)+p.As, tables.OfSite(c.id), f.mayBeAsked())
	var keys, late []string
	err := f.Each(f.WithNamedTables(c.id, text), args, tables.ScanPair(func(md5, cause string) {
		switch {
		case c.taken[md5]:
		case cause == wire.CauseTrap && f.r.SkipBusySites:
			late = append(late, md5)
		default:
			keys = append(keys, md5)
		}
	}))
	if err != nil {
		return 0, err
	}
	c.real = c.real || len(keys) > 0
	if len(late) > 0 && !c.real {
		if keys, err = f.afterOthers(c.id, late); err != nil {
			return 0, err
		}
	}
	if p.Limit.Set {
		keys = keys[:min(int64(len(keys)), p.Limit.Count)]
	}
	for _, md5 := range keys {
		c.taken[md5] = true
	}
	if err := f.appendRows(c.id, keys); err != nil {
		return 0, err
	}
	n := int64(len(keys))
	if c.left > 0 {
		c.left -= n
	}
	if p.Limit != limit && n == p.Limit.Count {
		return limit.Count, nil // the site may have more rows
	}
	return n, nil
}

// afterOthers returns the rows of traps that a batch may take: none while another row of the site is being fetched,
// since it may lead to rows that come first.
func (f *fetch) afterOthers(site string, late []string) ([]string, error) {
	others, err := f.Row("SELECT 1 FROM "+f.SiteTable(sqldb.URLs, site)+" WHERE Site_Id = ? AND Status IN (2, 3) AND RetryCause <> ? LIMIT 1", []any{site, wire.CauseTrap}, new(int))
	if err != nil || others {
		return nil, err
	}
	return late, nil
}

// mayBeAsked leaves out the rows that wait for their RetryDate. Only selections for batches do: the
// condition of another request decides alone.
func (f *fetch) mayBeAsked() expr.SQL {
	if !f.r.SkipBusySites {
		return expr.SQL{}
	}
	return expr.SQL{Text: "(RetryDate IS NULL OR RetryDate <= ?)", Args: []any{f.Now}}
}

// appendRows appends rows of a site in the order of keys.
func (f *fetch) appendRows(site string, keys []string) error {
	rows, err := f.ReadURLs(site, keys)
	for _, md5 := range keys {
		if row := rows[md5]; row.SiteID != "" && row.URL != "" {
			f.rows = append(f.rows, row)
		}
	}
	return err
}

// markSelected applies urlUpdate to the selected rows and reads their attributes, site by site.
func (f *fetch) markSelected() error {
	bySite := map[string][]*wire.URL{}
	var order []string
	for i := range f.rows {
		u := &f.rows[i]
		if bySite[u.SiteID] == nil {
			order = append(order, u.SiteID)
		}
		bySite[u.SiteID] = append(bySite[u.SiteID], u)
	}
	for _, site := range order {
		if updatesSites(f.r) && f.isLazy() {
			if _, err := f.UpdateSite(f.object+".siteUpdate", site, f.r.SiteUpdate, f.r.SiteLists); err != nil {
				return err
			}
		}
		if err := f.FillAttributes(site, bySite[site], f.r.AttributeNames); err != nil {
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
	rows := tables.MapSlice(urls, func(u *wire.URL) tables.URLStatus { return tables.URLStatus{MD5: u.URLMd5, Status: u.Status} })
	set, taken := f.r.URLUpdate, int64(wire.StatusCrawling)
	if set["Status"] == int64(wire.StatusSelectedProcessing) {
		taken = wire.StatusProcessing
	}
	if f.takes {
		set = tables.ClonePatch(set)
		set["Status"], set["Batch_Id"], set["TcDate"] = taken, f.taker, f.Now
		if taken == wire.StatusCrawling {
			set["ErrorMask"], set["UDate"] = int64(0), f.Now
		}
	}
	stored := tables.MapSlice(urls, func(u *wire.URL) *wire.URL { c := *u; return &c })
	err := f.CountedRows(site, stored, func() (bool, error) {
		for _, u := range stored {
			schema.Apply(u, counters.TallyColumns, set, "")
		}
		return counters.IsPlainChange(set), f.SetKeys(f.URLsTarget(f.object+".urlUpdate", site), tables.MapSlice(urls, tables.URLKey), set)
	})
	if err != nil {
		return err
	}
	if status, ok := f.r.URLUpdate["Status"].(int64); ok {
		for _, u := range urls {
			u.Status = status
		}
	}
	if err := f.StatisticsOf(site).RecordUpdates(rows, f.r.URLUpdate); err != nil || !f.takes {
		return err
	}
	for _, u := range urls {
		schema.Apply(u, wire.URLColumns, f.r.URLUpdate, schema.Date(f.Now))
		if err := f.StatisticsOf(site).RecordStatus(u.URLMd5, taken, *u); err != nil {
			return err
		}
	}
	return nil
}
