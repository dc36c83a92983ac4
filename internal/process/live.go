package process

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"strings"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// live is the state of an item of a real-time batch. It holds what other batches store.
type live struct {
	folder  string // of the raw files of the batch
	fetched bool   // this batch fetched the page; otherwise the node may have an older one
	site    *wire.Site
	content wire.Entry // Data is nil if there is no content
}

// newLive returns nil unless the batch is a real-time batch.
func newLive(batch *wire.Batch, item *wire.BatchItem) *live {
	if batch.CrawlerType != wire.CrawlRealTime {
		return nil
	}
	// The crawler sets BatchID in the items that it fetches.
	return &live{folder: batch.Folder, fetched: batch.ID != 0 && item.URL.BatchID == batch.ID}
}

// isProcessable reports whether an item can be processed: the batch fetched its page with
// the code of a page, or did not fetch it and no error is known.
func (l *live) isProcessable(item *wire.BatchItem) bool {
	u := &item.URL
	if strings.EqualFold(strings.TrimSpace(item.Properties["PROCESSOR_NAME"]), noProcessor) {
		return false
	}
	if !l.fetched {
		return u.ErrorMask == 0
	}
	return u.Status == wire.StatusCrawled && u.State != wire.URLError && wire.IsPageCode(u.HTTPCode)
}

// urlPutObject returns urlPutObj: the first text of the output format, or the default result
// (docs/spec/processing.md 1.3, 2.8).
func (l *live) urlPutObject(it *item) json.RawMessage {
	data, ok := result.Main(l.content.Data)
	if !ok {
		return nil
	}
	text, err := json.Marshal(map[string]any{
		"siteId": it.SiteID, "urlMd5": it.URLID, "contentType": wire.ContentProcessed,
		"putDict": map[string]any{"id": it.URLID, "data": base64.StdEncoding.EncodeToString(data), "cDate": schema.DateOf(l.content.CDate)},
	})
	if err != nil {
		return nil
	}
	return text
}

// readRaw reads the newest raw content of an item that has this type: from the batch if it fetched the page,
// otherwise from the node.
func (j *Job) readRaw(ctx context.Context, it *item, kind int) ([]byte, error) {
	if it.live != nil && it.live.fetched && it.live.folder != "" && j.Scratch != nil {
		return j.Scratch.RawContent(ctx, it.live.folder, it.SiteID, it.URLID, kind)
	}
	if it.read != nil {
		return it.read(ctx, it.URLID, kind)
	}
	return j.Repository.RawContent(ctx, it.SiteID, it.URLID, kind)
}

// useStored sets the content of a real-time item to the stored processed content, and
// reports whether it did. It does so for pages that the batch did not fetch, if the item
// has the property reprocess = 0 or has no raw content (docs/spec/processing.md 1.2 step 6).
func (j *Job) useStored(ctx context.Context, it *item, log *slog.Logger) bool {
	if it.live == nil || it.live.fetched || j.Scratch == nil {
		return false
	}
	if strings.TrimSpace(it.Properties["reprocess"]) != "0" {
		if raw, err := j.readRaw(ctx, it, wire.ContentRaw); err != nil || len(raw) > 0 {
			return false
		}
	}
	entry, ok, err := j.Scratch.Stored(ctx, it.SiteID, it.URLID)
	if err != nil {
		log.Warn("cannot read the stored content", "site", it.SiteID, "url", it.row.URL, "error", err)
	}
	if err != nil || !ok {
		return false
	}
	it.live.content = entry
	return true
}
