package crawl

import (
	"errors"
	"net/http"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/placement"
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

// otherNode is the error of a request that another node must send.
type otherNode struct {
	target, owner string
	code          int // of the item; 0: that of the redirect
}

func (e otherNode) Error() string {
	return e.target + " belongs to node " + e.owner + " of the cluster, which requests it"
}

// hostPlacement returns the owners of hosts; without a cluster the zero value.
func (j *Job) hostPlacement() (placement.Placement, error) {
	if j.Placement == nil {
		return placement.Placement{}, nil
	}
	return j.Placement()
}

// ownsURL reports whether this node may request a URL. Real-time batches may request all.
func (r *environment) ownsURL(url string) bool { return r.realTime() || r.place.Mine(url) }

// checkOwner returns an otherNode unless this node may request target for the item.
func (v *visit) checkOwner(target string, code int) error {
	if v.item.target != v.item.url.URL || v.ownsURL(target) { // a template's target is not a link
		return nil
	}
	return otherNode{target: target, owner: v.place.OwnerOfURL(target), code: code}
}

// movedOutcome is the outcome of an item that leads to a host of another node. Its link is for that node.
func (r *batchRun) movedOutcome(it *item, to otherNode, err error) *outcome {
	now := schema.DateOf(r.Now())
	code := to.code
	if fault, ok := errors.AsType[*fetch.Fault](err); ok && code == 0 {
		code = fault.Code
	}
	if code == 0 {
		code = http.StatusFound
	}
	link := wire.NewURL(it.SiteID, to.target)
	row := &it.row
	link.Type, link.ParentMd5, link.Depth, link.Priority = row.Type, row.ParentMd5, row.Depth, row.Priority
	link.RequestDelay, link.ProcessingDelay, link.HTTPTimeout = row.RequestDelay, row.ProcessingDelay, row.HTTPTimeout
	link.MaxURLsFromPage, link.CDate, link.UDate, link.TcDate = row.MaxURLsFromPage, now, now, now
	if it.isSitemap() {
		link.ContentType = sitemapType
	}
	u := &it.url
	it.empty = true
	u.Status, u.State, u.HTTPCode, u.ErrorMask = wire.StatusProcessed, wire.URLEnabled, int64(code), it.noted
	u.UDate, u.TcDate, u.Crawled = now, now, row.Crawled+1
	return &outcome{item: it, result: wire.Fetched{
		URLMd5: it.URLID, Crawled: true, First: row.Crawled == 0, At: r.Now(), SiteBits: it.settings.Bits,
		Links: []wire.Link{{URL: link}}, Rules: it.settings.Rules,
		Set: schema.Patch{
			"Status": u.Status, "State": u.State, "HTTPCode": u.HTTPCode, "ErrorMask": int64(u.ErrorMask),
			"Size": int64(0), "RawContentMd5": "", "UDate": string(now), "TcDate": string(now),
		},
	}}
}
