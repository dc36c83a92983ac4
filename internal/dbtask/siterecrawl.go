package dbtask

import (
	"context"
	"encoding/json"

	"hce/dc/internal/dc"
)

// siteRecrawl does one step of SITE_RECRAWL, which SitesManager alone asks for:
// begin and resume answer a list of RecrawlSite, the others a GeneralResponse
// whose one status is CodeDuplicateSite for a site that is gone.
func (o *Owner) siteRecrawl(ctx context.Context, raw json.RawMessage, n *dc.Notes) (any, error) {
	r, err := dc.ReadSiteRecrawl(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	var known bool
	switch r.Step {
	case dc.RecrawlBegin:
		return o.Store.RecrawlBegin(ctx, r)
	case dc.RecrawlResume:
		return o.Store.RecrawlResume(ctx, r)
	case dc.RecrawlOptimize:
		known, err = o.Store.RecrawlOptimize(ctx, r.Sites[0])
	default:
		known, err = o.Store.RecrawlEnd(ctx, r.Sites[0], r.DateExpression, r.Period)
	}
	if err != nil {
		return nil, err
	}
	status := dc.CodeOK
	if !known {
		status = dc.CodeDuplicateSite // its meaning here: not found
	}
	return dc.GeneralResponse{Statuses: []any{status}}, nil
}
