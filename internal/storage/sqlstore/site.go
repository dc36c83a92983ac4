package sqlstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// maxURL is the maximum length of a URL in bytes (docs/spec/storage.md 1.5).
const maxURL = 4096

var (
	errLongURL   = errors.New("is longer than 4096 bytes")
	errDuplicate = errors.New("duplicate site")
)

// SiteNew stores a site, its lists and its root URLs (docs/spec/storage.md 4.1). An
// existing id is answered with CodeDuplicateSite and changes nothing
// (docs/spec/DECISIONS.md 5.8). An invalid expression is answered with CodeSQLError and a
// message with the field. Statuses has the id or null.
func (s *Store) SiteNew(ctx context.Context, r wire.SiteNewRequest) (wire.GeneralResponse, error) {
	err := s.runUpdateTx(ctx, "SiteNew", func(t *tx) error { return t.newSite(r) })
	if err != nil && !errors.Is(err, errDuplicate) {
		s.dropUnmade(ctx, r.ID)
	}
	switch {
	case errors.Is(err, errDuplicate):
		return wire.GeneralResponse{ErrorCode: wire.CodeDuplicateSite, ErrorMessage: "Duplicate site", Statuses: []any{nil}}, nil
	case isRefusal(err):
		return wire.GeneralResponse{ErrorCode: wire.CodeSQLError, ErrorMessage: clientMessage(err), Statuses: []any{nil}}, nil
	case err != nil:
		return wire.GeneralResponse{}, err
	}
	return wire.GeneralResponse{Statuses: []any{r.ID}}, nil
}

// dropUnmade drops the tables of a site that SiteNew could not make. It keeps tables that
// a delayed deletion of an older site still needs. If it fails, the next site of that id
// uses the empty tables.
func (s *Store) dropUnmade(ctx context.Context, id string) {
	err := s.runUpdateTx(ctx, "SiteNew", func(t *tx) error {
		free, err := t.reserveID(id)
		if err != nil || !free {
			return err
		}
		waits, err := t.HasSite(sqldb.Deleted, id)
		if err == nil && waits {
			waits, err = t.awaitsPurge(id)
		}
		if err != nil {
			return err
		}
		databases := liveDatabases
		if !waits {
			databases = append(slices.Clone(databases), sqldb.Deleted, sqldb.Contents)
		}
		return t.DropSite(id, databases...)
	})
	if err != nil {
		s.db.options.Log.Warn("cannot drop the tables of a site that was not made", "site", id, "error", err)
	}
}

// clientMessage returns the part of an error that helps the client.
func clientMessage(err error) string {
	var field *wire.FieldError
	switch {
	case errors.As(err, &field):
		return field.Error()
	case sqldb.BadValue(err):
		return "an expression gives a value that does not fit its column"
	}
	return err.Error()
}

func (t *tx) sitesTarget(object string) target {
	return target{object: object, key: []string{"Id"}, table: t.sitesTable(), columns: wire.SiteColumns, scope: t.siteScope()}
}

func (t *tx) urlsTarget(object, site string) target {
	return target{object: object, key: []string{"Site_Id", "URLMd5"}, table: t.siteTable(sqldb.URLs, site), as: aliasURLs(site), site: site, columns: wire.URLColumns, scope: t.urlScope(site)}
}

func (t *tx) listTarget(object string, list tableInfo) target {
	g := target{object: object, table: t.plainTable(list), columns: list.columns, scope: t.exprScope(list.exprTable(""), sitesInfo.exprTable(""))}
	if list.name == rootsInfo.name {
		g.key = []string{"Site_Id", "URLMd5"}
	}
	return g
}

// makeSite makes the tables and the row of a site.
func (t *tx) makeSite(id string, row wire.Patch) error {
	if err := t.MakeSite(id); err != nil {
		return err
	}
	switch inserted, err := t.insertRow(t.sitesTarget("Site"), row); {
	case err != nil:
		return err
	case !inserted:
		return errDuplicate
	}
	if err := t.newEpoch(id); err != nil {
		return err
	}
	if err := t.wantLease(id); err != nil {
		return err
	}
	return t.SiteMade(id)
}

