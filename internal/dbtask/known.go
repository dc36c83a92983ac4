package dbtask

import "context"

// KnownURLs tells which keys are rows of the site.
func (o *Owner) KnownURLs(ctx context.Context, site string, md5s []string) (map[string]bool, error) {
	rows, err := o.Store.Rows(ctx, site, md5s)
	known := make(map[string]bool, len(rows))
	for md5 := range rows {
		known[md5] = true
	}
	return known, err
}
