package crawl

import (
	"context"
	"fmt"

	"hce/dc/internal/crawl/explain"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
)

// Explain returns every decision that a URL would meet, as a page of the site siteID, or of the
// site that contains it if siteID is empty. It requests robots.txt, and with fetch the page, through
// the host's gate and the site's proxies. It stores nothing except the time of its requests in the
// gate file.
func (j *Job) Explain(ctx context.Context, raw, siteID string, fetch bool) (*explain.Explanation, error) {
	return j.answerQuestion(ctx, explain.Question{URL: raw, Site: siteID, Fetch: fetch})
}

// ExplainLink is Explain for a link of a page of the given depth, without a request for the page.
func (j *Job) ExplainLink(ctx context.Context, raw, siteID string, depth int64) (*explain.Explanation, error) {
	return j.answerQuestion(ctx, explain.Question{URL: raw, Site: siteID, Depth: depth})
}

func (j *Job) answerQuestion(ctx context.Context, q explain.Question) (*explain.Explanation, error) {
	open := func(ctx context.Context, place placement.Placement) (*reader.Reader, context.Context) {
		r, ctx := j.newRun(ctx, wire.Batch{CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead}, j.Log)
		r.reader.Last, r.Dry, r.Rotator, r.Place = true, true, j.Rotator.Unsaved(), place
		return r.reader, ctx
	}
	e, err := explain.Answer(ctx, explain.Source{Rows: j.Data, Gates: j.Gates, FindPlacement: j.hostPlacement, OpenBatch: open}, q)
	if err != nil {
		return nil, fmt.Errorf("explain %s: %w", q.URL, err)
	}
	return e, nil
}
