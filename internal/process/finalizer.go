package process

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"hce/dc/internal/dc"
	"hce/dc/internal/finalize"
)

// Finalizer is the last stage of a batch in real time: it processes the batch and
// answers with what the client gets (crawling 6.3), a finalize.Answer. The files of
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
	batch, err := dc.ReadBatch(request, &dc.Notes{})
	if err != nil {
		return nil, err
	}
	if batch.CrawlerType != dc.CrawlRealTime {
		return nil, fmt.Errorf("batch %d has crawlerType %d; only one in real time (%d) is finalised", batch.ID, batch.CrawlerType, dc.CrawlRealTime)
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
func (f *Finalizer) answer(ctx context.Context, batch *dc.Batch, work []*item, log *slog.Logger) finalize.Answer {
	a := finalize.Answer{Contents: []dc.URLContentResponse{}, Grades: []finalize.Grade{}}
	var again []dc.BatchItem
	room := maxContents
	for _, it := range work {
		if it.URL.Status == dc.StatusNew && it.URL.ErrorMask == 0 {
			it.URL.ErrorMask = dc.ErrMaxExecutionTime // not started in time
		}
		r, files := f.contents(ctx, batch, it, log)
		if size := files.Weight(); size > room {
			it.URL.ErrorMask |= dc.ErrSize
			log.Warn("contents are left out, as the answer is too large", "site", it.SiteID, "url", it.URL.URL, "bytes", size)
		} else {
			room -= size
			r = files
		}
		grade, err := finalize.Judge(it.BatchItem, it.live.site, it.live.content.Data)
		if err != nil {
			it.URL.ErrorMask |= dc.ErrInitialization
			log.Warn("a property is left out", "site", it.SiteID, "error", err)
		}
		if finalize.Repeats(it.BatchItem, it.live.site, grade, it.live.fetched) {
			again = append(again, finalize.Again(it.BatchItem))
		}
		r.DBFields = finalize.Response(batch.ID, it.BatchItem).DBFields // with the bits found here
		a.Contents, a.Grades = append(a.Contents, r), append(a.Grades, grade)
	}
	if len(again) > 0 {
		b := *batch
		b.Items, b.Spent, b.ErrorMask = again, 0, 0
		a.Again = &b
	}
	return a
}

// contents is the answer for one item, without and with its contents.
func (f *Finalizer) contents(ctx context.Context, batch *dc.Batch, it *item, log *slog.Logger) (bare, full dc.URLContentResponse) {
	bare = finalize.Response(batch.ID, it.BatchItem)
	full = finalize.Response(batch.ID, it.BatchItem)
	mask := finalize.Mask(it.BatchItem, it.live.site)
	if it.live.content.Data != nil {
		full.ProcessedContents = f.Scratch.Processed(it.live.content, mask)
	}
	files := finalize.FileMask(mask)
	if files == 0 || it.live.fetched && it.URL.Status == dc.StatusNew {
		return bare, full
	}
	folder := ""
	if it.live.fetched {
		folder = it.live.folder
	}
	if err := f.Scratch.AddFiles(ctx, folder, it.SiteID, it.URLID, files, &full); err != nil {
		it.URL.ErrorMask |= dc.ErrRawMissing
		log.Warn("raw contents are not read", "site", it.SiteID, "url", it.URL.URL, "error", err)
	}
	finalize.Trim(mask, &full)
	return bare, full
}
