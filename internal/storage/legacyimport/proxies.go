package legacyimport

import (
	"context"
	"fmt"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Proxies reads rows of sites_proxy from a bookmark on. They have no Id: a proxy
// is told by its site and its host, and gets a number here.
func (s *Source) Proxies(ctx context.Context, from wire.Bookmark, most int) ([]wire.Patch, wire.Bookmark, error) {
	t := table{name: "proxies", database: sqldb.Sites, table: "sites_proxy", key: "Id", columns: wire.ProxyColumns}
	page, next, err := s.page(ctx, t, from, most)
	if err != nil {
		return nil, from, fmt.Errorf("original.Proxies: %w", err)
	}
	kept := page[:0]
	for _, p := range page {
		site, host := p.Text("Site_Id"), strings.TrimSpace(p.Text("Host"))
		if host == "" || site != wire.AnySite && wire.CheckSiteID("", "", site) != nil {
			s.changed("proxies: of no site or without host, left out", 1)
			continue
		}
		delete(p, "Id")
		p["Host"] = host
		for _, name := range []string{"Domains", "Limits", "Description"} {
			if p.Text(name) == "" {
				p[name] = nil // as NULL was read
			}
		}
		kept = append(kept, p)
	}
	return kept, next, nil
}
