package crawl

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/web/links"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
	"hce/dc/robots"
)

// gatherLinks collects what the page refers to: links, entries of a feed or sitemap, and robots
// directives. It reports whether the page itself has to be stored.
func (r *batchRun) gatherLinks(ctx context.Context, out *outcome, p page, text []byte, kind string, now time.Time) (stored bool) {
	if content.IsHTML(kind) && !p.item.isSitemap() {
		found := scanLinks(text, kind, r.Config.MaxLinks)
		p.found = &found
	}
	asked := r.robotsDirectives(out, p)
	p.item.url.Canonical = p.canonicalOf()
	if p.settings.IsFeedSite() && p.row.Type != wire.TypeFetched && !content.IsBinary(kind) {
		if done, stored := r.gatherFeed(ctx, out, p, text, kind, now); done {
			return stored
		}
	}
	if p.item.isSitemap() {
		r.gatherSitemap(out, p, now)
		return true
	}
	if !asked.NoFollow && (content.IsText(kind) || content.IsXML(kind)) && p.url.Type != wire.TypeFetched {
		r.collectOutlinks(ctx, out, p, text, kind, now)
	}
	r.offerSitemaps(out, p, now)
	r.addNextPass(ctx, p.item, out.result.Links)
	return true
}

// noIndex is the attribute of URLs whose page must not be indexed.
const noIndex = "robots_noindex"

// robotsDirectives returns the robots directives of the page's meta elements and headers, as far as the
// site enables them. NoIndex becomes an attribute of the URL.
func (r *batchRun) robotsDirectives(out *outcome, p page) robots.Directives {
	var d robots.Directives
	if tags := p.Header.Values("X-Robots-Tag"); p.settings.RobotsHeader && len(tags) > 0 {
		d = robots.ParseTag(tags, p.settings.Agent)
	}
	if p.settings.RobotsMeta && p.found != nil {
		for _, m := range p.found.Robots {
			if robots.Addresses(m.Agent, p.settings.Agent) {
				d = d.Merge(robots.ParseMeta(m.Content))
			}
		}
	}
	u := &p.item.url
	u.RobotsMask, u.UnavailableAfter = robotsMask(d), ""
	if !d.UnavailableAfter.IsZero() {
		u.UnavailableAfter = schema.DateOf(d.UnavailableAfter)
	}
	switch {
	case d.NoIndex:
		out.result.Attributes = map[string]string{noIndex: "1"}
	case p.row.Crawled > 0:
		out.result.Attributes = map[string]string{noIndex: ""}
	}
	return d
}

// robotsMask returns the column RobotsMask.
func robotsMask(d robots.Directives) (mask int64) {
	if d.NoIndex {
		mask |= wire.RobotsNoIndex
	}
	if d.NoFollow {
		mask |= wire.RobotsNoFollow
	}
	if d.NoArchive {
		mask |= wire.RobotsNoArchive
	}
	return mask
}

// maxCanonical is the size of the column Canonical.
const maxCanonical = 4096

// canonicalOf returns the canonical URL that the page declares, in HTML or in a Link header: absolute, at most
// maxCanonical bytes, "" without one. An address in a header is relative to the page, not to its base element.
func (p page) canonicalOf() string {
	base, declared := p.item.baseURL, ""
	if p.found != nil && p.found.Canonical != "" {
		declared = p.found.Canonical
		if b, err := p.settings.Schemes.Resolve(base, p.found.Base); err == nil && p.found.Base != "" {
			base = b
		}
	}
	for _, l := range links.Header(p.Header.Values("Link")) {
		if declared == "" && slices.Contains(strings.Fields(l.Rel), "canonical") {
			declared = l.URL
		}
	}
	if declared == "" {
		return ""
	}
	target, err := p.settings.Schemes.Resolve(base, declared)
	if err != nil || len(target) > maxCanonical {
		return ""
	}
	return target
}

// isDuplicate reports whether the site leaves pages out that name another URL of its own domain as canonical,
// and this page is one.
func (p page) isDuplicate() bool {
	u := &p.item.url
	return p.settings.CanonicalOnly && u.Canonical != "" && urlkey.Of(u.Canonical) != p.URLID && siteOf(u.Canonical) == siteOf(u.URL)
}

