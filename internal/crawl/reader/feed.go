package reader

import (
	"context"
	"errors"
	"time"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
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
func (r *Reader) gatherFeed(ctx context.Context, out *item.Outcome, p Page, text []byte, kind string, now time.Time) (done, stored bool) {
	parsed, err := feed.Parse(text, feed.Options{
		ContentType: visit.DeclaredType(p.Header), Standard: p.Settings.StandardFeeds, ZeroItem: p.Settings.FeedAsEntry,
	})
	if errors.Is(err, feed.ErrNoFeed) {
		if !p.Item.Row.Root() { // the page of an entry
			return false, true
		}
		out.Bits |= errormask.RSSEmpty
		if content.IsHTML(kind) {
			out.Bits |= errormask.UnsupportedType
		}
		// A site of feeds follows no other links.
		return true, true
	}
	p.Item.Feed = true
	if len(parsed.Items) == 0 && content.IsHTML(content.Normal(visit.DeclaredType(p.Header))) {
		out.Bits |= errormask.UnsupportedType
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
	if len(out.Result.Links)+len(out.Result.Elsewhere) == 0 {
		out.Bits |= errormask.RSSEmpty
	}
	return true, p.Settings.Processor == settings.RSS
}

// passesDateFilter checks the date of an entry against the site's SQL filters with %PDATE%
// (docs/spec/crawling.md 5.6).
func (r *Reader) passesDateFilter(ctx context.Context, p Page, e feed.Entry) bool {
	if e.Date.IsZero() {
		return true
	}
	env := filter.Env{Now: r.Env.Now(), Depth: int(p.Row.Depth), SQL: r.rowCondition(ctx, p, string(schema.DateOf(e.Date)))}
	return p.View.FilterSet.AcceptSQL(filter.StageLinks, env)
}

// keepEntries completes the rows of entries as PROCESSOR_NAME says. A known entry is not
// crawled again; with FEED_PARSER it gets the content of the feed if that has changed.
func (r *Reader) keepEntries(ctx context.Context, out *item.Outcome, p Page, entries map[string]feed.Entry, now time.Time) {
	iterates := p.Settings.Processor == settings.RSS && !r.Last
	var there map[string]bool
	if iterates {
		there, iterates = r.knownLinks(ctx, p.Item, out.Result.Links)
	}
	for i := range out.Result.Links {
		l := &out.Result.Links[i]
		e, known := entries[l.URL.URLMd5]
		if !known {
			continue
		}
		l.URL.PDate = schema.DateOf(e.Date)
		if p.Settings.Processor == settings.RSS {
			l.URL.Type = wire.TypeSingle
			if iterates && !there[l.URL.URLMd5] {
				p.Item.Found = append(p.Item.Found, p.Item.NextPassItem(l.URL))
			}
			continue
		}
		document, err := e.Document(l.URL.URLMd5, p.Row.URL, p.URLID)
		if err != nil {
			r.Env.Log.Warn("cannot store feed entry", "site", p.SiteID, "url", l.URL.URL, "error", err)
			continue
		}
		u := &l.URL
		u.Type, u.Status, u.Crawled, u.HTTPCode, u.ProcessingDelay = wire.TypeFetched, wire.StatusCrawled, 1, int64(p.Code), 0
		u.ContentType, u.Size, u.ContentMask = clipTo(e.ContentType, maxType), int64(len(document)), 1
		if u.ContentType == "" {
			u.ContentType = "text/html" // type of the page of an entry
		}
		u.BatchID, u.RawContentMd5 = r.Env.Batch.ID, wire.Md5(document)
		u.ContentDate, u.SettingsSum = schema.DateOf(now), p.Settings.Sum|wire.SumUnprocessed
		l.Files, l.At = []wire.File{{Type: wire.ContentRaw, Data: document}}, now
		if r.Env.RealTime() {
			p.Item.Extra = append(p.Item.Extra, p.Item.NextPassItem(*u))
		}
	}
}
