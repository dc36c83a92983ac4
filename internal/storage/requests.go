package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"hce/dc/canonical"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/cluster"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/zpack"
)

// canonicalRoot brings a root URL of any scheme into the form that its mask selects
// (docs/spec/objects.md 4.2).
func canonicalRoot(text string, mask int64) (string, error) {
	return canonical.Schemes(nil).Normalize(text, canonical.Mask(mask))
}

func (repo *Repository) siteNew(ctx context.Context, r wire.SiteNewRequest) (any, error) {
	if err := r.Normalize("Site", canonicalRoot); err != nil {
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
		// The site is stored, and PutAll creates the place later. An error would be repeated, and
		// then answered as a duplicate.
		repo.Log.Warn("cannot prepare processed contents", "site", r.ID, "error", err)
	}
	return answer, nil
}

func (repo *Repository) siteUpdate(ctx context.Context, r wire.SiteUpdateRequest) (any, error) {
	if err := r.Normalize("SiteUpdate", canonicalRoot); err != nil {
		return nil, err
	}
	if err := r.Check(); err != nil {
		return nil, err
	}
	return repo.SiteUpdate(ctx, r)
}

func (repo *Repository) siteStatus(ctx context.Context, r wire.SiteStatusRequest) (any, error) {
	if err := wire.CheckSiteID("SiteStatus", "id", r.ID); err != nil {
		return nil, err
	}
	return repo.SiteStatus(ctx, r)
}

// siteRecrawl does one step of SITE_RECRAWL, which only SitesManager sends. Begin and
// resume answer a list of RecrawlSite. The other steps answer a GeneralResponse with one
// status, which is CodeDuplicateSite if the site is gone.
func (repo *Repository) siteRecrawl(ctx context.Context, r wire.SiteRecrawlRequest) (any, error) {
	err := r.Check()
	if err != nil {
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

func (repo *Repository) urlNew(ctx context.Context, list []wire.URLNewRequest) (any, error) {
	for i, r := range list {
		if err := checkPut(fmt.Sprintf("URLNew[%d].urlPut", i), r.Put, r.Row.Text("URLMd5")); err != nil {
			return nil, err
		}
	}
	answer, keys, err := repo.URLNew(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.Put == nil || keys[i].SiteID == "" {
			continue
		}
		if err := repo.putContent(ctx, fmt.Sprintf("URLNew[%d].urlPut", i), r.Put, keys[i].SiteID, keys[i].URLMd5); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (repo *Repository) urlUpdate(ctx context.Context, list []wire.URLUpdateRequest) (any, error) {
	for i, r := range list {
		if r.URLMd5 == "" {
			continue // a criterion selects many URLs: urlPut is ignored
		}
		if err := checkPut(fmt.Sprintf("URLUpdate[%d].urlPut", i), r.Put, r.URLMd5); err != nil {
			return nil, err
		}
	}
	answer, err := repo.URLUpdate(ctx, list)
	if err != nil {
		return nil, err
	}
	for i, r := range list {
		if r.Put == nil || r.URLMd5 == "" || answer.Statuses[i] != true {
			continue
		}
		if err := repo.putContent(ctx, fmt.Sprintf("URLUpdate[%d].urlPut", i), r.Put, r.SiteID, r.URLMd5); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func (repo *Repository) urlFetch(ctx context.Context, list []wire.URLFetchRequest) (any, error) {
	for i := range list {
		if err := list[i].SiteLists.Normalize(fmt.Sprintf("URLFetch[%d].siteUpdate", i), canonicalRoot); err != nil {
			return nil, err
		}
	}
	urls, err := repo.fetchURLs(ctx, list)
	if err != nil {
		return nil, err
	}
	if len(list) == 1 && list[0].AsBatch > 0 {
		return plainAnswer{asBatch(list[0].AsBatch, urls)}, nil
	}
	return urls, nil
}

// fetchURLs selects URLs. A siteUpdate may replace root URLs and so fill the trash.
func (repo *Repository) fetchURLs(ctx context.Context, list []wire.URLFetchRequest) ([]wire.URL, error) {
	urls, err := repo.URLFetch(ctx, list)
	if err == nil && slices.ContainsFunc(list, func(r wire.URLFetchRequest) bool { return r.SiteLists.URLs != nil }) {
		err = repo.EmptyTrash(ctx)
	}
	return urls, err
}

// asBatch converts selected rows into the Batch that processor-task reads
// (docs/spec/daemon.md 2.12).
func asBatch(id int64, urls []wire.URL) wire.Batch {
	for i := range urls {
		urls[i].ContentMask = 1
	}
	return wire.Batch{ID: id, CrawlerType: wire.CrawlProcess, Items: wire.BatchItems(urls), DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1}
}

// readPlain reads an operation of our own, which has the exact types of its fields.
func readPlain[R checker](object string) func(raw json.RawMessage, _ *lenient.Notes) (R, error) {
	return func(raw json.RawMessage, _ *lenient.Notes) (r R, err error) {
		if err := json.Unmarshal(raw, &r); err != nil {
			return r, fmt.Errorf("%s: %w", object, err)
		}
		return r, r.Check(object)
	}
}

func (repo *Repository) linksSent(ctx context.Context, r cluster.LinksSentRequest) (wire.GeneralResponse, error) {
	n, err := repo.LinksSent(ctx, r)
	return wire.GeneralResponse{Statuses: []any{n}}, err
}

// maxLinksText bounds the messages of one LINKS_STORE when they are unpacked (bytes).
const maxLinksText = 2 * zpack.MaxMessage

func (repo *Repository) linksStore(ctx context.Context, r cluster.LinksStoreRequest) (cluster.LinksStored, error) {
	var all cluster.LinksMessage
	size := 0
	for i, message := range r.Messages {
		object := fmt.Sprintf("LinksStore.messages[%d]", i)
		text, err := zpack.Unpack(message, zpack.MaxMessage)
		if size += len(text); err == nil && size > maxLinksText {
			err = fmt.Errorf("the messages have more than %d bytes", maxLinksText)
		}
		var one cluster.LinksMessage
		if err == nil {
			err = json.Unmarshal(text, &one)
		}
		if err != nil {
			return cluster.LinksStored{}, &lenient.FieldError{Object: object, Field: "bundles", Reason: "cannot be read: " + err.Error()}
		}
		if err := one.Check(object); err != nil {
			return cluster.LinksStored{}, err
		}
		all.Bundles = append(all.Bundles, one.Bundles...)
	}
	return repo.LinksStore(ctx, all)
}

func (repo *Repository) urlReturn(ctx context.Context, r wire.URLReturnRequest) (wire.GeneralResponse, error) {
	if !r.Keep {
		n, err := repo.URLReturn(ctx, r)
		return wire.GeneralResponse{Statuses: []any{n}}, err
	}
	released, kept, err := repo.URLHeld(ctx, r)
	answer := wire.GeneralResponse{Statuses: []any{released}}
	for _, u := range kept {
		answer.Statuses = append(answer.Statuses, u)
	}
	return answer, err
}

func (repo *Repository) sqlCustom(ctx context.Context, r wire.CustomRequest) (wire.CustomResponse, error) {
	return repo.Custom(ctx, r, repo.SQLCustom)
}