// collectsLinks reports whether links of an item's page are collected. A site with
// PROCESSOR_NAME RSS follows only its feeds (docs/spec/crawling.md 5.1).
func collectsLinks(it *item) bool {
	return !it.single && it.url.Type != wire.TypeSingle && it.url.Type != wire.TypeChain && it.settings.Processor != settings.RSS
}

// candidate is a link that has to pass the checks of docs/spec/crawling.md 5.3.
type candidate struct {
	url    string
	method string // of a form; empty means get
	rel    string
}

// collectOutlinks finds the page's outlinks, counts them and creates rows for those that belong to
// the site, each once, in the order of the page (docs/spec/steps.md 1 #21, #22;
// docs/spec/crawling.md 5.3, 5.12). A base element changes the page's base URL.
func (r *batchRun) collectOutlinks(ctx context.Context, out *outcome, p page, text []byte, kind string, now time.Time) {
	if p.found == nil {
		found := scanLinks(text, kind, r.Config.MaxLinks)
		p.found = &found
	}
	found := *p.found
	if found.Cut {
		r.cutLinks(out, p, "max_links of crawler-task.ini", r.Config.MaxLinks)
	}
	home := siteOf(p.item.baseURL)
	own := p.item.baseURL
	if found.Base != "" {
		if base, err := p.settings.Schemes.Resolve(p.item.baseURL, found.Base); err == nil {
			p.item.baseURL = base
		}
	}
	c := r.newCollection(out, p, now)
	c.home = home
	if !collectsLinks(p.item) {
		c.chainOnly = true
		if p.settings.Chain == nil {
			return
		}
	}
	if p.settings.CollectForms {
		out.result.FormFields = formFields(found.Forms)
	}
	list := r.linkCandidates(ctx, out, p, found, text, kind, own)
	if most := 2 * r.Config.MaxLinks; len(list) > most {
		r.cutLinks(out, p, "max_links of crawler-task.ini, for all sources", most)
		list = list[:most]
	}
	c.checkCandidates(list)
	c.finishChecks()
}

// cutLinks says that a limit left out links of a page.
func (r *batchRun) cutLinks(out *outcome, p page, limit string, most int) {
	out.bits |= errormask.MaxURLsFromPage
	r.log.Warn("page has more links than a limit allows; left out the rest", "site", p.item.SiteID, "url", p.item.url.URL, "limit", limit, "links", most)
}

// scanLinks reads the links of a page of the given content type.
func scanLinks(text []byte, kind string, most int) links.Page {
	switch {
	case kind == "text/css":
		return links.CSS(text, most)
	case content.IsXML(kind) && !content.IsHTML(kind):
		return links.XML(text, most)
	}
	return links.HTML(text, most)
}

// linkCandidates returns the links of the page from the sources that its site selects: built-in
// attributes and headers, XPath, a macro (docs/spec/crawling.md 5.1). own is the URL of the
// page, without its base element.
func (r *batchRun) linkCandidates(ctx context.Context, out *outcome, p page, found links.Page, text []byte, kind, own string) []candidate {
	var list []candidate
	expressions, builtin := p.settings.XPaths.For(p.url.URL, r.Now())
	if builtin {
		for _, l := range found.Links {
			c := candidate{url: l.URL, rel: l.Rel}
			if l.Tag == "form" && p.settings.CollectForms {
				c.method = "get"
			}
			list = append(list, c)
		}
		for _, f := range found.Forms {
			if p.settings.CollectForms && f.Method == "post" && f.Action != "" {
				list = append(list, candidate{url: f.Action, method: f.Method})
			}
		}
		if found.Refresh != "" { // may be missing if the links were cut
			list = append(list, candidate{url: found.Refresh})
		}
		headers := append(links.Header(p.Header.Values("Link")), links.Addresses(p.Header.Values("Refresh"), p.Header.Values("Content-Location"))...)
		for _, h := range headers {
			// These are relative to the page, not to its base element.
			if target, err := p.settings.Schemes.Resolve(own, h.URL); err == nil {
				list = append(list, candidate{url: target, rel: h.Rel})
			}
		}
	}
	if builtin {
		list = r.renderedLinks(out, p, list)
	}
	for _, url := range r.byXPath(ctx, out, p, expressions, text, kind) {
		list = append(list, candidate{url: url})
	}
	if content.IsHTML(kind) {
		for i := range list {
			list[i].url = charset.EncodeQuery(list[i].url, p.item.url.Charset)
		}
	}
	for _, url := range p.urls {
		list = append(list, candidate{url: url})
	}
	return list
}

