package crawl

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/publicsuffix"

	"hce/dc/internal/canon"
	"hce/dc/internal/dc"
	"hce/dc/internal/extract/links"
	"hce/dc/internal/filter"
	"hce/dc/internal/robots"
)

// collects reports whether links are collected from an item's page.
func collects(it *item) bool {
	return !it.single && it.url.Type != dc.TypeSingle && it.url.Type != dc.TypeChain
}

// collect finds the page's outlinks, counts them and makes rows of those that
// belong to the site, each once in the batch, in the order of the page (seed,
// crawler steps 21, 22; crawling 5.3, 5.12). The page's base URL becomes that of
// its base element.
func (r *batchRun) collect(ctx context.Context, p page, text []byte, kind string, now time.Time) []dc.Link {
	scan := links.HTML
	switch {
	case kind == "text/css":
		scan = links.CSS
	case isXML(kind) && !strings.Contains(kind, "html"):
		scan = links.XML
	}
	found := scan(text, r.Config.MaxLinks)
	if found.Cut {
		r.log.Warn("the page has more links than max_links; the rest is left out", "site", p.item.SiteID, "url", p.item.url.URL, "max_links", r.Config.MaxLinks)
	}
	if found.Refresh != nil { // may be missing where the links were cut
		found.Links = append(found.Links, links.Link{URL: found.Refresh.URL})
	}
	home := siteOf(p.item.baseURL)
	if found.Base != "" {
		if base, err := p.settings.schemes.Resolve(p.item.baseURL, found.Base); err == nil {
			p.item.baseURL = base
		}
	}
	u := &p.item.url
	limit := u.MaxURLsFromPage
	if limit <= 0 {
		limit = p.site.MaxURLsFromPage
	}
	var (
		env     = filter.Env{Now: now, Depth: int(u.Depth)}
		row     = p.discovered(now)
		met     = map[string]bool{u.URL: true}
		origins = map[string]*origin{}
		taken   int64
		rows    []dc.Link
	)
	for _, l := range found.Links {
		target, err := p.settings.schemes.Resolve(p.item.baseURL, l.URL)
		if err == nil && p.settings.mask != canon.Main {
			target, err = p.settings.schemes.Normalize(target, p.settings.mask)
		}
		if err != nil || met[target] {
			continue
		}
		met[target] = true
		name, path := split(target)
		o := origins[name]
		if o == nil {
			o = &origin{internal: siteOf(target) == home, rules: r.linkRules(p.settings, name)}
			origins[name] = o
		}
		if o.internal {
			u.LinksI++
		} else {
			u.LinksE++
		}
		if limit > 0 && taken >= limit {
			continue
		}
		key := md5.Sum([]byte(target))
		if r.seen.has(p.SiteID, key) { // and was let in
			taken++
			continue
		}
		if !p.site.filters.Accept(linkStage, target, env) {
			continue
		}
		if ok, _ := o.rules.Allowed(r.Config.RobotsAgent, path); !ok {
			continue
		}
		taken++
		if r.seen.add(p.SiteID, key) {
			row.URL, row.URLMd5 = target, hex.EncodeToString(key[:])
			rows = append(rows, dc.Link{URL: row})
		}
	}
	r.iterate(ctx, p.item, rows)
	return rows
}

// iterate makes new rows of a page items of the next pass, if its item has depth
// left (crawling 1.3, 1.5). They are of no depth themselves. Rows that were known
// before are not crawled again.
func (r *batchRun) iterate(ctx context.Context, it *item, rows []dc.Link) {
	if r.last || it.Depth <= 0 || len(rows) == 0 {
		return
	}
	var known map[string]bool
	if r.writes() {
		keys := make([]string, len(rows))
		for i := range rows {
			keys[i] = rows[i].URL.URLMd5
		}
		var err error
		if known, err = r.Data.KnownURLs(ctx, it.SiteID, keys); err != nil {
			if !gone(err) {
				r.fail(fmt.Errorf("crawl.iterate: site %s: %w", it.SiteID, err))
			}
			return
		}
	}
	for _, row := range rows {
		if !known[row.URL.URLMd5] {
			it.found = append(it.found, dc.BatchItem{
				SiteID: it.SiteID, URLID: row.URL.URLMd5, URL: row.URL, Properties: it.Properties, Site: it.Site,
			})
		}
	}
}

// origin is what all links of a page to one scheme, host and port share.
type origin struct {
	internal bool
	rules    *robots.Rules
}

// linkRules are the rules that links to an origin are judged by: those that are
// known already, as a link is no reason to ask a host for its robots.txt.
func (r *batchRun) linkRules(s *settings, origin string) *robots.Rules {
	if s.robots && s.robotsLinks {
		if rules := r.known(origin); rules != nil {
			return rules
		}
	}
	return &robots.Rules{}
}

// discovered is the row of a new URL, all but the URL and its key: type, delay
// and time-out from the site, depth and priority from the page (crawling 5.12,
// 7.1 #14).
func (p page) discovered(now time.Time) dc.URL {
	u := dc.NewURL(p.SiteID, "")
	date := dc.DateOf(now)
	u.Type, u.RequestDelay, u.HTTPTimeout = p.site.URLType, p.site.RequestDelay, p.site.HTTPTimeout
	u.ProcessingDelay, u.MaxURLsFromPage = p.site.ProcessingDelay, p.site.MaxURLsFromPage
	u.ParentMd5, u.Depth, u.Priority = p.URLID, p.item.url.Depth+1, p.item.url.Priority
	u.CDate, u.UDate, u.TcDate = date, date, date
	return u
}

// siteOf is what links are called internal by: the registrable domain, or the
// host where there is none (crawling F48).
func siteOf(target string) string {
	host := canon.Host(target)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}

// maxSeen bounds the links of a batch that are remembered. Beyond it links are
// offered again, which the data owner bears.
const maxSeen = 1 << 20

// seenLinks are the links that a batch has offered to the data owner, by site and
// key. The zero value is ready; it is safe for many goroutines.
type seenLinks struct {
	mu    sync.Mutex
	sites map[string]map[[md5.Size]byte]struct{}
	count int
}

func (s *seenLinks) has(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sites[site][key]
	return ok
}

// add reports whether the link is new.
func (s *seenLinks) add(site string, key [md5.Size]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.sites[site][key]; ok {
		return false
	}
	if s.sites == nil || s.count >= maxSeen {
		s.sites, s.count = map[string]map[[md5.Size]byte]struct{}{}, 0
	}
	keys := s.sites[site]
	if keys == nil {
		keys = map[[md5.Size]byte]struct{}{}
		s.sites[site] = keys
	}
	keys[key] = struct{}{}
	s.count++
	return true
}
