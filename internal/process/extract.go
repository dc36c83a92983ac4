package process

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"mime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/internal/process/article"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/wire"
)

// extract processes the raw content of an item and sets its row and result
// (docs/spec/steps.md 2 #9, #10, #13).
func (j *Job) extract(ctx context.Context, it *item, log *slog.Logger) {
	start := j.Now()
	var bits wire.ErrorMask
	var content []byte
	var tags tagList
	if it.row.HTTPCode == 200 || it.live != nil {
		if j.useStored(ctx, it, log) {
			return
		}
		tags, content, bits = j.content(ctx, it, start, log)
	}
	now := j.Now()
	date := wire.DateOf(now)
	spent := now.Sub(start).Milliseconds()
	r := &it.row
	r.Status, r.State = wire.StatusProcessed, wire.URLEnabled
	if bits != 0 {
		r.State = wire.URLError
	}
	r.ErrorMask |= bits
	r.ProcessingTime, r.TotalTime = spent, r.TotalTime+spent
	r.UDate, r.TcDate = date, date
	r.Processed++
	set := wire.Patch{
		"Status": r.Status, "State": r.State, "ErrorMask": int64(r.ErrorMask),
		"ProcessingTime": r.ProcessingTime, "TotalTime": r.TotalTime, "UDate": string(date), "TcDate": string(date),
	}
	if content != nil {
		r.TagsCount, r.TagsMask = tags.count(), tags.mask()
		set["TagsCount"], set["TagsMask"] = r.TagsCount, r.TagsMask
		r.PDate = cmp.Or(tags.published, r.LastModified, date)
		set["PDate"] = string(r.PDate)
	}
	it.result = wire.Extracted{URLMd5: it.URLID, Set: set, Processed: true, Content: content}
	if it.live != nil {
		it.live.content = wire.Entry{ID: it.URLID, Data: content, CDate: now}
	}
}

// content returns the tags of an item and their JSON, which is nil without tags. A panic
// of a parser fails this item only, with bit 51.
func (j *Job) content(ctx context.Context, it *item, start time.Time, log *slog.Logger) (tags tagList, content []byte, bits wire.ErrorMask) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Error("panic while processing a page", "site", it.SiteID, "url", it.row.URL, "reason", reason, "stack", string(debug.Stack()))
			tags, content, bits = tagList{}, nil, wire.ErrBatchItem
		}
	}()
	tags, bits = j.tags(ctx, it, log)
	if tags.count() == 0 {
		return tagList{}, nil, bits
	}
	content, err := tags.content(it.URLID, j.Now().Sub(start))
	if err != nil {
		log.Error("cannot encode the tags as JSON", "site", it.SiteID, "url", it.row.URL, "error", err)
		return tagList{}, nil, wire.ErrScraper
	}
	return tags, content, bits
}

// tags extracts the tags of the newest raw content of an item.
func (j *Job) tags(ctx context.Context, it *item, log *slog.Logger) (tagList, wire.ErrorMask) {
	raw, err := j.raw(ctx, it)
	if err != nil || len(raw) == 0 {
		log.Warn("no raw content", "site", it.SiteID, "url", it.row.URL, "error", err)
		return tagList{}, wire.ErrRawMissing
	}
	if most := j.Config.MaxContentSize; most > 0 && int64(len(raw)) > most {
		for most > 0 && !utf8.RuneStart(raw[most]) {
			most--
		}
		raw = raw[:most]
	}
	kind := it.row.ContentType
	// The crawler stores texts as UTF-8, whatever charset the page declares.
	text, _, err := charset.Decode(raw, mime.FormatMediaType(kind, map[string]string{"charset": "utf-8"}))
	if err != nil && text == nil || !isText(kind) && bytes.IndexByte(text, 0) >= 0 {
		log.Warn("the raw content is not a text", "site", it.SiteID, "url", it.row.URL, "type", kind, "error", err)
		return tagList{}, wire.ErrRawDecoding
	}
	if !strings.Contains(kind, "html") {
		return newTags(article.Plain(text, kind, it.row.URL), it.row.URL), 0
	}
	a, err := article.Extract(text, it.row.URL)
	if err != nil { // a still has the visible text
		log.Warn("cannot extract the article; using the visible text", "site", it.SiteID, "url", it.row.URL, "error", err)
		return newTags(a, it.row.URL), wire.ErrScraper
	}
	return newTags(a, it.row.URL), 0
}

// isText reports whether the crawler stores contents of this type as text. Contents of
// other types, such as JSON, are texts unless they contain NUL.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml"
}