// renderedLinks adds the links of a page in a browser that are not in its document: those of
// shadow trees, frames and removed elements, and the requests of the page.
func (r *batchRun) renderedLinks(out *outcome, p page, list []candidate) []candidate {
	cut, most := p.cut, 2*r.Config.MaxLinks
	for _, part := range p.parts {
		found := links.HTML([]byte(part.HTML), r.Config.MaxLinks)
		cut = cut || found.Cut
		for _, l := range found.Links {
			// These are relative to a document of their own.
			if target, err := p.settings.Schemes.Resolve(part.Base, l.URL); err == nil && len(list) <= most {
				list = append(list, candidate{url: target, rel: l.Rel})
			}
		}
	}
	for _, url := range p.loads {
		list = append(list, candidate{url: url})
	}
	if cut {
		r.cutLinks(out, p, "frames and requests of a page in a browser", len(list))
	}
	return list
}

// byXPath returns the links that the expressions find. An invalid expression is logged and
// left out.
func (r *batchRun) byXPath(ctx context.Context, out *outcome, p page, expressions []string, text []byte, kind string) []string {
	if len(expressions) == 0 {
		return nil
	}
	parse := xpath.HTML
	if content.IsXML(kind) && !content.IsHTML(kind) {
		parse = xpath.XML
	}
	doc, err := parse(text)
	if err != nil {
		r.log.Warn("cannot parse page for XPath", "site", p.SiteID, "url", p.url.URL, "error", err)
		return nil
	}
	var urls []string
	for _, text := range expressions {
		expr, err := xpath.Compile(text)
		if err == nil {
			var more []string
			more, err = expr.Texts(ctx, doc, r.Config.MaxLinks+1)
			if len(more) > r.Config.MaxLinks {
				r.cutLinks(out, p, "max_links of crawler-task.ini, for an expression", r.Config.MaxLinks)
				more = more[:r.Config.MaxLinks]
			}
			urls = append(urls, more...)
		}
		if err != nil {
			r.log.Warn("left out invalid expression of COLLECT_URLS_XPATH_LIST", "site", p.SiteID, "url", p.url.URL, "error", err)
		}
	}
	return urls
}

// formFields returns the fields of a page's forms as properties of the site.
func formFields(forms []links.Form) map[string]string {
	fields := map[string]string{}
	for _, form := range forms {
		for _, f := range form.Fields {
			if _, known := fields[settings.FormPrefix+f.Name]; !known && f.Name != "" {
				fields[settings.FormPrefix+f.Name] = f.Value
			}
		}
	}
	return fields
}

// collection holds the links of one page while they are checked.
type collection struct {
	*batchRun
	page      page
	home      string // links of this site are internal
	now       time.Time
	env       filter.Env
	row       wire.URL // of a new link, without URL and key
	limit     int64    // maximum number of rows from this page; 0: no limit
	chainOnly bool     // only links that continue a chain are taken
	met       map[string]bool
	origins   map[string]*origin
	resolved  map[string]string // key of a link, by the key of the URL that it redirects to
	taken     []wire.Link       // passed all checks except the limits
	forbidden []wire.Link       // by robots.txt
	out       *outcome
}

func (r *batchRun) newCollection(out *outcome, p page, now time.Time) *collection {
	c := &collection{
		batchRun: r, page: p, home: siteOf(p.item.baseURL), now: now, env: filter.Env{Now: now, Depth: int(p.url.Depth)},
		row: p.newURLRow(now), met: map[string]bool{urlkey.NormalEscapes(p.url.URL): true}, origins: map[string]*origin{}, out: out,
	}
	schema.Apply(&c.row, wire.URLColumns, p.settings.FieldsInit.Patch(&p.site.Site, &p.item.url), schema.DateOf(now))
	c.limit = p.url.MaxURLsFromPage
	if c.limit <= 0 {
		c.limit = p.site.MaxURLsFromPage
	}
	if limit := p.settings.CollectLimits.For(p.url.URL); limit != nil {
		c.limit = *limit
	}
	return c
}

