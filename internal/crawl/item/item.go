// Package item is a URL of a batch on its way through the stages, with its outcome.
//
//	out := it.FailedOutcome(errormask.Timeout, 0, now) // or UncrawledOutcome, or what the reader of pages makes
//	out.SetRedirects(response)
package item

import (
	"encoding/json"
	"strings"

	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// Item is one URL of the batch on its way through the stages. One stage at a time owns it.
type Item struct {
	wire.BatchItem
	View            *SiteView
	Settings        *settings.Settings
	Row             wire.URL        // the row of the answer
	Before          wire.URL        // the row before the batch
	Target          string          // the requested URL
	Host            string          // of target, once the item is queued; "" without one
	ParentURL       string          // URL of the page that linked to it, if the Referer needs it
	SuppliedContent json.RawMessage // content that the client supplied

	FoundSitemap string // the default sitemap, if there is one

	Single     bool   // of a later pass: its links are not collected
	Refilled   bool   // selected during the batch: not part of the answer
	Cached     bool   // the stored result is the answer
	Todo       bool   // its row is taken; it has to be fetched
	Begun      bool   // a request was sent or refused
	HandedBack bool   // not started; New again
	CutOff     bool   // its page could not be read whole
	Empty      bool   // failed without content: not part of the answer
	Base       string // base URL of its page

	Noted errormask.Mask // error bits from before the request

	GaveUp Attempts // its last answer meant "later", and it is not asked again

	Feed    bool // its page is a feed
	ChainOf Key  // the first page of the chain that it continues

	BodyMemory *budget.Account // memory of the body until it is stored
	TextMemory *budget.Account // memory of the page's text

	Found []wire.BatchItem // items of its page for the next pass
	Extra []wire.BatchItem // items of its page for the answer: entries of a feed
}

// ReleaseMemory returns the memory of the item's page, which is stored or dropped.
func (it *Item) ReleaseMemory() {
	it.BodyMemory.Keep(0)
	it.TextMemory.Keep(0)
}

// AddedErrors returns the errors that the item adds to those of its batch.
func (it *Item) AddedErrors() errormask.Mask {
	if it.HandedBack {
		return errormask.MaxExecutionTime
	}
	return it.Row.ErrorMask
}

// SitemapType is the ContentType of a sitemap's row, before and after its crawl.
const SitemapType = "application/sitemap+xml"

// IsSitemap reports whether the item's URL is a sitemap.
func (it *Item) IsSitemap() bool { return it.Before.ContentType == SitemapType }

// CountAttempts returns how often the item was asked before in this row of attempts.
func (it *Item) CountAttempts() int {
	if it.Before.RetryDate == "" {
		return 0 // given up, renewed or never asked
	}
	return int(it.Before.Retries)
}

// ByService reports whether a template gives the address that is requested. Its query may have the key of a service.
func (it *Item) ByService() bool { return it.Target != it.Row.URL && it.Target != "" }

// PublicURL returns a URL as files and messages show it: without its query, if a service was asked for the page.
func (it *Item) PublicURL(address string) string {
	if query := strings.IndexByte(address, '?'); query >= 0 && it.ByService() {
		return address[:query]
	}
	return address
}

// Key identifies a URL by its site and its key there.
type Key struct{ Site, URL string }

// Key returns the key of the item.
func (it *Item) Key() Key { return Key{it.SiteID, it.URLID} }

// FirstOfChain returns the key of the first page of the item's chain, which may be the item.
func (it *Item) FirstOfChain() Key {
	if it.ChainOf.URL != "" {
		return it.ChainOf
	}
	return it.Key()
}

// IsRSS reports whether the item is a feed whose entries are crawled by later passes.
func (it *Item) IsRSS() bool { return it.Feed && it.Settings.Processor == settings.RSS }

// NextPassItem returns an item of the next pass for a URL that this item found.
func (it *Item) NextPassItem(u wire.URL) wire.BatchItem {
	return wire.BatchItem{SiteID: it.SiteID, URLID: u.URLMd5, URL: u, Properties: it.Properties, Site: it.Site}
}

// SiteView is a site as items of the batch see it, read and parsed once for the batch. Items with different siteObj
// see different versions of a site.
type SiteView struct {
	wire.Site
	FilterSet *filter.Set
	BadFilter error                         // the first filter that cannot be read; such a site is not fetched
	Settings  map[string]*settings.Settings // by the JSON of the item's own properties
}

// IsSiteGone reports whether a site was deleted after it was read. The batch continues.
func IsSiteGone(err error) bool { return wire.CodeOf(err) == wire.CodeNotFound }
