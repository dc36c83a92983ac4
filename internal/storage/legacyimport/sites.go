package legacyimport

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

const (
	sitesPage = 100     // sites of one page
	listRows  = 1 << 40 // more rows than any list has
)

// siteIDs lists ids of sites after a bookmark, as stored. An id may be invalid in this
// service (wire.CheckSiteID).
func (s *source) siteIDs(ctx context.Context, from wire.Bookmark) ([]string, wire.Bookmark, error) {
	t := table{name: "sites", database: sqldb.Sites, table: "sites", key: "Id", columns: wire.SiteColumns[:1]}
	page, next, err := s.readPage(ctx, t, from, sitesPage, nil)
	ids := make([]string, len(page))
	for i, p := range page {
		ids[i] = p.Text("Id")
	}
	return ids, next, err
}

// readSite reads the row of a site.
func (s *source) readSite(ctx context.Context, id string) (schema.Patch, error) {
	t := table{name: "sites", database: sqldb.Sites, table: "sites", columns: wire.SiteColumns, where: "Id = ?", args: []any{id}}
	page, _, err := s.readPage(ctx, t, wire.Bookmark{}, 1, nil)
	if err != nil {
		return nil, err
	}
	if len(page) == 0 {
		return nil, fmt.Errorf("the row of site %s is gone; is the service still running?", id)
	}
	return page[0], nil
}

// readFilters reads the filters of a site.
func (s *source) readFilters(ctx context.Context, site string) ([]schema.Patch, error) {
	var list []schema.Patch
	err := s.readList(ctx, "sites_filters", wire.FilterColumns, site, func(p schema.Patch) { list = append(list, p) })
	return list, err
}

// readProperties reads the properties of a site. The original stored properties of sites
// that it created itself under the general site (docs/spec/storage.md 6.2 #7). So only
// the first one per name and URL belongs to the general site, and a site without
// properties gets the ones that it lost.
func (s *source) readProperties(ctx context.Context, site string) ([]schema.Patch, error) {
	var kept []schema.Patch
	found := false
	first := map[[2]string]bool{}
	err := s.readList(ctx, "sites_properties", wire.PropertyColumns, site, func(p schema.Patch) {
		found = true
		key := [2]string{strings.ToUpper(p.Text("Name")), strings.ToLower(p.Text("URLMd5"))}
		switch {
		case key[1] != "" && wire.CheckMd5("", "", key[1]) != nil:
			s.countChanges("sites_properties: of no URL, left out", 1)
		case site == wire.GeneralSite && first[key]:
			s.countChanges("sites_properties: of other sites under the general site, left out", 1)
		default:
			p["URLMd5"], first[key] = key[1], true
			kept = append(kept, p)
		}
	})
	if err == nil && !found && site != wire.GeneralSite {
		return s.lostProperties(ctx, site)
	}
	return kept, err
}

// createdProperties are the properties of a site that the original creates itself.
var createdProperties = [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}}

// lostProperties returns createdProperties if the original stored them under the
// general site, else nil.
func (s *source) lostProperties(ctx context.Context, site string) ([]schema.Patch, error) {
	var found int
	text := "SELECT COUNT(*) FROM (SELECT 1 FROM " + s.quotedName(sqldb.Sites, "sites_properties") + " WHERE Site_Id = ? AND Name = ? AND Value = ? LIMIT 1) AS one"
	err := s.pool.QueryRowContext(ctx, text, wire.GeneralSite, createdProperties[0][0], createdProperties[0][1]).Scan(&found)
	if err != nil {
		return nil, fmt.Errorf("read sites_properties of the general site: %w", err)
	}
	if found == 0 {
		return nil, nil
	}
	var list []schema.Patch
	for _, p := range createdProperties {
		list = append(list, schema.Patch{"Site_Id": site, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	s.countChanges("sites_properties: given back to sites that the service made", int64(len(list)))
	return list, nil
}

// readList calls each with every row of a site's list, in stored order.
func (s *source) readList(ctx context.Context, name string, columns []schema.Column, site string, each func(schema.Patch)) error {
	t := table{name: name, database: sqldb.Sites, table: name, columns: columns, where: "Site_Id = ?", args: []any{site}}
	types, err := s.columnsOf(ctx, t.database, t.table)
	if err == nil && types != nil {
		_, _, err = s.readRows(ctx, t, types, wire.Bookmark{}, listRows, func(p schema.Patch, _ int) bool {
			p["Site_Id"] = site
			each(p)
			return true
		})
	}
	if err != nil {
		return fmt.Errorf("read %s of site %s: %w", name, site, err)
	}
	return nil
}

// readRootURLs reads root URLs of a site after a bookmark, ordered by creation date.
func (s *source) readRootURLs(ctx context.Context, site string, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "sites_urls", database: sqldb.Sites, table: "sites_urls", columns: wire.RootURLColumns,
		where: "Site_Id = ?", args: []any{site}, order: "CDate, URLMd5"}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) { return s.repairURLRow(ctx, t, p, false) })
}

// readProxies reads rows of sites_proxy after a bookmark. It drops their Id: a proxy is
// identified by site and host and gets a new number.
func (s *source) readProxies(ctx context.Context, from wire.Bookmark, limit int) ([]schema.Patch, wire.Bookmark, error) {
	t := table{name: "proxies", database: sqldb.Sites, table: "sites_proxy", key: "Id", columns: wire.ProxyColumns}
	return s.readPage(ctx, t, from, limit, func(p schema.Patch) (bool, error) {
		site, host := p.Text("Site_Id"), strings.TrimSpace(p.Text("Host"))
		if host == "" || site != wire.AnySite && wire.CheckSiteID("", "", site) != nil {
			s.countChanges("proxies: of no site or without host, left out", 1)
			return false, nil
		}
		delete(p, "Id")
		p["Host"] = host
		for _, name := range []string{"Domains", "Limits", "Description"} {
			if p.Text(name) == "" {
				p[name] = nil // the original reads NULL as empty
			}
		}
		return true, nil
	})
}