// origin is common to all links of a page to one scheme, host and port.
type origin struct {
	internal bool
	rules    *robots.Rules
}

// mostGrown bounds the memory that is reserved for the links of a page, in links.
const mostGrown = 128

// checkCandidates checks candidates one by one (docs/spec/crawling.md 5.3). finish makes the checks
// that need the whole list.
func (c *collection) checkCandidates(list []candidate) {
	set := c.page.settings
	u := &c.page.item.url
	if len(c.met) == 1 && len(list) > 1 { // the usual call with all links of a page
		c.met = make(map[string]bool, 1+len(list))
		c.met[urlkey.NormalEscapes(u.URL)] = true
		c.taken = slices.Grow(c.taken, min(len(list), mostGrown))
	}
	var text [2 * md5.Size]byte
	for _, l := range list {
		if refusedRel(l.rel, set.RefusedRel) {
			continue
		}
		target, err := set.Schemes.Resolve(c.page.item.baseURL, set.Normalize.Replace(l.url))
		if err == nil && set.Mask != canonical.Main {
			target, err = set.Schemes.Normalize(target, set.Mask)
		}
		if err != nil {
			continue
		}
		name := urlkey.NormalEscapes(target)
		if c.met[name] {
			continue
		}
		c.met[name] = true
		if set.Chain != nil && set.Chain.MatchString(target) && c.ownsURL(target) {
			c.continueChain(target)
			continue
		}
		if c.chainOnly {
			continue
		}
		name, path := splitOrigin(target)
		o := c.origins[name]
		if o == nil {
			o = &origin{internal: siteOf(target) == c.home, rules: c.linkRules(c.page.item, name)}
			c.origins[name] = o
		}
		if o.internal {
			u.LinksI++
		} else {
			u.LinksE++
		}
		key := urlkey.Sum(target)
		if !c.seen.hasLink(c.page.SiteID, key) { // a link that was seen has passed
			ok, forbidden := c.passesFilters(target, path, o)
			if forbidden {
				c.addForbidden(target)
			}
			if !ok {
				continue
			}
			c.seen.addLink(c.page.SiteID, key)
		}
		row := c.row
		hex.Encode(text[:], key[:])
		row.URL, row.URLMd5 = target, string(text[:])
		if l.method != "" {
			row.HTTPMethod = l.method
		}
		link := wire.Link{URL: row}
		if update := set.Recrawl.For(target); update != nil {
			link.Update = *update
		}
		c.taken = append(c.taken, link)
	}
}

// passesFilters checks a link against the filters and a robots.txt that is already known. It reports whether
// only the robots.txt refuses it.
func (c *collection) passesFilters(target, path string, o *origin) (ok, forbidden bool) {
	filters := c.page.site.filters
	if filters.Has(filter.StageProtocol) && !filters.Accept(filter.StageProtocol, target, c.env) {
		return false, false
	}
	if !filters.Accept(linkStage, target, c.env) {
		return false, false
	}
	ok, _ = o.rules.Allowed(c.page.settings.Agent, path)
	return ok, !ok
}

// addForbidden notes a link that robots.txt forbids as a row that was never requested, so that it can be counted
// and listed. The limits of the site do not count such rows.
func (c *collection) addForbidden(target string) {
	if !c.page.settings.RobotsNotes || len(c.forbidden) >= c.Config.MaxLinks {
		return
	}
	row := c.row
	row.URL, row.URLMd5 = target, urlkey.Of(target)
	row.Status, row.State, row.ErrorMask, row.HTTPCode = wire.StatusCrawled, wire.URLError, errormask.Robots, http.StatusBadRequest
	c.forbidden = append(c.forbidden, wire.Link{URL: row})
}

// settings.RefusedRel reports whether a rel attribute contains a refused word.
func refusedRel(rel string, refused []string) bool {
	if rel == "" || len(refused) == 0 {
		return false
	}
	for word := range strings.FieldsSeq(rel) {
		if slices.Contains(refused, strings.ToLower(word)) {
			return true
		}
	}
	return false
}

