package process

import (
	"bytes"
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

// extract reads an item's raw content and makes its outcome (docs/spec/steps.md 2
// #9, #10, #13).
func (j *Job) extract(ctx context.Context, it *item, log *slog.Logger) {
	start := j.Now()
	var bits wire.ErrorMask
	var content []byte
	var tags tagList
	if it.row.HTTPCode == 200 || it.live != nil {
		if j.kept(ctx, it, log) {
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
		r.PDate = tags.published
		if r.PDate == "" {
			r.PDate = firstDate(r.LastModified, date)
		}
		set["PDate"] = string(r.PDate)
	}
	it.result = wire.Extracted{URLMd5: it.URLID, Set: set, Processed: true, Content: content}
	if it.live != nil {
		it.live.content = wire.Entry{ID: it.URLID, Data: content, CDate: now}
	}
}

func firstDate(dates ...wire.Date) wire.Date {
	for _, d := range dates {
		if d != "" {
			return d
		}
	}
	return ""
}

// content gives the item's tags and their JSON. A page that makes a parser panic
// fails alone, with bit 51.
func (j *Job) content(ctx context.Context, it *item, start time.Time, log *slog.Logger) (tags tagList, content []byte, bits wire.ErrorMask) {
	defer func() {
		if reason := recover(); reason != nil {
			log.Error("the page panicked", "site", it.SiteID, "url", it.row.URL, "reason", reason, "stack", string(debug.Stack()))
			tags, content, bits = tagList{}, nil, wire.ErrBatchItem
		}
	}()
	tags, bits = j.tags(ctx, it, log)
	if tags.count() == 0 {
		return tagList{}, nil, bits
	}
	content, err := tags.content(it.URLID, j.Now().Sub(start))
	if err != nil {
		log.Error("the result is not JSON", "site", it.SiteID, "url", it.row.URL, "error", err)
		return tagList{}, nil, wire.ErrScraper
	}
	return tags, content, bits
}

// tags gives what the item's newest raw content says.
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
	// The crawler stores texts as UTF-8, whatever the page says of itself.
	text, _, err := charset.Decode(raw, mime.FormatMediaType(kind, map[string]string{"charset": "utf-8"}))
	if err != nil && text == nil || !isText(kind) && bytes.IndexByte(text, 0) >= 0 {
		log.Warn("the raw content is no text", "site", it.SiteID, "url", it.row.URL, "type", kind, "error", err)
		return tagList{}, wire.ErrRawDecoding
	}
	var a article.Article
	err = nil
	if strings.Contains(kind, "html") {
		a, err = article.Extract(text, it.row.URL)
	} else {
		a = article.Plain(text, kind, it.row.URL)
	}
	if err != nil {
		// The visible text is there all the same.
		log.Warn("the page defeats the extractor", "site", it.SiteID, "url", it.row.URL, "error", err)
		return newTags(a, it.row.URL), wire.ErrScraper
	}
	return newTags(a, it.row.URL), 0
}

// isText reports whether the crawler has stored a content of the type as text.
// Others are taken for text as well (JSON, XML), unless they hold a NUL.
func isText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml"
}
