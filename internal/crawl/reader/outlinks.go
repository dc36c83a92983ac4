package reader

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
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
func (r *Reader) gatherLinks(ctx context.Context, out *item.Outcome, p Page, text []byte, kind string, now time.Time) (stored bool) {
	if content.IsHTML(kind) && !p.Item.IsSitemap() {
		found := scanLinks(text, kind, r.Env.Config.MaxLinks)
		p.found = &found
	}
	asked := r.robotsDirectives(out, p)
	p.Item.Row.Canonical = p.canonicalOf()
	if p.Settings.IsFeedSite() && p.Before.Type != wire.TypeFetched && !content.IsBinary(kind) {
		if done, stored := r.gatherFeed(ctx, out, p, text, kind, now); done {
			return stored
		}
	}
	if p.Item.IsSitemap() {
		r.gatherSitemap(out, p, now)
		return true
	}
	if !asked.NoFollow && (content.IsText(kind) || content.IsXML(kind)) && p.Row.Type != wire.TypeFetched {
		r.collectOutlinks(ctx, out, p, text, kind, now)
	}
	r.offerSitemaps(out, p, now)
	r.addNextPass(ctx, p.Item, out.Result.Links)
	return true
}

// noIndex is the attribute of URLs whose page must not be indexed.
const noIndex = "robots_noindex"

