package crawl

import (
	"encoding/json"

	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
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

	noted errormask.Mask // error bits from before the request

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
func (it *item) addedErrors() errormask.Mask {
	if it.handedBack {
		return errormask.MaxExecutionTime
	}
	return it.url.ErrorMask
}

// sitemapType is the ContentType of a sitemap's row, before and after its crawl.
const sitemapType = "application/sitemap+xml"

// isSitemap reports whether the item's URL is a sitemap.
func (it *item) isSitemap() bool { return it.row.ContentType == sitemapType }

// outcome is the result that the save stage stores for one item.
type outcome struct {
	item     *item
	result   wire.Fetched
	bits     errormask.Mask // found while the page was read
	replaced bool           // REPLACE changed the content
	waits    bool           // its row waits for its RetryDate
	holds    bool           // the first page of a chain: the row stays held until the batch ends
	bytes    int
}

// linkBytes estimates the memory of a link.
const linkBytes = 1 << 10

// computeMemory computes the memory of the outcome.
func (o *outcome) computeMemory() {
	o.bytes = linkBytes * (len(o.result.Links) + len(o.result.Elsewhere))
	for _, f := range o.result.Files {
		o.bytes += len(f.Data)
	}
	for _, l := range o.result.Links {
		for _, f := range l.Files {
			o.bytes += len(f.Data)
		}
	}
}

// failedOutcome returns the outcome of an item without a page: Status Crawled, State Error and
// the bits. Code 0 means 400 (docs/spec/crawling.md 2.4, docs/spec/DECISIONS.md 3.1, 6.5).
func (it *item) failedOutcome(bits errormask.Mask, code int, now schema.Date) *outcome {
	if code == 0 {
		code = 400
	}
	it.empty = true
	it.url.ErrorMask |= bits | it.noted
	it.url.Status, it.url.State, it.url.HTTPCode = wire.StatusCrawled, wire.URLError, int64(code)
	it.url.UDate, it.url.TcDate = now, now
	if it.started {
		it.url.Crawled = it.row.Crawled + 1
	}
	out := &outcome{item: it, result: wire.Fetched{
		URLMd5: it.URLID, Crawled: it.started, SiteBits: bits & siteBits,
		Set: schema.Patch{
			"Status": int64(wire.StatusCrawled), "State": int64(wire.URLError), "ErrorMask": int64(it.url.ErrorMask),
			"HTTPCode": int64(code), "UDate": string(now), "TcDate": string(now),
		},
	}}
	if it.site != nil {
		out.result.SiteBits |= it.settings.Bits
	}
	return out
}

// leaveUnasked makes a row that robots.txt forbids, and whose URL was never requested, one that no limit counts,
// like a link that a known robots.txt forbids: it does not matter when robots.txt became known, and a recrawl that
// asks again leaves the counters as they were.
func (o *outcome) leaveUnasked() {
	it := o.item
	if it.row.Crawled == 0 && !it.row.Root() && it.settings.RobotsNotes {
		it.url.Crawled, o.result.Crawled = 0, false
	}
}

// setStatus gives the row of a failed item another status than Crawled. 0 changes nothing.
func (o *outcome) setStatus(status int64) {
	if status == 0 || status == wire.StatusCrawled {
		return
	}
	u := &o.item.url
	u.Status, u.State = status, wire.URLEnabled
	o.result.Set["Status"], o.result.Set["State"] = status, int64(wire.URLEnabled)
}

// setDuration sets the duration of a failed item's requests.
func (o *outcome) setDuration(ms int64) {
	o.item.url.CrawlingTime, o.item.url.TotalTime = ms, ms
	o.result.Set["CrawlingTime"], o.result.Set["TotalTime"] = ms, ms
}

// siteBits are the error bits of a URL that its site gets too (docs/spec/crawling.md 2.3,
// "+ site").
const siteBits = errormask.Robots | errormask.MacroDeserialization | errormask.NoProxy | errormask.HTTP | errormask.MaxHTTPRedirects | errormask.Empty | errormask.Size

// uncrawledOutcome returns the outcome of an item that was not crawled: its row is as before and can be
// selected again. bits appear in the answer only.
func (it *item) uncrawledOutcome(bits errormask.Mask, now schema.Date) *outcome {
	it.handedBack = true
	it.url.Status, it.url.State, it.url.TcDate = wire.StatusNew, wire.URLEnabled, now
	it.url.ErrorMask = it.row.ErrorMask | bits
	return &outcome{item: it, result: wire.Fetched{
		URLMd5: it.URLID,
		Set: schema.Patch{
			"Status": int64(wire.StatusNew), "State": int64(wire.URLEnabled), "ErrorMask": int64(it.row.ErrorMask), "TcDate": string(now),
		},
	}}
}