// finishChecks makes the checks that need the whole list: requests for links, the limits of the
// page, and the site of each link.
func (c *collection) finishChecks() {
	list := c.probeLinks(c.page.requests, c.taken)
	c.postponeTraps(c.page.item, list)
	if c.limit > 0 && int64(len(list)) > c.limit {
		c.cutLinks(c.out, c.page, "maxURLsFromPage or COLLECT_URLS_LIMITS", int(c.limit))
		list = list[:c.limit]
	}
	choose, elsewhere := map[int64]int64{wire.TypeRegularExt: wire.SelectQualify, wire.TypeNewSite: wire.SelectAuto}[c.page.row.Type]
	if !elsewhere {
		list = append(list, c.forbidden...)
		if c.out.result.Links == nil {
			c.out.result.Links = list
		} else { // parts of a chain
			c.out.result.Links = append(c.out.result.Links, list...)
		}
		return
	}
	for _, l := range list {
		if name, _ := splitOrigin(l.URL.URL); !c.isInternal(name) {
			c.out.result.Elsewhere, c.out.result.Select = append(c.out.result.Elsewhere, l), choose
			continue
		}
		c.out.result.Links = append(c.out.result.Links, l)
	}
}

func (c *collection) isInternal(name string) bool {
	o := c.origins[name]
	return o == nil || o.internal
}

// addNextPass makes the new rows of a page items of the next pass, if its item has depth left
// (docs/spec/crawling.md 1.3, 1.5). They have depth 0. Known rows are not crawled again.
func (r *batchRun) addNextPass(ctx context.Context, it *item, rows []wire.Link) {
	if r.last || it.Depth <= 0 || len(rows) == 0 {
		return
	}
	known, ok := r.knownLinks(ctx, it, rows)
	if !ok {
		return
	}
	for _, row := range rows {
		if !known[row.URL.URLMd5] && row.URL.Status == wire.StatusNew && !row.Chain {
			it.found = append(it.found, it.nextPassItem(row.URL))
		}
	}
}

// knownLinks reports which rows existed before. ok is false if the repository failed. For a
// batch that may not write, no row is known.
func (r *batchRun) knownLinks(ctx context.Context, it *item, rows []wire.Link) (known map[string]bool, ok bool) {
	if !r.mayWrite() || len(rows) == 0 {
		return nil, true
	}
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = rows[i].URL.URLMd5
	}
	known, err := r.Data.KnownURLs(ctx, it.SiteID, keys)
	if err != nil && !isSiteGone(err) {
		r.dataFailed(it, err)
	}
	return known, err == nil
}

// nextPassItem returns an item of the next pass for a URL that this item found.
func (it *item) nextPassItem(u wire.URL) wire.BatchItem {
	return wire.BatchItem{SiteID: it.SiteID, URLID: u.URLMd5, URL: u, Properties: it.Properties, Site: it.Site}
}

// linkRules returns the robots.txt rules for links to an origin, if they are already known. A
// link alone never causes a request for robots.txt.
func (r *batchRun) linkRules(it *item, origin string) *robots.Rules {
	if it.settings.Robots && it.settings.RobotsLinks {
		if kept := r.keptRobots(it, origin); kept != nil {
			return kept
		}
		if rules := r.knownRules(origin); rules != nil {
			return rules
		}
	}
	return &robots.Rules{}
}

// newURLRow returns the row of a new URL without URL and key: type, delay and timeout of the
// site, depth and priority of the page (docs/spec/crawling.md 5.12, 7.1 #14).
func (p page) newURLRow(now time.Time) wire.URL {
	u := wire.NewURL(p.SiteID, "")
	date := schema.DateOf(now)
	u.Type, u.RequestDelay, u.HTTPTimeout = p.site.URLType, p.site.RequestDelay, p.site.HTTPTimeout
	u.ProcessingDelay, u.MaxURLsFromPage = p.site.ProcessingDelay, p.site.MaxURLsFromPage
	u.ParentMd5, u.Depth, u.Priority = p.URLID, p.item.url.Depth+1, p.item.url.Priority
	u.CDate, u.UDate, u.TcDate = date, date, date
	return u
}

// siteOf returns the registrable domain of a URL, or its host if there is no such domain
// (docs/spec/crawling.md F48).
func siteOf(target string) string {
	host := canonical.Host(target)
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}
