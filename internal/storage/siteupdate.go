package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/web/canonical"
	"hce/dc/internal/wire"
)

func (repo *Repository) siteUpdate(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteUpdate(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Normalize("SiteUpdate", normalized); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	answer, err := repo.Store.SiteUpdate(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

// normalized is a root URL in the form of its mask (docs/spec/objects.md 4.2), of any scheme.
func normalized(text string, mask int64) (string, error) {
	return canonical.Schemes(nil).Normalize(text, canonical.Mask(mask))
}

// fetch selects URLs. A siteUpdate may replace root URLs, whose contents go as
// SITE_UPDATE's do.
func (repo *Repository) fetch(ctx context.Context, object string, list []wire.URLFetchRequest) ([]wire.URL, error) {
	roots := false
	for i := range list {
		l := &list[i].SiteLists
		if err := l.Normalize(fmt.Sprintf("%s[%d].siteUpdate", object, i), normalized); err != nil {
			return nil, err
		}
		roots = roots || l.URLs != nil
	}
	urls, err := repo.Store.URLFetch(ctx, list)
	if err == nil && roots {
		err = repo.EmptyTrash(ctx)
	}
	return urls, err
}
