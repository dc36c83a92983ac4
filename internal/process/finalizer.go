package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/realtimeresponse"
)

// Finalizer is the last stage of a batch in real time: it processes the batch and
// answers with what the client gets (docs/spec/crawling.md 6.3), a realtimeresponse.Answer. The files of
// the batch are removed then, whatever became of it.
//
// It is also asked to clean up, by {"forget":{"folder":"NAME"}} after a batch that was
// killed, and by {"forget":{"others":"RUN"}} for what other runs of the manager left.
// An error that the stage before answered is passed on.
type Finalizer struct {
	Job // its Scratch is mandatory
}

// maxContents bounds the contents in one answer, in bytes of base64. Files that find
// no room are left out, with bit RESPONSE_SIZE_ERROR.
const maxContents = 128 << 20

// asked are the requests that are no batch.
type asked struct {
	Forget *struct {
		Folder string `json:"folder"`
		Others string `json:"others"`
	} `json:"forget"`
	ErrorCode *int             `json:"errorCode"`
	Items     *json.RawMessage `json:"items"`
}

// Run finalises the Batch on stdin. Its error is critical as that of Job.Run is.
func (f *Finalizer) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var a asked
	if json.Unmarshal(request, &a) == nil {
		switch {
		case a.Forget != nil && a.Forget.Folder != "":
			return struct{}{}, f.Scratch.Remove(a.Forget.Folder)
		case a.Forget != nil:
			return struct{}{}, f.Scratch.RemoveOthers(a.Forget.Others)
		case a.ErrorCode != nil && a.Items == nil:
			return request, nil
		}
	}
	batch, err := wire.ReadBatch(request, &wire.Notes{})
	if err != nil {
		return nil, err
	}
	if batch.CrawlerType != wire.CrawlRealTime {
		return nil, fmt.Errorf("batch %d has crawlerType %d; only one in real time (%d) is finalised", batch.ID, batch.CrawlerType, wire.CrawlRealTime)
	}
	log := f.Log.With("batch", batch.ID)
	if batch.Folder != "" {
		defer func() {
			if err := f.Scratch.Remove(batch.Folder); err != nil {
				log.Error("files of the batch are left behind", "error", err)
			}
		}()
	}
	work, err := f.process(ctx, &batch, log)
	if err != nil {
		return nil, err
	}
	return f.answer(context.WithoutCancel(ctx), &batch, work, log), nil
}

// answer is what the client gets for the items.
func (f *Finalizer) answer(ctx context.Context, batch *wire.Batch, work []*item, log *slog.Logger) realtimeresponse.Answer {
	a := realtimeresponse.Answer{Contents: []wire.URLContentResponse{}, Grades: []realtimeresponse.Grade{}}
	var again []wire.BatchItem
	room := maxContents
	for _, it := range work {
		if it.URL.Status == wire.StatusNew && it.URL.ErrorMask == 0 {
			it.URL.ErrorMask = wire.ErrMaxExecutionTime // not started in time
		}
		r, files := f.contents(ctx, batch, it, log)
		if size := files.Weight(); size > room {
			it.URL.ErrorMask |= wire.ErrSize
			log.Warn("contents are left out, as the answer is too large", "site", it.SiteID, "url", it.URL.URL, "bytes", size)
		} else {
			room -= size
			r = files
		}
		grade, err := realtimeresponse.Judge(it.BatchItem, it.live.site, it.live.content.Data)
		if err != nil {
			it.URL.ErrorMask |= wire.ErrInitialization
			log.Warn("a property is left out", "site", it.SiteID, "error", err)
		}
		if realtimeresponse.NeedsBrowser(it.BatchItem, it.live.site, grade, it.live.fetched) {
			again = append(again, realtimeresponse.ForBrowser(it.BatchItem))
		}
		r.DBFields = realtimeresponse.Response(batch.ID, it.BatchItem).DBFields // with the bits found here
		a.Contents, a.Grades = append(a.Contents, r), append(a.Grades, grade)
	}
	if len(again) > 0 {
		b := *batch
		b.Items, b.Spent, b.ErrorMask = again, 0, 0
		a.Retry = &b
	}
	return a
}

// contents is the answer for one item, without and with its contents.
func (f *Finalizer) contents(ctx context.Context, batch *wire.Batch, it *item, log *slog.Logger) (bare, full wire.URLContentResponse) {
	bare = realtimeresponse.Response(batch.ID, it.BatchItem)
	full = realtimeresponse.Response(batch.ID, it.BatchItem)
	mask := realtimeresponse.Mask(it.BatchItem, it.live.site)
	if it.live.content.Data != nil {
		full.ProcessedContents = f.Scratch.Processed(it.live.content, mask)
	}
	files := realtimeresponse.FileMask(mask)
	if files == 0 || it.live.fetched && it.URL.Status == wire.StatusNew {
		return bare, full
	}
	folder := ""
	if it.live.fetched {
		folder = it.live.folder
	}
	if err := f.Scratch.AddFiles(ctx, folder, it.SiteID, it.URLID, files, &full); err != nil {
		it.URL.ErrorMask |= wire.ErrRawMissing
		log.Warn("raw contents are not read", "site", it.SiteID, "url", it.URL.URL, "error", err)
	}
	realtimeresponse.Trim(mask, &full)
	return bare, full
}