// robotsDirectives returns the robots directives of the page's meta elements and headers, as far as the
// site enables them. NoIndex becomes an attribute of the URL.
func (r *Reader) robotsDirectives(out *item.Outcome, p Page) robots.Directives {
	var d robots.Directives
	if tags := p.Header.Values("X-Robots-Tag"); p.Settings.RobotsHeader && len(tags) > 0 {
		d = robots.ParseTag(tags, p.Settings.Agent)
	}
	if p.Settings.RobotsMeta && p.found != nil {
		for _, m := range p.found.Robots {
			if robots.Addresses(m.Agent, p.Settings.Agent) {
				d = d.Merge(robots.ParseMeta(m.Content))
			}
		}
	}
	u := &p.Item.Row
	u.RobotsMask, u.UnavailableAfter = robotsMask(d), ""
	if !d.UnavailableAfter.IsZero() {
		u.UnavailableAfter = schema.DateOf(d.UnavailableAfter)
	}
	switch {
	case d.NoIndex:
		out.Result.Attributes = map[string]string{noIndex: "1"}
	case p.Before.Crawled > 0:
		out.Result.Attributes = map[string]string{noIndex: ""}
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
func (p Page) canonicalOf() string {
	base, declared := p.Item.Base, ""
	if p.found != nil && p.found.Canonical != "" {
		declared = p.found.Canonical
		if b, err := p.Settings.Schemes.Resolve(base, p.found.Base); err == nil && p.found.Base != "" {
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
	target, err := p.Settings.Schemes.Resolve(base, declared)
	if err != nil || len(target) > maxCanonical {
		return ""
	}
	return target
}

// isDuplicate reports whether the site leaves pages out that name another URL of its own domain as canonical,
// and this page is one.
func (p Page) isDuplicate() bool {
	u := &p.Item.Row
	return p.Settings.CanonicalOnly && u.Canonical != "" && urlkey.Of(u.Canonical) != p.URLID && visit.SiteOf(u.Canonical) == visit.SiteOf(u.URL)
}

// collectsLinks reports whether links of an item's page are collected. A site with
// PROCESSOR_NAME RSS follows only its feeds (docs/spec/crawling.md 5.1).
func collectsLinks(it *item.Item) bool {
	return !it.Single && it.Row.Type != wire.TypeSingle && it.Row.Type != wire.TypeChain && it.Settings.Processor != settings.RSS
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
func (r *Reader) collectOutlinks(ctx context.Context, out *item.Outcome, p Page, text []byte, kind string, now time.Time) {
	if p.found == nil {
		found := scanLinks(text, kind, r.Env.Config.MaxLinks)
		p.found = &found
	}
	found := *p.found
	if found.Cut {
		r.cutLinks(out, p, "max_links of crawler-task.ini", r.Env.Config.MaxLinks)
	}
	home := visit.SiteOf(p.Item.Base)
	own := p.Item.Base
	if found.Base != "" {
		if base, err := p.Settings.Schemes.Resolve(p.Item.Base, found.Base); err == nil {
			p.Item.Base = base
		}
	}
	c := r.newCollection(out, p, now)
	c.home = home
	if !collectsLinks(p.Item) {
		c.chainOnly = true
		if p.Settings.Chain == nil {
			return
		}
	}
	if p.Settings.CollectForms {
		out.Result.FormFields = formFields(found.Forms)
	}
	list := r.linkCandidates(ctx, out, p, found, text, kind, own)
	if most := 2 * r.Env.Config.MaxLinks; len(list) > most {
		r.cutLinks(out, p, "max_links of crawler-task.ini, for all sources", most)
		list = list[:most]
	}
	c.checkCandidates(list)
	c.finishChecks()
}

// cutLinks says that a limit left out links of a page.
func (r *Reader) cutLinks(out *item.Outcome, p Page, limit string, most int) {
	out.Bits |= errormask.MaxURLsFromPage
	r.Env.Log.Warn("page has more links than a limit allows; left out the rest", "site", p.Item.SiteID, "url", p.Item.Row.URL, "limit", limit, "links", most)
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
func (r *Reader) linkCandidates(ctx context.Context, out *item.Outcome, p Page, found links.Page, text []byte, kind, own string) []candidate {
	var list []candidate
	expressions, builtin := p.Settings.XPaths.For(p.Row.URL, r.Env.Now())
	if builtin {
		for _, l := range found.Links {
			c := candidate{url: l.URL, rel: l.Rel}
			if l.Tag == "form" && p.Settings.CollectForms {
				c.method = "get"
			}
			list = append(list, c)
		}
		for _, f := range found.Forms {
			if p.Settings.CollectForms && f.Method == "post" && f.Action != "" {
				list = append(list, candidate{url: f.Action, method: f.Method})
			}
		}
		if found.Refresh != "" { // may be missing if the links were cut
			list = append(list, candidate{url: found.Refresh})
		}
		headers := append(links.Header(p.Header.Values("Link")), links.Addresses(p.Header.Values("Refresh"), p.Header.Values("Content-Location"))...)
		for _, h := range headers {
			// These are relative to the page, not to its base element.
			if target, err := p.Settings.Schemes.Resolve(own, h.URL); err == nil {
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
			list[i].url = charset.EncodeQuery(list[i].url, p.Item.Row.Charset)
		}
	}
	for _, url := range p.MacroURLs {
		list = append(list, candidate{url: url})
	}
	return list
}

// renderedLinks adds the links of a page in a browser that are not in its document: those of
// shadow trees, frames and removed elements, and the requests of the page.
func (r *Reader) renderedLinks(out *item.Outcome, p Page, list []candidate) []candidate {
	cut, most := p.Cut, 2*r.Env.Config.MaxLinks
	for _, part := range p.Parts {
		found := links.HTML([]byte(part.HTML), r.Env.Config.MaxLinks)
		cut = cut || found.Cut
		for _, l := range found.Links {
			// These are relative to a document of their own.
			if target, err := p.Settings.Schemes.Resolve(part.Base, l.URL); err == nil && len(list) <= most {
				list = append(list, candidate{url: target, rel: l.Rel})
			}
		}
	}
	for _, url := range p.Loads {
		list = append(list, candidate{url: url})
	}
	if cut {
		r.cutLinks(out, p, "frames and requests of a page in a browser", len(list))
	}
	return list
}

// byXPath returns the links that the expressions find. An invalid expression is logged and
// left out.
func (r *Reader) byXPath(ctx context.Context, out *item.Outcome, p Page, expressions []string, text []byte, kind string) []string {
	if len(expressions) == 0 {
		return nil
	}
	parse := xpath.HTML
	if content.IsXML(kind) && !content.IsHTML(kind) {
		parse = xpath.XML
	}
	doc, err := parse(text)
	if err != nil {
		r.Env.Log.Warn("cannot parse page for XPath", "site", p.SiteID, "url", p.Row.URL, "error", err)
		return nil
	}
	var urls []string
	for _, text := range expressions {
		expr, err := xpath.Compile(text)
		if err == nil {
			var more []string
			more, err = expr.Texts(ctx, doc, r.Env.Config.MaxLinks+1)
			if len(more) > r.Env.Config.MaxLinks {
				r.cutLinks(out, p, "max_links of crawler-task.ini, for an expression", r.Env.Config.MaxLinks)
				more = more[:r.Env.Config.MaxLinks]
			}
			urls = append(urls, more...)
		}
		if err != nil {
			r.Env.Log.Warn("left out invalid expression of COLLECT_URLS_XPATH_LIST", "site", p.SiteID, "url", p.Row.URL, "error", err)
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
	*Reader
	page      Page
	home      string // links of this site are internal
	now       time.Time
	filterEnv filter.Env
	row       wire.URL // of a new link, without URL and key
	limit     int64    // maximum number of rows from this page; 0: no limit
	chainOnly bool     // only links that continue a chain are taken
	met       map[string]bool
	origins   map[string]*origin
	resolved  map[string]string // key of a link, by the key of the URL that it redirects to
	taken     []wire.Link       // passed all checks except the limits
	forbidden []wire.Link       // by robots.txt
	out       *item.Outcome
}

func (r *Reader) newCollection(out *item.Outcome, p Page, now time.Time) *collection {
	c := &collection{
		Reader: r, page: p, home: visit.SiteOf(p.Item.Base), now: now, filterEnv: filter.Env{Now: now, Depth: int(p.Row.Depth)},
		row: p.newURLRow(now), met: map[string]bool{urlkey.NormalEscapes(p.Row.URL): true}, origins: map[string]*origin{}, out: out,
	}
	schema.Apply(&c.row, wire.URLColumns, p.Settings.FieldsInit.Patch(&p.View.Site, &p.Item.Row), schema.DateOf(now))
	c.limit = p.Row.MaxURLsFromPage
	if c.limit <= 0 {
		c.limit = p.View.MaxURLsFromPage
	}
	if limit := p.Settings.CollectLimits.For(p.Row.URL); limit != nil {
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
	set := c.page.Settings
	u := &c.page.Item.Row
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
		target, err := set.Schemes.Resolve(c.page.Item.Base, set.Normalize.Replace(l.url))
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
		if set.Chain != nil && set.Chain.MatchString(target) && c.Env.OwnsURL(target) {
			c.continueChain(target)
			continue
		}
		if c.chainOnly {
			continue
		}
		name, path := visit.SplitOrigin(target)
		o := c.origins[name]
		if o == nil {
			o = &origin{internal: visit.SiteOf(target) == c.home, rules: c.linkRules(c.page.Item, name)}
			c.origins[name] = o
		}
		if o.internal {
			u.LinksI++
		} else {
			u.LinksE++
		}
		key := urlkey.Sum(target)
		if !c.seen.Has(c.page.SiteID, key) { // a link that was seen has passed
			ok, forbidden := c.passesFilters(target, path, o)
			if forbidden {
				c.addForbidden(target)
			}
			if !ok {
				continue
			}
			c.seen.Add(c.page.SiteID, key)
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
	filters := c.page.View.FilterSet
	if filters.Has(filter.StageProtocol) && !filters.Accept(filter.StageProtocol, target, c.filterEnv) {
		return false, false
	}
	if !filters.Accept(visit.LinkStage, target, c.filterEnv) {
		return false, false
	}
	ok, _ = o.rules.Allowed(c.page.Settings.Agent, path)
	return ok, !ok
}

// addForbidden notes a link that robots.txt forbids as a row that was never requested, so that it can be counted
// and listed. The limits of the site do not count such rows.
func (c *collection) addForbidden(target string) {
	if !c.page.Settings.RobotsNotes || len(c.forbidden) >= c.Env.Config.MaxLinks {
		return
	}
	row := c.row
	row.URL, row.URLMd5 = target, urlkey.Of(target)
	row.Status, row.State, row.ErrorMask, row.HTTPCode = wire.StatusCrawled, wire.URLError, errormask.Robots, http.StatusBadRequest
	c.forbidden = append(c.forbidden, wire.Link{URL: row})
}

// refusedRel reports whether a rel attribute contains a refused word.
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
	c.postponeTraps(c.page.Item, list)
	if c.limit > 0 && int64(len(list)) > c.limit {
		c.cutLinks(c.out, c.page, "maxURLsFromPage or COLLECT_URLS_LIMITS", int(c.limit))
		list = list[:c.limit]
	}
	choose, elsewhere := map[int64]int64{wire.TypeRegularExt: wire.SelectQualify, wire.TypeNewSite: wire.SelectAuto}[c.page.Before.Type]
	if !elsewhere {
		list = append(list, c.forbidden...)
		if c.out.Result.Links == nil {
			c.out.Result.Links = list
		} else { // parts of a chain
			c.out.Result.Links = append(c.out.Result.Links, list...)
		}
		return
	}
	for _, l := range list {
		if name, _ := visit.SplitOrigin(l.URL.URL); !c.isInternal(name) {
			c.out.Result.Elsewhere, c.out.Result.Select = append(c.out.Result.Elsewhere, l), choose
			continue
		}
		c.out.Result.Links = append(c.out.Result.Links, l)
	}
}

func (c *collection) isInternal(name string) bool {
	o := c.origins[name]
	return o == nil || o.internal
}

// addNextPass makes the new rows of a page items of the next pass, if its item has depth left
// (docs/spec/crawling.md 1.3, 1.5). They have depth 0. Known rows are not crawled again.
func (r *Reader) addNextPass(ctx context.Context, it *item.Item, rows []wire.Link) {
	if r.Last || it.Depth <= 0 || len(rows) == 0 {
		return
	}
	known, ok := r.knownLinks(ctx, it, rows)
	if !ok {
		return
	}
	for _, row := range rows {
		if !known[row.URL.URLMd5] && row.URL.Status == wire.StatusNew && !row.Chain {
			it.Found = append(it.Found, it.NextPassItem(row.URL))
		}
	}
}

// knownLinks reports which rows existed before. ok is false if the repository failed. For a
// batch that may not write, no row is known.
func (r *Reader) knownLinks(ctx context.Context, it *item.Item, rows []wire.Link) (known map[string]bool, ok bool) {
	if !r.Env.MayWrite() || len(rows) == 0 {
		return nil, true
	}
	keys := make([]string, len(rows))
	for i := range rows {
		keys[i] = rows[i].URL.URLMd5
	}
	known, err := r.Data.KnownURLs(ctx, it.SiteID, keys)
	if err != nil && !item.IsSiteGone(err) {
		r.dataFailed(it, err)
	}
	return known, err == nil
}

// linkRules returns the robots.txt rules for links to an origin, if they are already known. A
// link alone never causes a request for robots.txt.
func (r *Reader) linkRules(it *item.Item, origin string) *robots.Rules {
	if it.Settings.Robots && it.Settings.RobotsLinks {
		if kept := r.Env.KeptRobots(it, origin); kept != nil {
			return kept
		}
		if rules := r.Env.KnownRules(origin); rules != nil {
			return rules
		}
	}
	return &robots.Rules{}
}

// newURLRow returns the row of a new URL without URL and key: type, delay and timeout of the
// site, depth and priority of the page (docs/spec/crawling.md 5.12, 7.1 #14).
func (p Page) newURLRow(now time.Time) wire.URL {
	u := wire.NewURL(p.SiteID, "")
	date := schema.DateOf(now)
	u.Type, u.RequestDelay, u.HTTPTimeout = p.View.URLType, p.View.RequestDelay, p.View.HTTPTimeout
	u.ProcessingDelay, u.MaxURLsFromPage = p.View.ProcessingDelay, p.View.MaxURLsFromPage
	u.ParentMd5, u.Depth, u.Priority = p.URLID, p.Item.Row.Depth+1, p.Item.Row.Priority
	u.CDate, u.UDate, u.TcDate = date, date, date
	return u
}
