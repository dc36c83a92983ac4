package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"hce/dc/internal/web/canonical"
	"hce/dc/internal/wire"
)

// canonicalRoot brings a root URL of any scheme into the form that its mask selects
// (docs/spec/objects.md 4.2).
func canonicalRoot(text string, mask int64) (string, error) {
	return canonical.Schemes(nil).Normalize(text, canonical.Mask(mask))
}

func (repo *Repository) siteNew(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteNew(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Normalize(canonicalRoot); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	// The pending deletion of a site with the same id must not remove new files.
	if err := repo.EmptyTrash(ctx); err != nil {
		return nil, err
	}
	answer, err := repo.SiteNew(ctx, r)
	if err != nil {
		return nil, err
	}
	if answer.ErrorCode != wire.CodeOK {
		return answer, nil
	}
	if err := repo.Contents.Create(ctx, r.ID); err != nil {
		if Critical(err) {
			return nil, err
		}
		// The site is stored, and PutAll creates the place later.
		repo.Log.Warn("cannot prepare processed contents", "site", r.ID, "error", err)
	}
	return answer, nil
}

func (repo *Repository) siteUpdate(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteUpdate(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Normalize("SiteUpdate", canonicalRoot); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	answer, err := repo.SiteUpdate(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

func (repo *Repository) siteStatus(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteStatus(raw, n)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckSiteID("SiteStatus", "id", r.ID); err != nil {
		return nil, err
	}
	return repo.SiteStatus(ctx, r)
}

func (repo *Repository) siteFind(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteFind(raw, n)
	if err != nil {
		return nil, err
	}
	return repo.SiteFind(ctx, r)
}

func (repo *Repository) siteDelete(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadSiteDelete(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.ID == "" {
			continue
		}
		if err := wire.CheckSiteID(fmt.Sprintf("SiteDelete[%d]", i), "id", r.ID); err != nil {
			return nil, err
		}
	}
	answer, err := repo.SiteDelete(ctx, list)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

func (repo *Repository) siteCleanup(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	list, err := wire.ReadSiteCleanup(raw, n)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if err := wire.CheckSiteID(fmt.Sprintf("SiteCleanup[%d]", i), "id", r.ID); err != nil {
			return nil, err
		}
	}
	answer, err := repo.SiteCleanup(ctx, list)
	if err != nil {
		return nil, err
	}
	return answer, repo.EmptyTrash(ctx)
}

// siteRecrawl does one step of SITE_RECRAWL, which only SitesManager sends. Begin and
// resume answer a list of RecrawlSite. The other steps answer a GeneralResponse with one
// status, which is CodeDuplicateSite if the site is gone.
func (repo *Repository) siteRecrawl(ctx context.Context, raw json.RawMessage, n *wire.Notes) (any, error) {
	r, err := wire.ReadSiteRecrawl(raw, n)
	if err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	var found bool
	switch r.Step {
	case wire.RecrawlBegin:
		return repo.RecrawlBegin(ctx, r)
	case wire.RecrawlResume:
		return repo.RecrawlResume(ctx, r)
	case wire.RecrawlOptimize:
		found, err = repo.RecrawlOptimize(ctx, r.Sites[0])
	default:
		found, err = repo.RecrawlEnd(ctx, r.Sites[0], r.DateExpression, r.Period)
	}
	if err != nil {
		return nil, err
	}
	status := wire.CodeOK
	if !found {
		status = wire.CodeDuplicateSite // in this answer it means "not found"
	}
	return wire.GeneralResponse{Statuses: []any{status}}, nil
}
