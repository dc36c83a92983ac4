package storage

import (
	"context"

	"hce/dc/internal/wire"
)

// Rows reads rows of a site by key; missing ones are missing in the map.
func (repo *Repository) Rows(ctx context.Context, site string, md5s []string) (map[string]wire.URL, error) {
	return repo.Store.Rows(ctx, site, md5s)
}

// SiteOf finds the site that a URL without one belongs to; see sqlstore.SiteOf.
func (repo *Repository) SiteOf(ctx context.Context, url string) (string, error) {
	return repo.Store.SiteOf(ctx, url)
}
