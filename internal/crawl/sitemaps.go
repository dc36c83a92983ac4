package crawl

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"maps"
	"math"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/robotscache"
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
func (r *batchRun) offerSitemaps(out *outcome, p page, now time.Time) {
	if !p.item.url.Root() || p.item.single {
		return
	}
	named := p.settings.Sitemaps
	if origin, _ := splitOrigin(p.FinalURL); p.settings.RobotsSitemaps && p.settings.Robots {
		rules := r.knownRules(origin)
		if rules == nil {
			rules = r.keptRobots(p.item, origin)
		}
		if rules != nil {
			for _, text := range rules.Sitemaps() {
				if u, err := p.settings.Schemes.Resolve(origin+"/", text); err == nil && siteOf(u) == siteOf(origin) {
					named = append(named[:len(named):len(named)], u)
				}
			}
		}
	}
	if p.item.mapFound != "" {
		named = append(named[:len(named):len(named)], p.item.mapFound)
	}
	r.addSitemapRows(out, p, named, now)
}

// settings.DefaultSitemap is the place of a sitemap that robots.txt and the site do not name.
const defaultSitemap = "/sitemap.xml"

// sitemapTries is how often a root page is asked for before its default sitemap is done without.
const sitemapTries = 3

// findSitemap requests the default sitemap of a root page's origin, once in a batch, if its
// robots.txt names none. Only a sitemap that exists becomes a row. A client that waits for the
// batch did not ask for it. An error means that the item is put off, because the sitemap may come later.
func (v *visit) findSitemap(ctx context.Context, target string) error {
	set := v.settings
	origin, _ := splitOrigin(target)
	if !v.item.url.Root() || v.item.single || v.item.isSitemap() || !v.mayWrite() || !set.DefaultSitemap || !set.RobotsSitemaps || !set.Robots {
		return nil
	}
	rules := v.knownRules(origin)
	if kept := v.keptRobots(v.item, origin); kept != nil {
		rules = kept
	}
	if rules == nil || len(rules.Sitemaps()) > 0 {
		return nil
	}
	if ok, _ := rules.Allowed(v.settings.Agent, defaultSitemap); !ok {
		return nil
	}
	if _, asked := v.mapsAsked.LoadOrStore(chainKey{v.item.SiteID, origin}, true); asked {
		return nil
	}
	if err := v.enterGates(ctx, target); err != nil {
		return nil
	}
	defer v.leaveAll()
	r := v.newRequest(origin+defaultSitemap, v.cookieStage())
	r.MaxBytes = robotscache.MaxBytes
	r.Allow = v.checkRedirect
	response, err := v.sendRequest(v.running, r)
	if v.mayReturn(min(sitemapTries, v.retryTable()[v.trouble.cause].Attempts)) {
		v.mapsAsked.Delete(chainKey{v.item.SiteID, origin})
		return refusal{back: true, reason: "the default sitemap of " + origin + " is not available yet"}
	}
	if err != nil {
		fault, ok := errors.AsType[*fetch.Fault](err)
		if !ok || fault.Kind != fetch.TooLarge || fault.Partial == nil {
			return nil
		}
		response = fault.Partial // its beginning is enough
		response.Code = fault.Code
	}
	if !wire.IsPageCode(int64(response.Code)) {
		return nil
	}
	_, err = sitemap.Parse(response.Body, sitemap.Options{MaxEntries: 1, MaxBytes: robotscache.MaxBytes, ContentType: declaredType(response.Header)})
	found, bad := set.Schemes.Canonical(response.FinalURL)
	if (err == nil || errors.Is(err, sitemap.ErrFeed)) && bad == nil && siteOf(found) == siteOf(target) {
		v.item.mapFound = found
	}
	return nil
}

// addSitemapRows creates rows for sitemaps. A link or row with the same URL becomes a sitemap.
func (r *batchRun) addSitemapRows(out *outcome, p page, urls []string, now time.Time) {
	if len(urls) == 0 {
		return
	}
	at := make(map[string]int, len(out.result.Links))
	for i := range out.result.Links {
		at[out.result.Links[i].URL.URLMd5] = i
	}
	row := p.newURLRow(now)
	row.Depth, row.ContentType = p.item.url.Depth, sitemapType
	for _, target := range urls {
		key := urlkey.Sum(target)
		row.URL, row.URLMd5 = target, hex.EncodeToString(key[:])
		r.seen.addLink(p.SiteID, key)
		i, there := at[row.URLMd5]
		if !there {
			i = len(out.result.Links)
			out.result.Links = append(out.result.Links, wire.Link{URL: row})
			at[row.URLMd5] = i
		}
		l := &out.result.Links[i]
		l.URL.ContentType = sitemapType
		update := schema.Patch{"ContentType": sitemapType}
		maps.Copy(update, l.Update)
		l.Update = update
	}
}

// gatherSitemap creates rows for the entries of a sitemap, by the rules of links. An entry
// brings its date and its priority (0 to 100, added to the priority of the sitemap's row).
// Entries of an index become sitemaps.
func (r *batchRun) gatherSitemap(out *outcome, p page, now time.Time) {
	p.item.url.ContentType = sitemapType
	list, err := sitemap.Parse(p.Body, sitemap.Options{
		MaxBytes: r.Config.MaxResourceSize, ContentType: declaredType(p.Header), URL: p.item.baseURL,
	})
	switch {
	case errors.Is(err, sitemap.ErrFeed):
		parsed, err := feed.Parse(p.Body, feed.Options{ContentType: declaredType(p.Header), MaxItems: r.Config.MaxLinks})
		if err == nil {
			list.Cut = parsed.Cut
			for _, e := range parsed.Items {
				list.Entries = append(list.Entries, sitemap.Entry{Loc: cmp.Or(e.URL, e.GUID), LastMod: e.Date, Priority: -1})
			}
		}
	case err != nil:
		r.log.Info("not a sitemap", "site", p.SiteID, "url", p.url.URL)
		out.bits |= errormask.UnsupportedType
		return
	}
	if list.Cut {
		r.cutLinks(out, p, "size of a sitemap", len(list.Entries))
	}
	if list.Index {
		var urls []string
		for _, e := range list.Entries {
			if u, err := p.settings.Schemes.Resolve(p.item.baseURL, e.Loc); err == nil && siteOf(u) == siteOf(p.item.baseURL) && u != p.url.URL {
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
	out.result.Links = append(out.result.Links, c.taken...)
}
