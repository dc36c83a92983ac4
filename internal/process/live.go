package process

import (
	"context"
	"log/slog"
	"strings"

	"hce/dc/internal/wire"
)

// live is what an item of a batch in real time has beside: nothing of it is stored,
// so that it is kept here until the client gets it.
type live struct {
	folder  string // of the batch's raw files
	fetched bool   // by this batch; else the node may have it from before
	site    *wire.Site
	content wire.Entry // its Data is nil when there is none
}

// newLive is nil for an item of a batch of any other kind.
func newLive(batch *wire.Batch, item *wire.BatchItem) *live {
	if batch.CrawlerType != wire.CrawlRealTime {
		return nil
	}
	// The crawler writes its batch into what it takes.
	return &live{folder: batch.Folder, fetched: batch.ID != 0 && item.URL.BatchID == batch.ID}
}

// seesSite notes the site as the item sees it.
func (l *live) seesSite(site *wire.Site) {
	if l != nil {
		l.site = site
	}
}

// noProcessor is the PROCESSOR_NAME of items that are returned as they are
// (docs/spec/processing.md 1.2 step 5).
const noProcessor = "NONE"

// has reports whether there can be anything to process: what the batch fetched came
// and was wanted, and of other items no error is known.
func (l *live) has(item *wire.BatchItem) bool {
	u := &item.URL
	if strings.EqualFold(strings.TrimSpace(item.Properties["PROCESSOR_NAME"]), noProcessor) {
		return false
	}
	if !l.fetched {
		return u.ErrorMask == 0
	}
	return u.Status == wire.StatusCrawled && u.State != wire.URLError && u.HTTPCode == 200
}

// raw reads the item's newest raw content: what its batch fetched, else what the
// node has.
func (j *Job) raw(ctx context.Context, it *item) ([]byte, error) {
	if it.live != nil && it.live.fetched && it.live.folder != "" && j.Scratch != nil {
		return j.Scratch.RawContent(ctx, it.live.folder, it.SiteID, it.URLID)
	}
	return j.Data.RawContent(ctx, it.SiteID, it.URLID)
}

// kept takes the content that the node has stored for an item that its batch did
// not fetch, and reports whether it did: with the item property reprocess = 0, or
// when there is nothing to process it from (docs/spec/processing.md 1.2 step 6).
func (j *Job) kept(ctx context.Context, it *item, log *slog.Logger) bool {
	if it.live == nil || it.live.fetched || j.Scratch == nil {
		return false
	}
	if strings.TrimSpace(it.Properties["reprocess"]) != "0" {
		if raw, err := j.raw(ctx, it); err != nil || len(raw) > 0 {
			return false
		}
	}
	entry, ok, err := j.Scratch.Stored(ctx, it.SiteID, it.URLID)
	if err != nil {
		log.Warn("the stored content is not read", "site", it.SiteID, "url", it.row.URL, "error", err)
	}
	if err != nil || !ok {
		return false
	}
	it.live.content = entry
	return true
}
