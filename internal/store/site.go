package store

import (
	"context"
	"errors"
	"slices"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// maxURL bounds a URL's text in bytes (storage 1.5).
const maxURL = 4096

var errLongURL = errors.New("is longer than 4096 bytes")

// SiteNew stores a site, its lists and its root URLs (storage 4.1). An id that is
// there already is answered with CodeDuplicateSite and nothing is touched
// (DECISIONS 5.8); an expression that is refused with CodeSQLError and a message
// that names field and part. Statuses hold the id, or null.
func (s *Store) SiteNew(ctx context.Context, r dc.SiteNewRequest) (dc.GeneralResponse, error) {
	err := s.update(ctx, "SiteNew", func(t *tx) error { return t.newSite(r) })
	switch {
	case errors.Is(err, errDuplicate):
		return dc.GeneralResponse{ErrorCode: dc.CodeDuplicateSite, ErrorMessage: "Duplicate site", Statuses: []any{nil}}, nil
	case refused(err):
		return dc.GeneralResponse{ErrorCode: dc.CodeSQLError, ErrorMessage: message(err), Statuses: []any{nil}}, nil
	case err != nil:
		return dc.GeneralResponse{}, err
	}
	return dc.GeneralResponse{Statuses: []any{r.ID}}, nil
}

var errDuplicate = errors.New("duplicate site")

// message is the part of an error that its asker can act on.
func message(err error) string {
	var field *dc.FieldError
	if errors.As(err, &field) {
		return field.Error()
	}
	return err.Error()
}

func (t *tx) sitesTarget(object string) target {
	return target{object: object, table: t.DB.Table(db.Sites, "sites"), columns: dc.SiteColumns, scope: t.siteScope()}
}

func (t *tx) urlsTarget(object, site string) target {
	return target{object: object, table: t.urlTable(), as: as(site), site: site, columns: dc.URLColumns, scope: t.urlScope(site)}
}

func (t *tx) listTarget(object, table string, columns []dc.Column) target {
	return target{object: object, table: t.DB.Table(db.Sites, table), columns: columns, scope: t.rowScope(table)}
}

func (t *tx) newSite(r dc.SiteNewRequest) error {
	if stored, err := t.known(r.ID); err != nil || stored != "" {
		return errors.Join(err, duplicate(stored))
	}
	row := uncounted(r.Site)
	row["Id"] = r.ID
	_, err := t.insert("INSERT", t.sitesTarget("Site"), row, func(int64) (string, any) { return "Id = ?", r.ID })
	if err != nil {
		return err
	}
	for _, p := range r.Filters {
		if _, err := t.insert("INSERT", t.listTarget("Site.filters", "sites_filters", dc.FilterColumns), p, byRow); err != nil {
			return err
		}
	}
	for _, p := range r.Properties {
		if _, err := t.insert("INSERT", t.listTarget("Site.properties", "sites_properties", dc.PropertyColumns), p, byRow); err != nil {
			return err
		}
	}
	if err := t.newRoots(r); err != nil {
		return err
	}
	if !r.MoveURLs {
		return nil
	}
	return t.moveRoots(r.ID, r.Site)
}

func duplicate(stored string) error {
	if stored == "" {
		return nil
	}
	return errDuplicate
}

// newRoots puts the root URLs into sites_urls; one that is given twice stays
// once.
func (t *tx) newRoots(r dc.SiteNewRequest) error {
	g := t.listTarget("Site.urls", "sites_urls", dc.RootURLColumns)
	for _, p := range r.URLs {
		if len(p.Text("URL")) > maxURL {
			return g.fail("URL", p.Text("URL"), errLongURL)
		}
		p = clone(p)
		p["Site_Id"] = r.ID
		for column, value := range map[string]any{"HTTPMethod": "get", "ProcessingDelay": int64(500)} {
			if _, given := p[column]; !given {
				p[column] = value
			}
		}
		if _, given := p["MaxURLsFromPage"]; !given {
			p["MaxURLsFromPage"] = r.Site.Int("MaxURLsFromPage", 200)
		}
		if _, err := t.insert("INSERT OR IGNORE", g, p, byRow); err != nil {
			return err
		}
	}
	return nil
}

// moveRoots copies the site's root URLs to its URLs; rows that are there stay as
// they are. What given sets of the site goes before the root URL's own values
// (storage 4.1 step 8).
func (t *tx) moveRoots(id string, given dc.Patch) error {
	roots, err := t.roots(id)
	if err != nil {
		return err
	}
	stats, err := t.statistics(id)
	if err != nil {
		return err
	}
	for _, root := range roots {
		u := root.URL
		u.URLMd5 = dc.Md5(u.URL)
		if n, ok := given["URLType"].(int64); ok {
			u.Type = n
		}
		if n, ok := given["RequestDelay"].(int64); ok {
			u.RequestDelay = n
		}
		if f, ok := given["HTTPTimeout"].(float64); ok {
			u.HTTPTimeout = f
		}
		inserted, err := t.putURL(id, &u)
		if err != nil {
			return err
		}
		if inserted {
			if err := stats.inserted(u.URLMd5, u.Status, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// putURL inserts a whole row, or leaves the one that is there.
func (t *tx) putURL(site string, u *dc.URL) (inserted bool, err error) {
	u.SiteID = site
	if u.CDate == "" {
		u.CDate = dc.Date(t.now)
	}
	p := dc.PatchOf(u, dc.URLColumns)
	args := make([]any, len(dc.URLColumns))
	for i, c := range dc.URLColumns {
		args[i] = p[c.Name]
	}
	_, inserted, err = t.Insert("INSERT OR IGNORE INTO "+t.urlTable()+" ("+urlColumns+") VALUES ("+holes(len(args))+")", args...)
	return inserted, err
}

// Site reads a site with all its lists; nil when it is unknown.
func (s *Store) Site(ctx context.Context, id string) (*dc.Site, error) {
	return s.site(ctx, "Site", id, nil)
}

// SiteStatus answers a site, in State SiteNotFound when it is unknown (storage
// 4.3). Excluded lists are nil.
func (s *Store) SiteStatus(ctx context.Context, r dc.SiteStatusRequest) (dc.Site, error) {
	site, err := s.site(ctx, "SiteStatus", r.ID, r.Exclude)
	if err != nil {
		return dc.Site{}, err
	}
	if site == nil {
		site = &dc.Site{ID: r.ID, State: dc.SiteNotFound, MoveURLs: true}
		if !slices.Contains(r.Exclude, listURLs) {
			site.URLs = []dc.SiteURL{}
		}
		if !slices.Contains(r.Exclude, listProperties) {
			site.Properties = []dc.SiteProperty{}
		}
		if !slices.Contains(r.Exclude, listFilters) {
			site.Filters = []dc.SiteFilter{}
		}
	}
	return *site, nil
}

func (s *Store) site(ctx context.Context, op, id string, exclude []string) (site *dc.Site, err error) {
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
func (t *tx) site(id string, exclude []string) (*dc.Site, error) {
	site := dc.Site{MoveURLs: true}
	targets := append(dc.Targets(&site, dc.SiteColumns), &site.RecrawlLock)
	found, err := t.Row("SELECT "+siteColumns+", RecrawlLock FROM "+t.DB.Table(db.Sites, "sites")+" WHERE Id = ?", []any{id}, targets...)
	if err != nil || !found {
		return nil, err
	}
	if !slices.Contains(exclude, listURLs) {
		if site.URLs, err = t.roots(site.ID); err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listProperties) {
		site.Properties, err = rowsOf[dc.SiteProperty](t, "sites_properties", propertyColumns, dc.PropertyColumns, site.ID)
		if err != nil {
			return nil, err
		}
	}
	if !slices.Contains(exclude, listFilters) {
		site.Filters, err = rowsOf[dc.SiteFilter](t, "sites_filters", filterColumns, dc.FilterColumns, site.ID)
	}
	return &site, err
}

func rowsOf[Row any](t *tx, table, list string, columns []dc.Column, site string) ([]Row, error) {
	rows := []Row{}
	err := t.Each("SELECT "+list+" FROM "+t.DB.Table(db.Sites, table)+" WHERE Site_Id = ? ORDER BY rowid", []any{site},
		func(scan func(...any) error) error {
			var row Row
			err := scan(dc.Targets(&row, columns)...)
			rows = append(rows, row)
			return err
		})
	return rows, err
}

// roots reads the root URLs of a site in the order they came.
func (t *tx) roots(site string) ([]dc.SiteURL, error) {
	roots := []dc.SiteURL{}
	err := t.Each("SELECT "+urlColumns+", User_Id FROM "+t.DB.Table(db.Sites, "sites_urls")+" WHERE Site_Id = ? ORDER BY rowid", []any{site},
		func(scan func(...any) error) error {
			var u dc.SiteURL
			u.SiteSelect = dc.SelectNone
			err := scan(append(dc.Targets(&u.URL, dc.URLColumns), &u.UserID)...)
			roots = append(roots, u)
			return err
		})
	return roots, err
}

// Suspend is step 5 of a task for a site over a limit (DECISIONS 3.2): State 3,
// the bits are added, Errors grows by the number of items. An unknown site is
// left alone.
func (s *Store) Suspend(ctx context.Context, id string, bits dc.ErrorMask, items int) error {
	return s.update(ctx, "Suspend", func(t *tx) error {
		_, err := t.Do("site_suspend", t.now, int64(bits), int64(bits), items, id)
		return err
	})
}
