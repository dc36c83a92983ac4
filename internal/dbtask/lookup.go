package dbtask

import (
	"context"

	"hce/dc/internal/dc"
)

// Rows reads rows of a site by key; missing ones are missing in the map.
func (o *Owner) Rows(ctx context.Context, site string, md5s []string) (map[string]dc.URL, error) {
	return o.Store.Rows(ctx, site, md5s)
}

// SiteOf finds the site that a URL without one belongs to; see store.SiteOf.
func (o *Owner) SiteOf(ctx context.Context, url string) (string, error) {
	return o.Store.SiteOf(ctx, url)
}
