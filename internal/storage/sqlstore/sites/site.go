package sites

import (
	"context"
	"errors"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// SiteNew stores a site, its lists and its root URLs (docs/spec/storage.md 4.1). An
// existing id is answered with CodeDuplicateSite and changes nothing
// (docs/spec/DECISIONS.md 5.8). An invalid expression is answered with CodeSQLError and a
// message with the field. Statuses has the id or null.
func (s *Store) SiteNew(ctx context.Context, r wire.SiteNewRequest) (wire.GeneralResponse, error) {
	err := s.run.Update(ctx, "SiteNew", func(t *Tx) error { return t.newSite(r) })
	if err != nil && !errors.Is(err, tables.ErrDuplicate) {
		s.dropUnmade(ctx, r.ID)
	}
	switch {
	case errors.Is(err, tables.ErrDuplicate):
		return wire.GeneralResponse{ErrorCode: wire.CodeDuplicateSite, ErrorMessage: "Duplicate site", Statuses: []any{nil}}, nil
	case tables.IsRefusal(err):
		return wire.GeneralResponse{ErrorCode: wire.CodeSQLError, ErrorMessage: tables.ClientMessage(err), Statuses: []any{nil}}, nil
	case err != nil:
		return wire.GeneralResponse{}, err
	}
	return wire.GeneralResponse{Statuses: []any{r.ID}}, nil
}

// dropUnmade drops the tables of a site that SiteNew could not make. It keeps tables that
// a delayed deletion of an older site still needs. If it fails, the next site of that id
// uses the empty tables.
func (s *Store) dropUnmade(ctx context.Context, id string) {
	err := s.run.Update(ctx, "SiteNew", func(t *Tx) error {
		free, err := t.ReserveID(id)
		if err != nil || !free {
			return err
		}
		waits, err := t.HasSite(sqldb.Deleted, id)
		if err == nil && waits {
			waits, err = t.AwaitsPurge(id)
		}
		if err != nil {
			return err
		}
		databases := tables.LiveDatabases
		if !waits {
			databases = append(slices.Clone(databases), sqldb.Deleted, sqldb.Contents)
		}
		return t.DropSite(id, databases...)
	})
	if err != nil {
		s.db.Options.Log.Warn("cannot drop the tables of a site that was not made", "site", id, "error", err)
	}
}

// CreateSite makes the tables and the row of a site.
func (t *Tx) CreateSite(id string, row schema.Patch) error {
	if err := t.MakeSite(id); err != nil {
		return err
	}
	switch inserted, err := t.InsertRow(t.SitesTarget("Site"), row); {
	case err != nil:
		return err
	case !inserted:
		return tables.ErrDuplicate
	}
	if err := t.NewEpoch(id); err != nil {
		return err
	}
	if err := t.WantLease(id); err != nil {
		return err
	}
	return t.SiteMade(id)
}

func (t *Tx) newSite(r wire.SiteNewRequest) error {
	switch stored, err := t.StoredID(r.ID); {
	case err != nil:
		return err
	case stored != "":
		return tables.ErrDuplicate
	}
	row := counters.WithoutCounted(r.Site)
	row["Id"] = r.ID
	fromPage := r.Site.Int("MaxURLsFromPage", 0) // the table's default would limit a site that sets none
	if row["MaxURLsFromPage"] == nil {
		row["MaxURLsFromPage"] = fromPage
	}
	if err := t.CreateSite(r.ID, row); err != nil {
		return err
	}
	if _, err := t.Of(r.ID).Do("site_deleted_count", r.ID, r.ID); err != nil {
		return err
	}
	if err := t.PutList("Site.filters", tables.FiltersInfo, r.ID, r.Filters); err != nil {
		return err
	}
	if err := t.PutList("Site.properties", tables.PropertiesInfo, r.ID, r.Properties); err != nil {
		return err
	}
	defaults := rootDefaults(fromPage)
	if err := t.PutRoots("Site.urls", r.ID, r.URLs, defaults); err != nil {
		return err
	}
	if !r.MoveURLs {
		return nil
	}
	return t.moveRoots(r.ID, r.Site)
}

// PutList inserts rows of a site's list. Their Site_Id is replaced.
func (t *Tx) PutList(object string, list tables.TableInfo, id string, rows []schema.Patch) error {
	for i, p := range rows {
		p = tables.ClonePatch(p)
		p["Site_Id"] = id
		if _, err := t.InsertRow(t.ListTarget(tables.ElementName(object, i), list), p); err != nil {
			return err
		}
	}
	return nil
}

// Site reads a site with all its lists; nil for an unknown site.
func (s *Store) Site(ctx context.Context, id string) (*wire.Site, error) {
	return s.readSite(ctx, "Site", id, nil)
}

// SiteStatus reads a site (docs/spec/storage.md 4.3). An unknown site has State
// SiteNotFound and the defaults of a new site (docs/spec/objects.md 2.1, 3.4). Excluded
// lists are nil.
func (s *Store) SiteStatus(ctx context.Context, r wire.SiteStatusRequest) (wire.Site, error) {
	if err := s.counters.RefreshCounters(ctx, r.ID); err != nil {
		return wire.Site{}, err
	}
	site, err := tables.RunForResult(ctx, s.run.Read, "SiteStatus", func(t *Tx) (*wire.Site, error) { return t.siteStatus(r) })
	if err != nil {
		return wire.Site{}, err
	}
	if site != nil {
		return *site, nil
	}
	unknown := wire.Site{ID: r.ID, State: wire.SiteNotFound, MoveURLs: true, Priority: 100, RequestDelay: 500, ProcessingDelay: 500, HTTPTimeout: 30000, FetchType: 1}
	err = s.run.Read(ctx, "SiteStatus", func(t *Tx) error { return t.readLists(&unknown, r.Exclude) })
	return unknown, err
}

// siteStatus reads a site and whether it is finished, unless the request excludes that; nil for an unknown site.
func (t *Tx) siteStatus(r wire.SiteStatusRequest) (*wire.Site, error) {
	site, err := t.ReadSite(r.ID, r.Exclude)
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
func (t *Tx) hasWork(site *wire.Site) (bool, error) {
	if site.CrawlingURLs+site.ProcessingURLs > 0 || site.State != wire.SiteActive {
		return site.CrawlingURLs+site.ProcessingURLs > 0, nil
	}
	for _, statement := range []string{"links_held_any", "links_waiting_any"} {
		if found, err := t.Get(statement, []any{site.ID}, new(int)); err != nil || found {
			return found, err
		}
	}
	for _, where := range []string{wire.DueCrawl, wire.DueProcess} {
		rows, err := t.SelectURLs("SiteStatus", site.ID, wire.Criterion{Where: where, Limit: "1"}, "")
		if err != nil || len(rows) > 0 {
			return len(rows) > 0, err
		}
	}
	return false, nil
}

func (s *Store) readSite(ctx context.Context, op, id string, exclude []string) (*wire.Site, error) {
	if err := s.counters.RefreshCounters(ctx, id); err != nil {
		return nil, err
	}
	return tables.RunForResult(ctx, s.run.Read, op, func(t *Tx) (*wire.Site, error) { return t.ReadSite(id, exclude) })
}

// Names of the lists in an excludeList.
const (
	ListURLs       = "urls"
	ListProperties = "properties"
	ListFilters    = "filters"
	finished       = "finished" // a member that is costly on large sites
)

// ReadSite reads a site with the lists that are not excluded; nil for an unknown site.
func (t *Tx) ReadSite(id string, exclude []string) (*wire.Site, error) {
	site := wire.Site{MoveURLs: true}
	targets := append(schema.Targets(&site, wire.SiteColumns), &site.RecrawlLock, &site.CrawlingURLs, &site.ProcessingURLs)
	found, err := t.Row("SELECT "+tables.ColumnList(wire.SiteColumns)+", RecrawlLock, InFlight, InProcess FROM "+t.SitesTable()+" WHERE Id = ?", []any{id}, targets...)
	if err != nil || !found {
		return nil, err
	}
	return &site, t.readLists(&site, exclude)
}

// readLists reads the lists of a site that are not excluded.
func (t *Tx) readLists(site *wire.Site, exclude []string) (err error) {
	if !slices.Contains(exclude, ListURLs) {
		if site.URLs, err = t.readRootURLs(site.ID); err != nil {
			return err
		}
	}
	if !slices.Contains(exclude, ListProperties) {
		if site.Properties, err = rowsOf[wire.SiteProperty](t, tables.PropertiesInfo, site.ID); err != nil {
			return err
		}
	}
	if !slices.Contains(exclude, ListFilters) {
		site.Filters, err = rowsOf[wire.SiteFilter](t, tables.FiltersInfo, site.ID)
	}
	return err
}

// rowsOf reads a list of a site in the order of its insertion. It is not nil.
func rowsOf[Row any](t *Tx, list tables.TableInfo, site string) ([]Row, error) {
	rows := []Row{}
	text := "SELECT " + tables.ColumnList(list.Columns) + " FROM " + t.PlainTable(list) + " WHERE Site_Id = ? ORDER BY " + t.DB.RowID()
	err := t.Each(text, []any{site}, tables.AppendTo(&rows, tables.FieldsOf[Row](list.Columns)))
	return rows, err
}

// Suspend stops a site that is above a limit (docs/spec/DECISIONS.md 3.2): State 3, bits
// added to ErrorMask, items added to Errors. It ignores an unknown site.
func (s *Store) Suspend(ctx context.Context, id string, bits errormask.Mask, items int) error {
	return s.run.Update(ctx, "Suspend", func(t *Tx) error {
		_, err := t.Do("site_suspend", t.Now, int64(bits), int64(bits), items, id)
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
	return tables.RunForResult(ctx, s.run.Read, "SiteFind", func(t *Tx) ([]wire.Site, error) {
		var prefix expr.SQL
		if r.URL != nil && *r.URL != "" {
			prefix = expr.SQL{
				Text: "(" + t.SitesTable() + ".Id IN (SELECT Site_Id FROM " + t.PlainTable(tables.RootsInfo) + ` WHERE LOWER(URL) LIKE LOWER(?) ESCAPE '|'))`,
				Args: []any{prefixPattern(*r.URL)},
			}
		}
		ids, err := t.SelectSites("SiteFind.criterions", r.Criterion, prefix)
		if err != nil {
			return nil, err
		}
		sites := []wire.Site{}
		for _, id := range ids {
			site, err := t.ReadSite(id, r.Exclude)
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

// StoredID returns the id of a site as stored, or id for an unknown site.
func (s *Store) StoredID(ctx context.Context, id string) (string, error) {
	stored, err := tables.RunForResult(ctx, s.run.Read, "StoredID", func(t *Tx) (string, error) { return t.StoredID(id) })
	if stored == "" {
		stored = id
	}
	return stored, err
}

// ProcessedSites returns the ids of the sites that count processed contents.
func (s *Store) ProcessedSites(ctx context.Context) ([]string, error) {
	return tables.RunForResult(ctx, s.run.Read, "ProcessedSites", func(t *Tx) ([]string, error) { return tables.NamedColumn[string](t.tableTx, "sites_processed") })
}

// SiteIDs returns the ids of all sites.
func (s *Store) SiteIDs(ctx context.Context) ([]string, error) {
	return tables.RunForResult(ctx, s.run.Read, "SiteIDs", func(t *Tx) ([]string, error) { return tables.NamedColumn[string](t.tableTx, "sites_all") })
}
