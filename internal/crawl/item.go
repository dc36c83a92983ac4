package crawl

import (
	"encoding/json"
	"strings"

	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
)

// item is one URL of the batch on its way through the stages. One stage at a time owns it.
type item struct {
	wire.BatchItem
	site     *siteWork
	settings *settings.Settings
	url      wire.URL        // the row of the answer
	row      wire.URL        // the row before the batch
	target   string          // the requested URL
	host     string          // of target, once the item is queued; "" without one
	parent   string          // URL of the page that linked to it, if the Referer needs it
	put      json.RawMessage // content that the client supplied

	mapFound string // the default sitemap, if there is one

	single     bool // of a later pass: its links are not collected
	refilled   bool // selected during the batch: not part of the answer
	cached     bool // the stored result is the answer
	todo       bool // its row is taken; it has to be fetched
	started    bool // a request was sent or refused
	handedBack bool // not started; New again
	cutOff     bool // its page could not be read whole
	empty      bool // failed without content: not part of the answer
	baseURL    string

	noted wire.ErrorMask // error bits from before the request

	gaveUp given // its last answer meant "later", and it is not asked again

	feed    bool     // its page is a feed
	chainOf chainKey // the first page of the chain that it continues

	body *budget.Account // memory of the body until it is stored
	text *budget.Account // memory of the page's text

	found []wire.BatchItem // items of its page for the next pass
	extra []wire.BatchItem // items of its page for the answer: entries of a feed
}

// releaseMemory returns the memory of the item's page, which is stored or dropped.
func (it *item) releaseMemory() {
	it.body.Keep(0)
	it.text.Keep(0)
}

// addedErrors returns the errors that the item adds to those of its batch.
func (it *item) addedErrors() wire.ErrorMask {
	if it.handedBack {
		return wire.ErrMaxExecutionTime
	}
	return it.url.ErrorMask
}

// sitemapType is the ContentType of a sitemap's row, before and after its crawl.
const sitemapType = "application/sitemap+xml"

// isSitemap reports whether the item's URL is a sitemap.
func (it *item) isSitemap() bool { return it.row.ContentType == sitemapType }

// countAttempts returns how often the item was asked before in this row of attempts.
func (it *item) countAttempts() int {
	if it.row.RetryDate == "" {
		return 0 // given up, renewed or never asked
	}
	return int(it.row.Retries)
}

// byService reports whether a template gives the address that is requested. Its query may have the key of a service.
func (it *item) byService() bool { return it.target != it.url.URL && it.target != "" }

// publicURL returns a URL as files and messages show it: without its query, if a service was asked for the page.
func (it *item) publicURL(address string) string {
	if query := strings.IndexByte(address, '?'); query >= 0 && it.byService() {
		return address[:query]
	}
	return address
}

type chainKey struct{ site, url string }

// chainKey returns the key of the first page of the item's chain, which may be the item.
func (it *item) chainKey() chainKey {
	if it.chainOf.url != "" {
		return it.chainOf
	}
	return chainKey{it.SiteID, it.URLID}
}

// isRSS reports whether the item is a feed whose entries are crawled by later passes.
func (it *item) isRSS() bool { return it.feed && it.settings.Processor == settings.RSS }

// nextPassItem returns an item of the next pass for a URL that this item found.
func (it *item) nextPassItem(u wire.URL) wire.BatchItem {
	return wire.BatchItem{SiteID: it.SiteID, URLID: u.URLMd5, URL: u, Properties: it.Properties, Site: it.Site}
}

// siteWork is a site as items of the batch see it, read and parsed once for the batch. Items with different siteObj
// see different versions of a site.
type siteWork struct {
	wire.Site
	filters   *filter.Set
	badFilter error                         // the first filter that cannot be read; such a site is not fetched
	settings  map[string]*settings.Settings // by the JSON of the item's own properties
}

// isSiteGone reports whether a site was deleted after it was read. The batch continues.
func isSiteGone(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }
