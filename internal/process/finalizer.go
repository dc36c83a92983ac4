package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/realtimeresponse"
)

// Finalizer is the last task of a real-time batch (docs/spec/crawling.md 6.3). It processes
// the batch, answers with a realtimeresponse.Answer, and removes the files of the batch,
// also after an error.
//
// {"forget":{"folder":"NAME"}} removes the files of a killed batch, and
// {"forget":{"others":"RUN"}} removes those of other runs of the manager. The error answer
// of an earlier task is returned unchanged.
type Finalizer struct {
	Job // its Scratch is mandatory
}

// maxContents is the most bytes of base64 in one answer. An item that exceeds it is
// answered without files and with bit RESPONSE_SIZE_ERROR.
const maxContents = 128 << 20

// otherRequest is a request that is not a batch.
type otherRequest struct {
	Forget *struct {
		Folder string `json:"folder"`
		Others string `json:"others"`
	} `json:"forget"`
	ErrorCode *int             `json:"errorCode"`
	Items     *json.RawMessage `json:"items"`
}

// Run answers one request. Errors of the Repository are critical, as in Job.Run.
func (f *Finalizer) Run(ctx context.Context, request json.RawMessage) (any, error) {
	var o otherRequest
	if json.Unmarshal(request, &o) == nil {
		switch {
		case o.Forget != nil && o.Forget.Folder != "":
			return struct{}{}, f.Scratch.Remove(o.Forget.Folder)
		case o.Forget != nil:
			return struct{}{}, f.Scratch.RemoveOthers(o.Forget.Others)
		case o.ErrorCode != nil && o.Items == nil:
			return request, nil
		}
	}
	batch, err := wire.ReadBatch(request, &lenient.Notes{})
	if err != nil {
		return nil, err
	}
	if batch.CrawlerType != wire.CrawlRealTime {
		return nil, fmt.Errorf("finalize batch %d: crawlerType is %d, must be %d (real time)", batch.ID, batch.CrawlerType, wire.CrawlRealTime)
	}
	log := f.Log.With("batch", batch.ID)
	if batch.Folder != "" {
		defer func() {
			if err := f.Scratch.Remove(batch.Folder); err != nil {
				log.Error("cannot remove the files of the batch", "error", err)
			}
		}()
	}
	work, err := f.processBatch(ctx, &batch, log)
	if err != nil {
		return nil, err
	}
	return f.buildAnswer(context.WithoutCancel(ctx), &batch, work, log), nil
}

func (f *Finalizer) buildAnswer(ctx context.Context, batch *wire.Batch, work []*item, log *slog.Logger) realtimeresponse.Answer {
	a := realtimeresponse.Answer{Contents: []wire.URLContentResponse{}, Grades: []realtimeresponse.Grade{}}
	var retry []wire.BatchItem
	room := maxContents
	for _, it := range work {
		if it.URL.Status == wire.StatusNew && it.URL.ErrorMask == 0 {
			it.URL.ErrorMask = errormask.MaxExecutionTime // not started in time
		}
		r, files := f.itemContents(ctx, batch, it, log)
		if size := files.Weight(); size > room {
			it.URL.ErrorMask |= errormask.Size
			log.Warn("contents left out: the answer is too large", "site", it.SiteID, "url", it.URL.URL, "bytes", size)
		} else {
			room -= size
			r = files
		}
		grade, err := realtimeresponse.Judge(it.BatchItem, it.live.site, it.live.content.Data)
		if err != nil {
			it.URL.ErrorMask |= errormask.Initialization
			log.Warn("invalid property ignored", "site", it.SiteID, "error", err)
		}
		if realtimeresponse.NeedsBrowser(it.BatchItem, it.live.site, grade, it.live.fetched) {
			retry = append(retry, realtimeresponse.ForBrowser(it.BatchItem))
		}
		r.DBFields = realtimeresponse.Response(batch.ID, it.BatchItem).DBFields // with the bits added above
		a.Contents, a.Grades = append(a.Contents, r), append(a.Grades, grade)
	}
	if len(retry) > 0 {
		b := *batch
		b.Items, b.Spent, b.ErrorMask = retry, 0, 0
		a.Retry = &b
	}
	return a
}

// itemContents returns the answer for one item, without and with its contents. It adds an
// error bit to the item if the raw files cannot be read.
func (f *Finalizer) itemContents(ctx context.Context, batch *wire.Batch, it *item, log *slog.Logger) (bare, full wire.URLContentResponse) {
	bare = realtimeresponse.Response(batch.ID, it.BatchItem)
	full = realtimeresponse.Response(batch.ID, it.BatchItem)
	mask := realtimeresponse.Mask(it.BatchItem, it.live.site)
	if it.live.content.Data != nil {
		var err error
		if full.ProcessedContents, err = f.Scratch.Processed(it.live.content, mask); err != nil {
			full.AddDamage(err)
		}
	}
	files := realtimeresponse.FileMask(mask)
	if files == 0 || it.live.fetched && it.URL.Status == wire.StatusNew {
		return bare, full
	}
	folder := ""
	if it.live.fetched {
		folder = it.live.folder
	}
	err := f.Scratch.AddFiles(ctx, folder, it.SiteID, it.URLID, files, &full)
	if err == nil && full.ErrorMessage != "" {
		err = errors.New(full.ErrorMessage)
	}
	if err != nil {
		it.URL.ErrorMask |= errormask.RawMissing
		log.Warn("cannot read raw contents", "site", it.SiteID, "url", it.URL.URL, "error", err)
	}
	realtimeresponse.Trim(mask, &full)
	return bare, full
}