// newEpoch must follow a deletion of rows of a site, and of the keys of sent links; see linkMemory.
func (t *tx) newEpoch(site string) error {
	_, err := t.Do("site_epoch", rand.Int64(), site)
	return err
}

func (t *tx) newSite(r wire.SiteNewRequest) error {
	switch stored, err := t.storedID(r.ID); {
	case err != nil:
		return err
	case stored != "":
		return errDuplicate
	}
	row := withoutCounted(r.Site)
	row["Id"] = r.ID
	fromPage := r.Site.Int("MaxURLsFromPage", 0) // the table's default would limit a site that sets none
	if row["MaxURLsFromPage"] == nil {
		row["MaxURLsFromPage"] = fromPage
	}
	if err := t.makeSite(r.ID, row); err != nil {
		return err
	}
	if _, err := t.Of(r.ID).Do("site_deleted_count", r.ID, r.ID); err != nil {
		return err
	}
	if err := t.putList("Site.filters", filtersInfo, r.ID, r.Filters); err != nil {
		return err
	}
	if err := t.putList("Site.properties", propertiesInfo, r.ID, r.Properties); err != nil {
		return err
	}
	defaults := rootDefaults(fromPage)
	if err := t.putRoots("Site.urls", r.ID, r.URLs, defaults); err != nil {
		return err
	}
	if !r.MoveURLs {
		return nil
	}
	return t.moveRoots(r.ID, r.Site)
}

// putList inserts rows of a site's list. Their Site_Id is replaced.
func (t *tx) putList(object string, list tableInfo, id string, rows []wire.Patch) error {
	for i, p := range rows {
		p = clonePatch(p)
		p["Site_Id"] = id
		if _, err := t.insertRow(t.listTarget(elementName(object, i), list), p); err != nil {
			return err
		}
	}
	return nil
}

// readProperty returns the value of the first property of a site with a name
// (docs/spec/objects.md 2.4). The comparison of MySQL ignores case, so name is compared
// again.
func (t *tx) readProperty(site, name string) (value string, found bool, err error) {
	err = t.All("site_property", []any{site, name}, scanPair(func(n, v string) {
		if n == name && !found {
			value, found = v, true
		}
	}))
	return value, found, err
}

// Site reads a site with all its lists; nil for an unknown site.
func (s *Store) Site(ctx context.Context, id string) (*wire.Site, error) {
	return s.readSite(ctx, "Site", id, nil)
}

// SiteStatus reads a site (docs/spec/storage.md 4.3). An unknown site has State
// SiteNotFound and the defaults of a new site (docs/spec/objects.md 2.1, 3.4). Excluded
// lists are nil.
func (s *Store) SiteStatus(ctx context.Context, r wire.SiteStatusRequest) (wire.Site, error) {
	if err := s.refreshCounters(ctx, r.ID); err != nil {
		return wire.Site{}, err
	}
	site, err := runForResult(ctx, s.runReadTx, "SiteStatus", func(t *tx) (*wire.Site, error) { return t.siteStatus(r) })
	if err != nil {
		return wire.Site{}, err
	}
	if site != nil {
		return *site, nil
	}
	unknown := wire.Site{ID: r.ID, State: wire.SiteNotFound, MoveURLs: true, Priority: 100, RequestDelay: 500, ProcessingDelay: 500, HTTPTimeout: 30000, FetchType: 1}
	err = s.runReadTx(ctx, "SiteStatus", func(t *tx) error { return t.readLists(&unknown, r.Exclude) })
	return unknown, err
}

// siteStatus reads a site and whether it is finished, unless the request excludes that; nil for an unknown site.
func (t *tx) siteStatus(r wire.SiteStatusRequest) (*wire.Site, error) {
	site, err := t.readSite(r.ID, r.Exclude)
	if err != nil || site == nil || slices.Contains(r.Exclude, finished) {
		return site, err
	}
	work, err := t.hasWork(site)
	if err != nil {
		return nil, err
	}
	done := !work
	site.Finished = &done
	return site, nil
}

