package crawl

import (
	"context"
	"errors"
	"time"

	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/feed"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// gatherFeed creates rows for the entries of a feed, by the rules of links
// (docs/spec/crawling.md 5.10). With FEED_PARSER they are crawled already: the entry is
// their content. With RSS they are crawled in the next pass, or later. done is false if the
// page is not a feed. stored reports whether the feed itself has to be stored.
func (r *batchRun) gatherFeed(ctx context.Context, out *outcome, p page, text []byte, kind string, now time.Time) (done, stored bool) {
	parsed, err := feed.Parse(text, feed.Options{
		ContentType: declaredType(p.Header), Standard: p.settings.StandardFeeds, ZeroItem: p.settings.FeedAsEntry,
	})
	if errors.Is(err, feed.ErrNoFeed) {
		if !p.item.url.Root() { // the page of an entry
			return false, true
		}
		out.bits |= errormask.RSSEmpty
		if content.IsHTML(kind) {
			out.bits |= errormask.UnsupportedType
		}
		// A site of feeds follows no other links.
		return true, true
	}
	p.item.feed = true
	if len(parsed.Items) == 0 && content.IsHTML(content.Normal(declaredType(p.Header))) {
		out.bits |= errormask.UnsupportedType
	}
	if parsed.Cut {
		r.cutLinks(out, p, "size of a feed", len(parsed.Items))
	}
	c := r.newCollection(out, p, now)
	entries := map[string]feed.Entry{} // by key of the row
	for _, e := range parsed.Items {
		if e.URL == "" || !r.passesDateFilter(ctx, p, e) {
			continue
		}
		before := len(c.taken)
		c.checkCandidates([]candidate{{url: e.URL}})
		if len(c.taken) > before {
			entries[c.taken[before].URL.URLMd5] = e
		}
	}
	c.finishChecks()
	for final, found := range c.resolved {
		if e, ok := entries[found]; ok {
			entries[final] = e
		}
	}
	r.keepEntries(ctx, out, p, entries, now)
	if len(out.result.Links)+len(out.result.Elsewhere) == 0 {
		out.bits |= errormask.RSSEmpty
	}
	return true, p.settings.Processor == settings.RSS
}

// passesDateFilter checks the date of an entry against the site's SQL filters with %PDATE%
// (docs/spec/crawling.md 5.6).
func (r *batchRun) passesDateFilter(ctx context.Context, p page, e feed.Entry) bool {
	if e.Date.IsZero() {
		return true
	}
	env := filter.Env{Now: r.Now(), Depth: int(p.url.Depth), SQL: r.rowCondition(ctx, p, string(schema.DateOf(e.Date)))}
	return p.site.filters.AcceptSQL(filter.StageLinks, env)
}

// keepEntries completes the rows of entries as PROCESSOR_NAME says. A known entry is not
// crawled again; with FEED_PARSER it gets the content of the feed if that has changed.
func (r *batchRun) keepEntries(ctx context.Context, out *outcome, p page, entries map[string]feed.Entry, now time.Time) {
	iterates := p.settings.Processor == settings.RSS && !r.last
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
		l.URL.PDate = schema.DateOf(e.Date)
		if p.settings.Processor == settings.RSS {
			l.URL.Type = wire.TypeSingle
			if iterates && !there[l.URL.URLMd5] {
				p.item.found = append(p.item.found, p.item.nextPassItem(l.URL))
			}
			continue
		}
		document, err := e.Document(l.URL.URLMd5, p.url.URL, p.URLID)
		if err != nil {
			r.log.Warn("cannot store feed entry", "site", p.SiteID, "url", l.URL.URL, "error", err)
			continue
		}
		u := &l.URL
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.ProcessingDelay = wire.TypeFetched, wire.StatusCrawled, 1, int64(p.Code), 0
		u.ContentType, u.Size, u.ContentMask = clipTo(e.ContentType, maxType), int64(len(document)), 1
		if u.ContentType == "" {
			u.ContentType = "text/html" // type of the page of an entry
		}
		u.BatchID, u.RawContentMd5 = r.batch.ID, wire.Md5(document)
		u.ContentDate, u.SettingsSum = schema.DateOf(now), p.settings.Sum|wire.SumUnprocessed
		l.Files, l.At = []wire.File{{Type: wire.ContentRaw, Data: document}}, now
		if r.realTime() {
			p.item.extra = append(p.item.extra, p.item.nextPassItem(*u))
		}
	}
}

// isRSS reports whether the item is a feed whose entries are crawled by later passes.
func (it *item) isRSS() bool { return it.feed && it.settings.Processor == settings.RSS }

// answered selects the entries of feeds for the answer: each URL once. Entries in excess of
// one per item are limited by maxItems.
type answered struct {
	brought map[chainKey]bool // pages that items of later passes come from
	met     map[chainKey]bool
	room    int64 // for entries in excess of items; -1: no limit
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

// entriesFor returns the entries that replace an item in the answer, or nil.
func (a *answered) entriesFor(it *item) []wire.BatchItem {
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
