package process

import (
	"cmp"
	"context"
	"log/slog"
	"runtime/debug"
	"unicode/utf8"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// extract processes the raw content of an item and sets its row and result
// (docs/spec/steps.md 2 #9, #10, #13). It hands the item back and returns an error if its
// page was not extracted: errOver, or a fault of the machine.
func (j *Job) extract(ctx context.Context, it *item, watch watch, log *slog.Logger) error {
	start := j.Now()
	var x extracted
	if it.row.HTTPCode == 200 || it.live != nil {
		if j.useStored(ctx, it, log) {
			return nil
		}
		var err error
		if x, err = j.content(ctx, it, watch, log); err != nil {
			it.handBack(wire.DateOf(j.Now()))
			return err
		}
	}
	now := j.Now()
	date := wire.DateOf(now)
	spent := now.Sub(start).Milliseconds()
	r := &it.row
	r.Status, r.State = wire.StatusProcessed, wire.URLEnabled
	if x.Bits != 0 {
		r.State = wire.URLError
	}
	r.ErrorMask |= x.Bits
	r.ProcessingTime, r.TotalTime = spent, r.TotalTime+spent
	r.UDate, r.TcDate = date, date
	r.Processed++
	set := wire.Patch{
		"Status": r.Status, "State": r.State, "ErrorMask": int64(r.ErrorMask),
		"ProcessingTime": r.ProcessingTime, "TotalTime": r.TotalTime, "UDate": string(date), "TcDate": string(date),
	}
	if x.Content != nil {
		r.TagsCount, r.TagsMask = x.TagsCount, x.TagsMask
		set["TagsCount"], set["TagsMask"] = r.TagsCount, r.TagsMask
		r.PDate = cmp.Or(x.Published, r.LastModified, date)
		set["PDate"] = string(r.PDate)
	}
	it.result = wire.Extracted{URLMd5: it.URLID, Set: set, Processed: true, Content: x.Content}
	if it.live != nil {
		it.live.content = wire.Entry{ID: it.URLID, Data: x.Content, CDate: now}
	}
	return nil
}

// content extracts the newest raw content of an item in a worker. Its error is one of
// Workers. A panic of the stores fails this item only, with bit 51.
func (j *Job) content(ctx context.Context, it *item, watch watch, log *slog.Logger) (x extracted, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Error("panic while processing a page", "site", it.SiteID, "url", it.row.URL, "reason", reason, "stack", string(debug.Stack()))
			x, err = extracted{Bits: wire.ErrBatchItem}, nil
		}
	}()
	raw, err := j.raw(ctx, it)
	if task.IsCritical(err) {
		return extracted{}, err
	}
	if err != nil || len(raw) == 0 {
		log.Warn("no raw content", "site", it.SiteID, "url", it.row.URL, "error", err)
		return extracted{Bits: wire.ErrRawMissing}, nil
	}
	if most := j.Config.MaxContentSize; most > 0 && int64(len(raw)) > most {
		for most > 0 && !utf8.RuneStart(raw[most]) {
			most--
		}
		raw = raw[:most]
	}
	x, err = j.Workers.extract(page{ID: it.URLID, URL: it.row.URL, Type: it.row.ContentType, Text: raw}, watch)
	if x.Message != "" {
		log.Warn("the page was not extracted as it should be", "site", it.SiteID, "url", it.row.URL, "errors", x.Bits.Names(), "error", x.Message)
	}
	return x, err
}
