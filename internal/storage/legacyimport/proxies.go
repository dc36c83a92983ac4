package legacyimport

import (
	"context"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// proxies reads rows of sites_proxy after a bookmark. It drops their Id: a proxy is
// identified by site and host and gets a new number.
func (s *source) proxies(ctx context.Context, from wire.Bookmark, limit int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "proxies", database: sqldb.Sites, table: "sites_proxy", key: "Id", columns: wire.ProxyColumns}
	return s.page(ctx, t, from, limit, func(p wire.Patch) (bool, error) {
		site, host := p.Text("Site_Id"), strings.TrimSpace(p.Text("Host"))
		if host == "" || site != wire.AnySite && wire.CheckSiteID("", "", site) != nil {
			s.changed("proxies: of no site or without host, left out", 1)
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
