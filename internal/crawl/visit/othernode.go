package visit

import (
	"errors"
	"net/http"
	"time"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// In a cluster each host has one node (package placement), which keeps its gate. So requests to
// hosts of other nodes do not leave this node. What happens to each request that would:
//
//   - An HTTP redirect, a meta refresh or a new document in the browser leads there: it is not
//     followed. Its target becomes a link with the depth, the parent and the priority of the item, so
//     a redirected root is a root there. The item ends with the code of the redirect, Status 7
//     (processed), State 0 and no content: nothing is left to do. The code is that of the page for a
//     meta refresh, and 302 in a browser.
//   - An item is of such a host itself: the same, with code 421. That happens only if a URL schema
//     generates no URL of this node, if a stored URL is not canonical, or if the members have changed.
//   - A link that has to be requested before it becomes a row (redirect resolver, URL_LIMITS, types of
//     links): it becomes a link as it is, unless the redirects of the resolver lead there: then their
//     target is the link.
//   - A sitemap that robots.txt, an index or the site names: it becomes a link. /sitemap.xml that is
//     redirected there: it is not looked for.
//   - The next page of a chain: it does not continue the chain, but is a link as any other.
//   - URLs that a schema generates: they become links; a batch gets only those of this node.
//
// These requests leave this node to any host:
//
//   - robots.txt of a host of this node, redirected: RFC 9309 2.3.1.2 wants its target. It is one
//     request for each origin and robots_ttl.
//   - What a page in a browser loads: scripts, styles, frames. No gate holds them anywhere.
//   - Services that the operator names: EXTERNAL_URL and templates of URLs, sources of schemas,
//     proxies, names to be resolved (ALIVE checks), and requests of processor-task (politeclient).
//   - Real-time batches: a client waits for the page, and nothing is stored.

// OtherNode is the error of a request that another node must send.
type OtherNode struct {
	Target, Owner string
	code          int // of the item; 0: that of the redirect
}

func (e OtherNode) Error() string {
	return e.Target + " belongs to node " + e.Owner + " of the cluster, which requests it"
}

// OwnsURL reports whether this node may request a URL. Real-time batches may request all.
func (r *Environment) OwnsURL(url string) bool { return r.RealTime() || r.Place.Mine(url) }

// checkOwner returns an OtherNode unless this node may request target for the item.
func (v *Visit) checkOwner(target string, code int) error {
	if v.Item.Target != v.Item.Row.URL || v.Env.OwnsURL(target) { // a template's target is not a link
		return nil
	}
	return OtherNode{Target: target, Owner: v.Env.Place.OwnerOfURL(target), code: code}
}

// MovedOutcome is the outcome of an item that leads to a host of another node. Its link is for that node.
func MovedOutcome(it *item.Item, to OtherNode, err error, at time.Time) *item.Outcome {
	now := schema.DateOf(at)
	code := to.code
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && code == 0 {
		code = fault.Code
	}
	if code == 0 {
		code = http.StatusFound
	}
	link := wire.NewURL(it.SiteID, to.Target)
	row := &it.Before
	link.Type, link.ParentMd5, link.Depth, link.Priority = row.Type, row.ParentMd5, row.Depth, row.Priority
	link.RequestDelay, link.ProcessingDelay, link.HTTPTimeout = row.RequestDelay, row.ProcessingDelay, row.HTTPTimeout
	link.MaxURLsFromPage, link.CDate, link.UDate, link.TcDate = row.MaxURLsFromPage, now, now, now
	if it.IsSitemap() {
		link.ContentType = item.SitemapType
	}
	u := &it.Row
	it.Empty = true
	u.Status, u.State, u.HTTPCode, u.ErrorMask = wire.StatusProcessed, wire.URLEnabled, int64(code), it.Noted
	u.UDate, u.TcDate, u.Crawled = now, now, row.Crawled+1
	return &item.Outcome{Item: it, Result: wire.Fetched{
		URLMd5: it.URLID, Crawled: true, First: row.Crawled == 0, At: at, SiteBits: it.Settings.Bits,
		Links: []wire.Link{{URL: link}}, Rules: it.Settings.Rules,
		Set: schema.Patch{
			"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "ErrorMask": int64(u.ErrorMask),
			"Size": int64(0), "RawContentMd5": "", "UDate": string(now), "TcDate": string(now),
		},
	}}
}
