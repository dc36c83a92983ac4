package storage

import (
	"context"
	"encoding/json"

	"hce/dc/internal/wire"
)

// siteRecrawl does one step of SITE_RECRAWL, which SitesManager alone asks for:
// begin and resume answer a list of RecrawlSite, the others a GeneralResponse
// whose one status is CodeDuplicateSite for a site that is gone.
func (repo *Repository) siteRecrawl(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteRecrawl(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	var known bool
	switch r.Step {
	case wire.RecrawlBegin:
		return repo.Store.RecrawlBegin(ctx, r)
	case wire.RecrawlResume:
		return repo.Store.RecrawlResume(ctx, r)
	case wire.RecrawlOptimize:
		known, err = repo.Store.RecrawlOptimize(ctx, r.Sites[0])
	default:
		known, err = repo.Store.RecrawlEnd(ctx, r.Sites[0], r.DateExpression, r.Period)
	}
	if err != nil {
		return nil, err
	}
	status := wire.CodeOK
	if !known {
		status = wire.CodeDuplicateSite // its meaning here: not found
	}
	return wire.GeneralResponse{Statuses: []any{status}}, nil
}
