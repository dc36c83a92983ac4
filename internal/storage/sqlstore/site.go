package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// maxURL bounds a URL's text in bytes (docs/spec/storage.md 1.5).
const maxURL = 4096

var errLongURL = errors.New("is longer than 4096 bytes")

// SiteNew stores a site, its lists and its root URLs (docs/spec/storage.md 4.1). An id that is
// there already is answered with CodeDuplicateSite and nothing is touched
// (docs/spec/DECISIONS.md 5.8); an expression that is refused with CodeSQLError and a message
// that names field and part. Statuses hold the id, or null.
func (s *Store) SiteNew(ctx context.Context, r wire.SiteNewRequest) (wire.GeneralResponse, error) {
	err := s.update(ctx, "SiteNew", func(t *tx) error { return t.newSite(r) })
	if err != nil && !errors.Is(err, errDuplicate) {
		s.unmake(ctx, r.ID)
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

// unmake drops the tables of a site that could not be made. What rows of a site
// that was deleted with delay still need stays. Should it fail, empty tables are
// left, which the next site of that name takes.
func (s *Store) unmake(ctx context.Context, id string) {
	err := s.update(ctx, "SiteNew", func(t *tx) error {
		free, err := t.claim(id)
		if err != nil || !free {
			return err
		}
		gone := []string{sqldb.URLs, sqldb.Attributes, sqldb.Freqs, sqldb.Logs}
		waits, err := t.HasSite(sqldb.Deleted, id)
		if err == nil && waits {
			var one int
			waits, err = t.Of(id).Get("deleted_any", []any{id}, &one)
		}
		if err != nil {
			return err
		}
		if !waits {
			gone = append(gone, sqldb.Deleted, sqldb.Contents)
		}
		return t.DropSite(id, gone...)
	})
	if err != nil {
		s.o.Log.Warn("tables of a site that was not made are left", "site", id, "error", err)
	}
}

var errDuplicate = errors.New("duplicate site")

// message is the part of an error that its asker can act on.
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
	return target{object: object, key: []string{"Id"}, table: t.DB.Table(sqldb.Sites, "sites"), columns: wire.SiteColumns, scope: t.siteScope()}
}

func (t *tx) urlsTarget(object, site string) target {
	return target{object: object, key: []string{"Site_Id", "URLMd5"}, table: t.table(sqldb.URLs, site), as: as(site), site: site, columns: wire.URLColumns, scope: t.urlScope(site)}
}

func (t *tx) listTarget(object, table string, columns []wire.Column) target {
	g := target{object: object, table: t.DB.Table(sqldb.Sites, table), columns: columns, scope: t.rowScope(table)}
	if table == "sites_urls" {
		g.key = []string{"Site_Id", "URLMd5"}
	}
	return g
}

func (t *tx) newSite(r wire.SiteNewRequest) error {
	switch stored, err := t.known(r.ID); {
	case err != nil:
		return err
	case stored != "":
		return errDuplicate
	}
	if err := t.MakeSite(r.ID); err != nil {
		return err
	}
	row := uncounted(r.Site)
	row["Id"] = r.ID
	switch inserted, err := t.insert(t.sitesTarget("Site"), row); {
	case err != nil:
		return err
	case !inserted:
		return errDuplicate
	}
	if err := t.SiteMade(r.ID); err != nil {
		return err
	}
	if _, err := t.Of(r.ID).Do("site_deleted_count", r.ID, r.ID); err != nil {
		return err
	}
	if err := t.putList("Site.filters", "sites_filters", wire.FilterColumns, r.ID, r.Filters); err != nil {
		return err
	}
	if err := t.putList("Site.properties", "sites_properties", wire.PropertyColumns, r.ID, r.Properties); err != nil {
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

// putList inserts rows of a site's list. They are the site's own, whatever site
// they name.
func (t *tx) putList(object, table string, columns []wire.Column, id string, rows []wire.Patch) error {
	for i, p := range rows {
		p = clone(p)
		p["Site_Id"] = id
		if _, err := t.insert(t.listTarget(fmt.Sprintf("%s[%d]", object, i), table, columns), p); err != nil {
			return err
		}
	}
	return nil
}

// rootDefaults are the values of a new root URL that gives none (docs/spec/objects.md 2.2).
func rootDefaults(fromPage int64) wire.Patch {
	return wire.Patch{"HTTPMethod": "get", "ProcessingDelay": int64(500), "MaxURLsFromPage": fromPage}
}

// putRoots puts root URLs into sites_urls; one that is there, or is given twice,
// stays as it is.
func (t *tx) putRoots(object, id string, rows []wire.Patch, defaults wire.Patch) error {
	for i, p := range rows {
		g := t.listTarget(fmt.Sprintf("%s[%d]", object, i), "sites_urls", wire.RootURLColumns)
		if len(p.Text("URL")) > maxURL {
			return g.fail("URL", p.Text("URL"), errLongURL)
		}
		p = clone(p)
		p["Site_Id"] = id
		for column, value := range defaults {
			if _, given := p[column]; !given {
				p[column] = value
			}
		}
		if _, err := t.insert(g, p); err != nil {
			return err
		}
	}
	return nil
}

// moveRoots copies the site's root URLs to its URLs; rows that are there stay as
// they are. What given sets of the site goes before the root URL's own values
// (docs/spec/storage.md 4.1 step 8).
func (t *tx) moveRoots(id string, given wire.Patch) error {
	roots, err := t.roots(id)
	if err != nil {
		return err
	}
	urls := make([]*wire.URL, 0, len(roots))
	for _, root := range roots {
		u := root.URL
		u.URLMd5 = wire.Md5(u.URL)
		if n, ok := given["URLType"].(int64); ok {
			u.Type = n
		}
		if n, ok := given["RequestDelay"].(int64); ok {
			u.RequestDelay = n
		}
		if f, ok := given["HTTPTimeout"].(float64); ok {
			u.HTTPTimeout = f
		}
		urls = append(urls, &u)
	}
	return t.addMissing(id, urls)
}

// Site reads a site with all its lists; nil when it is unknown.
func (s *Store) Site(ctx context.Context, id string) (*wire.Site, error) {
	return s.site(ctx, "Site", id, nil)
}

// SiteStatus answers a site, in State SiteNotFound when it is unknown (docs/spec/storage.md
// 4.3). Excluded lists are nil.
func (s *Store) SiteStatus(ctx context.Context, r wire.SiteStatusRequest) (wire.Site, error) {
	site, err := s.site(ctx, "SiteStatus", r.ID, r.Exclude)
	if err != nil {
		return wire.Site{}, err
	}
	if site == nil {
		// The fields of a new site (docs/spec/objects.md 2.1, 3.4).
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

func (s *Store) site(ctx context.Context, op, id string, exclude []string) (site *wire.Site, err error) {
	if err := s.refresh(ctx, id); err != nil {
		return nil, err
	}
	err = s.view(ctx, op, func(t *tx) error {
		site, err = t.site(id, exclude)
		return err
	})
	return site, err
}

// Names of the lists in an excludeList.
const (
	listURLs       = "urls"
	listProperties = "properties"
	listFilters    = "filters"
)

// site reads a site and those of its lists that are not excluded.
func (t *tx) site(id string, exclude []string) (*wire.Site, error) {
	site := wire.Site{MoveURLs: true}
	targets := append(wire.Targets(&site, wire.SiteColumns), &site.RecrawlLock)
	found, err := t.Row("SELECT "+siteColumns+", RecrawlLock FROM "+t.DB.Table(sqldb.Sites, "sites")+" WHERE Id = ?", []any{id}, targets...)
	if err != nil || !found {
		return nil, err
	}
	if !slices.Contains(exclude, listURLs) {
		if site.URLs, err = t.roots(site.ID); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listProperties) {
		site.Properties, err = rowsOf[wire.SiteProperty](t, "sites_properties", propertyColumns, wire.PropertyColumns, site.ID)
		if err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listFilters) {
		site.Filters, err = rowsOf[wire.SiteFilter](t, "sites_filters", filterColumns, wire.FilterColumns, site.ID)
	}
	return &site, err
}

func rowsOf[Row any](t *tx, table, list string, columns []wire.Column, site string) ([]Row, error) {
	rows := []Row{}
	err := t.Each("SELECT "+list+" FROM "+t.DB.Table(sqldb.Sites, table)+" WHERE Site_Id = ? ORDER BY "+t.DB.RowID(), []any{site},
		func(scan func(...any) error) error {
			var row Row
			err := scan(wire.Targets(&row, columns)...)
			rows = append(rows, row)
			return err
		})
	return rows, err
}

// roots reads the root URLs of a site in the order they came.
func (t *tx) roots(site string) ([]wire.SiteURL, error) {
	roots := []wire.SiteURL{}
	err := t.Each("SELECT "+urlColumns+", User_Id FROM "+t.DB.Table(sqldb.Sites, "sites_urls")+" WHERE Site_Id = ? ORDER BY "+t.DB.RowID(), []any{site},
		func(scan func(...any) error) error {
			var u wire.SiteURL
			u.SiteSelect = wire.SelectNone
			err := scan(append(wire.Targets(&u.URL, wire.URLColumns), &u.UserID)...)
			roots = append(roots, u)
			return err
		})
	return roots, err
}

// Suspend is step 5 of a task for a site over a limit (docs/spec/DECISIONS.md 3.2): State 3,
// the bits are added, Errors grows by the number of items. An unknown site is
// left alone.
func (s *Store) Suspend(ctx context.Context, id string, bits wire.ErrorMask, items int) error {
	return s.update(ctx, "Suspend", func(t *tx) error {
		_, err := t.Do("site_suspend", t.now, int64(bits), int64(bits), items, id)
		return err
	})
}