// hasWork reports whether a batch holds URLs of the site and, if it is active, whether URLs wait for their
// request, links for another node, or pages to be processed. The rows of pages are read last, and only if all else
// has ended: a site may have many that are never processed.
func (t *tx) hasWork(site *wire.Site) (bool, error) {
	if site.CrawlingURLs+site.ProcessingURLs > 0 || site.State != wire.SiteActive {
		return site.CrawlingURLs+site.ProcessingURLs > 0, nil
	}
	for _, statement := range []string{"links_held_any", "links_waiting_any"} {
		if found, err := t.Get(statement, []any{site.ID}, new(int)); err != nil || found {
			return found, err
		}
	}
	for _, where := range []string{wire.DueCrawl, wire.DueProcess} {
		rows, err := t.selectURLs("SiteStatus", site.ID, wire.Criterion{Where: where, Limit: "1"}, "")
		if err != nil || len(rows) > 0 {
			return len(rows) > 0, err
		}
	}
	return false, nil
}

func (s *Store) readSite(ctx context.Context, op, id string, exclude []string) (*wire.Site, error) {
	if err := s.refreshCounters(ctx, id); err != nil {
		return nil, err
	}
	return runForResult(ctx, s.runReadTx, op, func(t *tx) (*wire.Site, error) { return t.readSite(id, exclude) })
}

// Names of the lists in an excludeList.
const (
	listURLs       = "urls"
	listProperties = "properties"
	listFilters    = "filters"
	finished       = "finished" // a member that is costly on large sites
)

// readSite reads a site with the lists that are not excluded; nil for an unknown site.
func (t *tx) readSite(id string, exclude []string) (*wire.Site, error) {
	site := wire.Site{MoveURLs: true}
	targets := append(wire.Targets(&site, wire.SiteColumns), &site.RecrawlLock, &site.CrawlingURLs, &site.ProcessingURLs)
	found, err := t.Row("SELECT "+columnList(wire.SiteColumns)+", RecrawlLock, InFlight, InProcess FROM "+t.sitesTable()+" WHERE Id = ?", []any{id}, targets...)
	if err != nil || !found {
		return nil, err
	}
	return &site, t.readLists(&site, exclude)
}

// readLists reads the lists of a site that are not excluded.
func (t *tx) readLists(site *wire.Site, exclude []string) (err error) {
	if !slices.Contains(exclude, listURLs) {
		if site.URLs, err = t.readRootURLs(site.ID); err != nil {
			return err
		}
	}
	if !slices.Contains(exclude, listProperties) {
		if site.Properties, err = rowsOf[wire.SiteProperty](t, propertiesInfo, site.ID); err != nil {
			return err
		}
	}
	if !slices.Contains(exclude, listFilters) {
		site.Filters, err = rowsOf[wire.SiteFilter](t, filtersInfo, site.ID)
	}
	return err
}

// rowsOf reads a list of a site in the order of its insertion. It is not nil.
func rowsOf[Row any](t *tx, list tableInfo, site string) ([]Row, error) {
	rows := []Row{}
	text := "SELECT " + columnList(list.columns) + " FROM " + t.plainTable(list) + " WHERE Site_Id = ? ORDER BY " + t.DB.RowID()
	err := t.Each(text, []any{site}, appendTo(&rows, fieldsOf[Row](list.columns)))
	return rows, err
}

// Suspend stops a site that is above a limit (docs/spec/DECISIONS.md 3.2): State 3, bits
// added to ErrorMask, items added to Errors. It ignores an unknown site.
func (s *Store) Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error {
	return s.runUpdateTx(ctx, "Suspend", func(t *tx) error {
		_, err := t.Do("site_suspend", t.now, int64(bits), int64(bits), items, id)
		return err
	})
}

