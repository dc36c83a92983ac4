package reader

import (
	"cmp"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"time"

	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/web/feed"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/sitemap"
)

// Sitemaps are crawled like pages. When a root page is crawled, the sitemaps that robots.txt
// or the site names become rows with a content type of their own. When a sitemap is crawled,
// its entries become rows. So a kill, a slow host or a large index needs no special care.

// offerSitemaps creates rows for the sitemaps that robots.txt or the site names, or that was found
// at its default place, when the page is a root. Filters do not apply to them.
func (r *Reader) offerSitemaps(out *item.Outcome, p Page, now time.Time) {
	if !p.Item.Row.Root() || p.Item.Single {
		return
	}
	named := p.Settings.Sitemaps
	if origin, _ := visit.SplitOrigin(p.FinalURL); p.Settings.RobotsSitemaps && p.Settings.Robots {
		rules := r.Env.KnownRules(origin)
		if rules == nil {
			rules = r.Env.KeptRobots(p.Item, origin)
		}
		if rules != nil {
			for _, text := range rules.Sitemaps() {
				if u, err := p.Settings.Schemes.Resolve(origin+"/", text); err == nil && visit.SiteOf(u) == visit.SiteOf(origin) {
					named = append(named[:len(named):len(named)], u)
				}
			}
		}
	}
	if p.Item.FoundSitemap != "" {
		named = append(named[:len(named):len(named)], p.Item.FoundSitemap)
	}
	r.addSitemapRows(out, p, named, now)
}

// addSitemapRows creates rows for sitemaps. A link or row with the same URL becomes a sitemap.
func (r *Reader) addSitemapRows(out *item.Outcome, p Page, urls []string, now time.Time) {
	if len(urls) == 0 {
		return
	}
	at := make(map[string]int, len(out.Result.Links))
	for i := range out.Result.Links {
		at[out.Result.Links[i].URL.URLMd5] = i
	}
	row := p.newURLRow(now)
	row.Depth, row.ContentType = p.Item.Row.Depth, item.SitemapType
	for _, target := range urls {
		key := urlkey.Sum(target)
		row.URL, row.URLMd5 = target, hex.EncodeToString(key[:])
		r.seen.Add(p.SiteID, key)
		i, there := at[row.URLMd5]
		if !there {
			i = len(out.Result.Links)
			out.Result.Links = append(out.Result.Links, wire.Link{URL: row})
			at[row.URLMd5] = i
		}
		l := &out.Result.Links[i]
		l.URL.ContentType = item.SitemapType
		update := schema.Patch{"ContentType": item.SitemapType}
		maps.Copy(update, l.Update)
		l.Update = update
	}
}

// gatherSitemap creates rows for the entries of a sitemap, by the rules of links. An entry
// brings its date and its priority (0 to 100, added to the priority of the sitemap's row).
// Entries of an index become sitemaps.
func (r *Reader) gatherSitemap(out *item.Outcome, p Page, now time.Time) {
	p.Item.Row.ContentType = item.SitemapType
	list, err := sitemap.Parse(p.Body, sitemap.Options{
		MaxBytes: r.Env.Config.MaxResourceSize, ContentType: visit.DeclaredType(p.Header), URL: p.Item.Base,
	})
	switch {
	case errors.Is(err, sitemap.ErrFeed):
		parsed, err := feed.Parse(p.Body, feed.Options{ContentType: visit.DeclaredType(p.Header), MaxItems: r.Env.Config.MaxLinks})
		if err == nil {
			list.Cut = parsed.Cut
			for _, e := range parsed.Items {
				list.Entries = append(list.Entries, sitemap.Entry{Loc: cmp.Or(e.URL, e.GUID), LastMod: e.Date, Priority: -1})
			}
		}
	case err != nil:
		r.Env.Log.Info("not a sitemap", "site", p.SiteID, "url", p.Row.URL)
		out.Bits |= errormask.UnsupportedType
		return
	}
	if list.Cut {
		r.cutLinks(out, p, "size of a sitemap", len(list.Entries))
	}
	if list.Index {
		var urls []string
		for _, e := range list.Entries {
			if u, err := p.Settings.Schemes.Resolve(p.Item.Base, e.Loc); err == nil && visit.SiteOf(u) == visit.SiteOf(p.Item.Base) && u != p.Row.URL {
				urls = append(urls, u)
			}
		}
		r.addSitemapRows(out, p, urls, now)
		return
	}
	c := r.newCollection(out, p, now)
	for _, e := range list.Entries {
		before := len(c.taken)
		c.checkCandidates([]candidate{{url: e.Loc}})
		if len(c.taken) == before {
			continue
		}
		u := &c.taken[before].URL
		if !e.LastMod.IsZero() {
			u.LastModified = schema.DateOf(e.LastMod)
		}
		if e.Priority >= 0 {
			u.Priority += int64(math.Round(e.Priority * 100))
		}
	}
	out.Result.Links = append(out.Result.Links, c.taken...)
}
