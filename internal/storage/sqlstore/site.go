package sqlstore

import (
	"context"
	"errors"
	"slices"

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
	err := s.update(ctx, "SiteNew", func(t *tx) error { return t.newSite(r) })
	if err != nil && !errors.Is(err, errDuplicate) {
		s.dropUnmade(ctx, r.ID)
	}
	switch {
	case errors.Is(err, errDuplicate):
		return wire.GeneralResponse{ErrorCode: wire.CodeDuplicateSite, ErrorMessage: "Duplicate site", Statuses: []any{nil}}, nil
	case refused(err):
		return wire.GeneralResponse{ErrorCode: wire.CodeSQLError, ErrorMessage: message(err), Statuses: []any{nil}}, nil
	case err != nil:
		return wire.GeneralResponse{}, err
	}
	return wire.GeneralResponse{Statuses: []any{r.ID}}, nil
}

// dropUnmade drops the tables of a site that SiteNew could not make. It keeps tables that
// a delayed deletion of an older site still needs. If it fails, the next site of that id
// uses the empty tables.
func (s *Store) dropUnmade(ctx context.Context, id string) {
	err := s.update(ctx, "SiteNew", func(t *tx) error {
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
		s.o.Log.Warn("cannot drop the tables of a site that was not made", "site", id, "error", err)
	}
}

// message returns the part of an error that helps the client.
func message(err error) string {
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
	return target{object: object, key: []string{"Id"}, table: t.sites(), columns: wire.SiteColumns, scope: t.siteScope()}
}

func (t *tx) urlsTarget(object, site string) target {
	return target{object: object, key: []string{"Site_Id", "URLMd5"}, table: t.table(sqldb.URLs, site), as: aliasURLs(site), site: site, columns: wire.URLColumns, scope: t.urlScope(site)}
}

func (t *tx) listTarget(object string, list tableInfo) target {
	g := target{object: object, table: t.plainTable(list), columns: list.columns, scope: t.scope(list.expr(""), sitesInfo.expr(""))}
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
	switch inserted, err := t.insert(t.sitesTarget("Site"), row); {
	case err != nil:
		return err
	case !inserted:
		return errDuplicate
	}
	return t.SiteMade(id)
}

func (t *tx) newSite(r wire.SiteNewRequest) error {
	switch stored, err := t.storedID(r.ID); {
	case err != nil:
		return err
	case stored != "":
		return errDuplicate
	}
	row := uncounted(r.Site)
	row["Id"] = r.ID
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
	defaults := rootDefaults(r.Site.Int("MaxURLsFromPage", 200))
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
		p = clone(p)
		p["Site_Id"] = id
		if _, err := t.insert(t.listTarget(elementName(object, i), list), p); err != nil {
			return err
		}
	}
	return nil
}

// property returns the value of the first property of a site with a name
// (docs/spec/objects.md 2.4). The comparison of MySQL ignores case, so name is compared
// again.
func (t *tx) property(site, name string) (value string, found bool, err error) {
	err = t.All("site_property", []any{site, name}, func(scan func(...any) error) error {
		var n, v string
		err := scan(&n, &v)
		if n == name && !found {
			value, found = v, true
		}
		return err
	})
	return value, found, err
}

// Site reads a site with all its lists; nil for an unknown site.
func (s *Store) Site(ctx context.Context, id string) (*wire.Site, error) {
	return s.site(ctx, "Site", id, nil)
}

// SiteStatus reads a site (docs/spec/storage.md 4.3). An unknown site has State
// SiteNotFound and the defaults of a new site (docs/spec/objects.md 2.1, 3.4). Excluded
// lists are nil.
func (s *Store) SiteStatus(ctx context.Context, r wire.SiteStatusRequest) (wire.Site, error) {
	site, err := s.site(ctx, "SiteStatus", r.ID, r.Exclude)
	if err != nil {
		return wire.Site{}, err
	}
	if site == nil {
		site = &wire.Site{ID: r.ID, State: wire.SiteNotFound, MoveURLs: true, Priority: 100, RequestDelay: 500, ProcessingDelay: 500, HTTPTimeout: 30000, FetchType: 1}
		if !slices.Contains(r.Exclude, listURLs) {
			site.URLs = []wire.SiteURL{}
		}
		if !slices.Contains(r.Exclude, listProperties) {
			site.Properties = []wire.SiteProperty{}
		}
		if !slices.Contains(r.Exclude, listFilters) {
			site.Filters = []wire.SiteFilter{}
		}
	}
	return *site, nil
}

func (s *Store) site(ctx context.Context, op, id string, exclude []string) (*wire.Site, error) {
	if err := s.refresh(ctx, id); err != nil {
		return nil, err
	}
	return result(ctx, s.view, op, func(t *tx) (*wire.Site, error) { return t.site(id, exclude) })
}

// Names of the lists in an excludeList.
const (
	listURLs       = "urls"
	listProperties = "properties"
	listFilters    = "filters"
)

// site reads a site with the lists that are not excluded; nil for an unknown site.
func (t *tx) site(id string, exclude []string) (*wire.Site, error) {
	site := wire.Site{MoveURLs: true}
	targets := append(wire.Targets(&site, wire.SiteColumns), &site.RecrawlLock)
	found, err := t.Row("SELECT "+columnList(wire.SiteColumns)+", RecrawlLock FROM "+t.sites()+" WHERE Id = ?", []any{id}, targets...)
	if err != nil || !found {
		return nil, err
	}
	if !slices.Contains(exclude, listURLs) {
		if site.URLs, err = t.roots(site.ID); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listProperties) {
		if site.Properties, err = rowsOf[wire.SiteProperty](t, propertiesInfo, site.ID); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listFilters) {
		site.Filters, err = rowsOf[wire.SiteFilter](t, filtersInfo, site.ID)
	}
	return &site, err
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
	return s.update(ctx, "Suspend", func(t *tx) error {
		_, err := t.Do("site_suspend", t.now, int64(bits), int64(bits), items, id)
		return err
	})
}