// SiteFind reads the sites that a criterion selects, each once, with the lists that are
// not excluded (docs/spec/storage.md 4.4). A URL limits the result to sites with a root
// URL that begins with it; ASCII case is ignored, % and _ are wildcards. The criterion may
// name columns of sites, and of sites_urls, sites_properties and sites_filters if TABLES
// or the WHERE names the table. The result is not nil. An invalid criterion is an error
// with its clause.
func (s *Store) SiteFind(ctx context.Context, r wire.SiteFindRequest) ([]wire.Site, error) {
	return runForResult(ctx, s.runReadTx, "SiteFind", func(t *tx) ([]wire.Site, error) {
		var prefix expr.SQL
		if r.URL != nil && *r.URL != "" {
			prefix = expr.SQL{
				Text: "(" + t.sitesTable() + ".Id IN (SELECT Site_Id FROM " + t.plainTable(rootsInfo) + ` WHERE LOWER(URL) LIKE LOWER(?) ESCAPE '|'))`,
				Args: []any{prefixPattern(*r.URL)},
			}
		}
		ids, err := t.selectSites("SiteFind.criterions", r.Criterion, prefix)
		if err != nil {
			return nil, err
		}
		sites := []wire.Site{}
		for _, id := range ids {
			site, err := t.readSite(id, r.Exclude)
			if err != nil {
				return nil, err
			}
			if site != nil {
				sites = append(sites, *site)
			}
		}
		return sites, nil
	})
}

// prefixPattern is the LIKE pattern of texts that begin with text. In text % and _ are
// wildcards unless a backslash precedes them. The escape character is |, because SQLite
// and MySQL read a backslash in an SQL text differently.
func prefixPattern(text string) string {
	var b strings.Builder
	escaped := false
	for _, r := range text {
		switch {
		case r == '\\' && !escaped:
			escaped = true
			continue
		case r == '|', escaped && (r == '%' || r == '_'):
			b.WriteByte('|')
		}
		escaped = false
		b.WriteRune(r)
	}
	return b.String() + "%"
}

// selectSites returns the ids of the sites that match a criterion and a condition, each
// once.
func (t *tx) selectSites(object string, c wire.Criterion, condition expr.SQL) ([]string, error) {
	joined, err := t.joinedLists(object, c)
	if err != nil {
		return nil, err
	}
	scope := t.siteScope()
	scope.Joined = joined
	p, err := t.buildClauses(object, scope, c)
	if err != nil {
		return nil, err
	}
	id := t.sitesTable() + ".Id"
	p.tieBreak(id)
	head := "SELECT " + id + " FROM " + t.sitesTable()
	for _, l := range joined {
		name := t.DB.Table(l.Database, l.Name)
		head += " JOIN " + name + " ON " + name + ".Site_Id = " + id
	}
	if len(joined) > 0 {
		p.group = " GROUP BY " + id
	}
	text, args := p.buildQuery(head, condition)
	return readColumn[string](t, text, args...)
}

// joinedLists returns the lists that TABLES names, or that the WHERE or ORDER BY names as a
// qualifier, as in sites_urls.URL.
func (t *tx) joinedLists(object string, c wire.Criterion) ([]expr.Table, error) {
	wanted := map[string]bool{}
	for _, given := range strings.Split(c.Tables, ",") {
		name := strings.NewReplacer("`", "", `"`, "").Replace(strings.TrimSpace(given))
		if name == "" && strings.TrimSpace(given) != "" {
			name = given // only quotes
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, sqldb.Sites+"."), t.DB.Name(sqldb.Sites)+".")
		if name != "" && name != "sites" {
			wanted[name] = true
		}
	}
	var tables []expr.Table
	for _, l := range listTables() {
		plain := strings.ReplaceAll(c.Where+" "+c.OrderBy, "`", "")
		if wanted[l.Name] || strings.Contains(plain, l.Name+".") {
			tables = append(tables, l)
		}
		delete(wanted, l.Name)
	}
	for name := range wanted {
		return nil, &wire.FieldError{Object: object, Field: "TABLES", Value: clipText(name), Reason: "is not sites, sites_urls, sites_properties or sites_filters"}
	}
	return tables, nil
}
