package crawl

import (
	"context"
	"errors"
	"time"

	"hce/dc/internal/web/content"
	"hce/dc/internal/web/feed"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
)

// gatherFeed makes rows of the entries of a feed, by the rules of links: of
// FEED_PARSER pages that are crawled already, their content the entry; of RSS
// pages to be crawled, in the next pass if there is one (docs/spec/crawling.md 5.10). done is
// false for a page that is no feed; stored tells whether the feed itself is kept.
func (r *batchRun) gatherFeed(ctx context.Context, out *outcome, p page, text []byte, kind string, now time.Time) (done, stored bool) {
	parsed, err := feed.Parse(text, feed.Options{
		ContentType: declaredType(p.Header), Standard: p.settings.standardFeeds, ZeroItem: p.settings.feedAsEntry,
	})
	if errors.Is(err, feed.ErrNoFeed) {
		if !p.item.url.Root() { // what an entry leads to
			return false, true
		}
		out.bits |= wire.ErrRSSEmpty
		if content.IsHTML(kind) {
			out.bits |= wire.ErrUnsupportedType
		}
		// A site of feeds follows no other links.
		return true, true
	}
	p.item.feed = true
	if len(parsed.Items) == 0 && content.IsHTML(content.Normal(declaredType(p.Header))) {
		out.bits |= wire.ErrUnsupportedType
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
		c.take([]candidate{{url: e.URL}})
		if len(c.taken) > before {
			entries[c.taken[before].URL.URLMd5] = e
		}
	}
	c.finish()
	for final, found := range c.led {
		if e, ok := entries[found]; ok {
			entries[final] = e
		}
	}
	r.keepEntries(ctx, out, p, entries, now)
	if len(out.result.Links)+len(out.result.Elsewhere) == 0 {
		out.bits |= wire.ErrRSSEmpty
	}
	return true, p.settings.processor == rss
}

// dated asks the filters of an entry's date, which are SQL with %PDATE%, if the
// site has any (docs/spec/crawling.md 5.6).
func (r *batchRun) dated(ctx context.Context, p page, e feed.Entry) bool {
	if e.Date.IsZero() {
		return true
	}
	env := filter.Env{Now: r.Now(), Depth: int(p.url.Depth), SQL: r.condition(ctx, p, string(wire.DateOf(e.Date)))}
	return p.site.filters.AcceptSQL(filter.StageLinks, env)
}

// keepEntries completes the rows of entries as PROCESSOR_NAME says.
// An entry that was known before is not crawled again for being in the feed still.
func (r *batchRun) keepEntries(ctx context.Context, out *outcome, p page, entries map[string]feed.Entry, now time.Time) {
	iterates := p.settings.processor == rss && !r.last
	var there map[string]bool
	if iterates {
		there, iterates = r.knownLinks(ctx, p.item, out.result.Links)
	}
	for i := range out.result.Links {
		l := &out.result.Links[i]
		e, known := entries[l.URL.URLMd5]
		if !known {
			continue
		}
		l.URL.PDate = wire.DateOf(e.Date)
		if p.settings.processor == rss {
			l.URL.Type = wire.TypeSingle
			if iterates && !there[l.URL.URLMd5] {
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
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.ProcessingDelay = wire.TypeFetched, wire.StatusCrawled, 1, int64(p.Code), 0
		u.ContentType, u.Size, u.ContentMask = clipTo(e.ContentType, 32), int64(len(document)), 1
		if u.ContentType == "" {
			u.ContentType = "text/html" // what an entry leads to
		}
		u.BatchID, u.RawContentMd5 = r.batch.ID, md5Of(document)
		l.Files, l.At = []wire.File{{Type: wire.ContentRaw, Data: document}}, now
		if r.realTime() {
			p.item.extra = append(p.item.extra, p.item.next(*u))
		}
	}
}

// isRSS reports whether an item brought a feed whose entries later passes crawl.
func (it *item) isRSS() bool { return it.feed && it.settings.processor == rss }

// answered are the entries of feeds on their way into the answer: each URL once,
// and beyond one for each item no more than maxItems leaves room for.
type answered struct {
	brought map[chainKey]bool // pages that items of later passes come from
	met     map[chainKey]bool
	room    int64 // for more entries than items; -1: no limit
	cut     bool
}

func (r *batchRun) newEntries(work []*item) *answered {
	a := &answered{brought: map[chainKey]bool{}, met: map[chainKey]bool{}, room: -1}
	for _, it := range work {
		a.met[chainKey{it.SiteID, it.URLID}] = true
		if it.single && !(it.handedBack && r.batch.RemoveUnprocessed) {
			a.brought[chainKey{it.SiteID, it.url.ParentMd5}] = true
		}
	}
	if most := r.batch.MaxItems; most > 0 {
		a.room = max(most-int64(len(work)), 0)
	}
	return a
}

// of gives the entries that stand for an item; none when it stands for itself.
func (a *answered) of(it *item) []wire.BatchItem {
	var list []wire.BatchItem
	for _, e := range it.extra {
		key := chainKey{e.SiteID, e.URLID}
		if a.met[key] {
			continue
		}
		if len(list) > 0 {
			if a.room == 0 {
				a.cut = true
				break
			}
			if a.room > 0 {
				a.room--
			}
		}
		a.met[key] = true
		list = append(list, e)
	}
	return list
}
