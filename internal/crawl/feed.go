package crawl

import (
	"context"
	"errors"
	"time"

	"hce/dc/internal/content"
	"hce/dc/internal/dc"
	"hce/dc/internal/feed"
	"hce/dc/internal/filter"
)

// gatherFeed makes rows of the entries of a feed, by the rules of links: of
// FEED_PARSER pages that are crawled already, their content the entry; of RSS
// pages to be crawled, in the next pass if there is one (crawling 5.10). done is
// false for a page that is no feed; stored tells whether the feed itself is kept.
func (r *batchRun) gatherFeed(ctx context.Context, out *outcome, p page, text []byte, kind string, now time.Time) (done, stored bool) {
	parsed, err := feed.Parse(text, feed.Options{
		ContentType: declaredType(p.Header), Standard: p.settings.standardFeeds, ZeroItem: p.settings.feedAsEntry,
	})
	if errors.Is(err, feed.ErrNoFeed) {
		if content.IsHTML(kind) {
			out.bits |= dc.ErrUnsupportedType
		}
		// A site of feeds follows no other links.
		return p.item.url.Root(), true
	}
	if parsed.Cut {
		r.log.Warn("the feed has more entries than are read", "site", p.SiteID, "url", p.url.URL)
	}
	c := r.collection(out, p, now)
	entries := map[string]feed.Entry{} // by the key of the row
	for _, e := range parsed.Items {
		if e.URL == "" || !r.dated(ctx, p, e) {
			continue
		}
		before := len(c.taken)
		c.take(ctx, []candidate{{url: e.URL}})
		if len(c.taken) > before {
			entries[c.taken[before].URL.URLMd5] = e
		}
	}
	c.finish(ctx)
	r.keepEntries(out, p, entries, now)
	if len(out.result.Links) == 0 {
		out.bits |= dc.ErrRSSEmpty
	}
	return true, p.settings.processor == rss
}

// dated asks the filters of an entry's date, which are SQL with %PDATE%, if the
// site has any (crawling 5.6).
func (r *batchRun) dated(ctx context.Context, p page, e feed.Entry) bool {
	if e.Date.IsZero() {
		return true
	}
	env := filter.Env{Now: r.Now(), Depth: int(p.url.Depth), SQL: r.condition(ctx, p, string(dc.DateOf(e.Date)))}
	return p.site.filters.AcceptSQL(filter.StageLinks, env)
}

// keepEntries completes the rows of entries as PROCESSOR_NAME says.
func (r *batchRun) keepEntries(out *outcome, p page, entries map[string]feed.Entry, now time.Time) {
	for i := range out.result.Links {
		l := &out.result.Links[i]
		e, known := entries[l.URL.URLMd5]
		if !known {
			continue
		}
		l.URL.PDate = dc.DateOf(e.Date)
		if p.settings.processor == rss {
			l.URL.Type = dc.TypeSingle
			if !r.last {
				p.item.found = append(p.item.found, p.item.next(l.URL))
			}
			continue
		}
		document, err := e.Document(l.URL.URLMd5, p.url.URL, p.URLID)
		if err != nil {
			r.log.Warn("an entry of a feed is not stored", "site", p.SiteID, "url", l.URL.URL, "error", err)
			continue
		}
		u := &l.URL
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.ProcessingDelay = dc.TypeFetched, dc.StatusCrawled, 1, int64(p.Code), 0
		u.ContentType, u.Size, u.ContentMask = clipTo(e.ContentType, 32), int64(len(document)), 1
		if u.ContentType == "" {
			u.ContentType = "text/html" // what an entry leads to
		}
		u.BatchID, u.RawContentMd5 = r.batch.ID, md5Of(document)
		l.Files, l.At = []dc.File{{Type: dc.ContentRaw, Data: document}}, now
		if r.realTime() {
			p.item.extra = append(p.item.extra, p.item.next(*u))
		}
	}
}
