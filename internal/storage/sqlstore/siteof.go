package sqlstore

import (
	"context"

	"hce/dc/internal/wire"
)

// SiteOf finds the site that a URL without one belongs to: the one whose root URL
// is the longest beginning of it, else the one named by its scheme and host, else
// site "0" (docs/spec/objects.md 5.3, selection 2).
func (s *Store) SiteOf(ctx context.Context, url string) (string, error) {
	var site string
	err := s.view(ctx, "SiteOf", func(t *tx) (err error) {
		site, err = t.siteFor("URL", wire.URLNewRequest{SiteSelect: wire.SelectQualify}, url)
		return err
	})
	return site, err
}
