package legacyimport

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

const (
	sitesPage = 100     // sites read at once
	listRows  = 1 << 40 // rows of a list: all
)

// Sites lists ids of sites from a bookmark on. They are as they stand there, and
// may be none here: CheckSiteID says.
func (s *Source) Sites(ctx context.Context, from wire.Bookmark) ([]string, wire.Bookmark, error) {
	t := table{name: "sites", database: sqldb.Sites, table: "sites", key: "Id", columns: wire.SiteColumns[:1]}
	page, next, err := s.page(ctx, t, from, sitesPage)
	if err != nil {
		return nil, from, fmt.Errorf("original.Sites: %w", err)
	}
	ids := make([]string, len(page))
	for i, p := range page {
		ids[i] = p.Text("Id")
	}
	return ids, next, nil
}

// Site reads the row of a site.
func (s *Source) Site(ctx context.Context, id string) (wire.Patch, error) {
	t := table{name: "sites", database: sqldb.Sites, table: "sites", columns: wire.SiteColumns, where: "Id = ?", args: []any{id}}
	page, _, err := s.page(ctx, t, wire.Bookmark{}, 1)
	if err == nil && len(page) == 0 {
		err = fmt.Errorf("the row of site %s is gone; is the service still running?", id)
	}
	if err != nil {
		return nil, fmt.Errorf("original.Site: %w", err)
	}
	return page[0], nil
}

// Filters reads the filters of a site.
func (s *Source) Filters(ctx context.Context, site string) ([]wire.Patch, error) {
	var list []wire.Patch
	err := s.list(ctx, "sites_filters", wire.FilterColumns, site, func(p wire.Patch) { list = append(list, p) })
	if err != nil {
		return nil, fmt.Errorf("original.Filters: %w", err)
	}
	return list, nil
}

// Properties reads the properties of a site. Those of the general site come once
// for each name and URL, the first one: the others are of sites that the service
// made by itself, and were put there by mistake (docs/spec/storage.md 6.2 #7). A site without
// any gets those that it should have got, when there are such.
func (s *Source) Properties(ctx context.Context, site string) ([]wire.Patch, error) {
	var kept []wire.Patch
	found := false
	first := map[[2]string]bool{}
	err := s.list(ctx, "sites_properties", wire.PropertyColumns, site, func(p wire.Patch) {
		found = true
		key := [2]string{strings.ToUpper(p.Text("Name")), strings.ToLower(p.Text("URLMd5"))}
		switch {
		case key[1] != "" && wire.CheckMd5("", "", key[1]) != nil:
			s.changed("sites_properties: of no URL, left out", 1)
		case general(site) && first[key]:
			s.changed("sites_properties: of other sites under the general site, left out", 1)
		default:
			p["URLMd5"], first[key] = key[1], true
			kept = append(kept, p)
		}
	})
	if err == nil && !found && !general(site) {
		kept, err = s.lost(ctx, site)
	}
	if err != nil {
		return nil, fmt.Errorf("original.Properties: %w", err)
	}
	return kept, nil
}

// made are the properties of a site that the service makes by itself.
var made = [][2]string{{"PROCESS_CTYPES", "text/html"}, {"STORE_HTTP_REQUEST", "1"}, {"STORE_HTTP_HEADERS", "1"}, {"HTTP_HEADERS", ""}, {"HTTP_COOKIE", ""}}

// lost are the properties of a site that the service made by itself and that
// were put under the general site.
func (s *Source) lost(ctx context.Context, site string) ([]wire.Patch, error) {
	var found int
	text := "SELECT COUNT(*) FROM (SELECT 1 FROM " + s.quoted(sqldb.Sites, "sites_properties") + " WHERE Site_Id = ? AND Name = ? AND Value = ? LIMIT 1) AS one"
	if err := s.pool.QueryRowContext(ctx, text, wire.GeneralSite, made[0][0], made[0][1]).Scan(&found); err != nil || found == 0 {
		return nil, err
	}
	var list []wire.Patch
	for _, p := range made {
		list = append(list, wire.Patch{"Site_Id": site, "URLMd5": "", "Name": p[0], "Value": p[1]})
	}
	s.changed("sites_properties: given back to sites that the service made", int64(len(list)))
	return list, nil
}

// list gives each the rows of a list of a site, in the order they came.
func (s *Source) list(ctx context.Context, name string, columns []wire.Column, site string, each func(wire.Patch)) error {
	t := table{name: name, database: sqldb.Sites, table: name, columns: columns, where: "Site_Id = ?", args: []any{site}}
	types, err := s.columnsOf(ctx, t.database, t.table)
	if err != nil || types == nil {
		return err
	}
	_, _, err = s.read(ctx, t, types, wire.Bookmark{}, listRows, func(p wire.Patch, _ int) bool {
		p["Site_Id"] = site
		each(p)
		return true
	})
	return err
}

// Roots reads root URLs of a site from a bookmark on, in the order they came.
func (s *Source) Roots(ctx context.Context, site string, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "sites_urls", database: sqldb.Sites, table: "sites_urls", columns: wire.RootURLColumns,
		where: "Site_Id = ?", args: []any{site}, order: "CDate, URLMd5"}
	page, next, err := s.page(ctx, t, from, most)
	if err == nil {
		page, err = s.repair(ctx, t, page, false)
	}
	if err != nil {
		return nil, from, fmt.Errorf("original.Roots: %w", err)
	}
	return page, next, nil
}
