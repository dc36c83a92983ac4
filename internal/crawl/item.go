package crawl

import (
	"encoding/json"

	"hce/dc/internal/wire"
)

// item is one URL of the batch on its way through the stages. One stage at a
// time holds it.
type item struct {
	wire.BatchItem
	site     *siteWork
	settings *settings
	url      wire.URL        // the row as it will be answered
	row      wire.URL        // the row as it was before
	target   string          // what is requested for it
	parent   string          // URL of the page that it was found on, where the Referer wants it
	put      json.RawMessage // content given by the client in place of the web's

	single     bool // of a later pass: its links are not collected
	cached     bool // its stored result is the answer
	todo       bool // its row is taken; it is to be fetched
	started    bool // a request was made, or was found not to be allowed
	handedBack bool // not started; New again
	cutOff     bool // the batch ended while its page was read, before all of it was known
	empty      bool // failed without content: not part of the answer
	baseURL    string

	noted wire.ErrorMask // found before its page was asked for

	feed    bool     // its page is a feed
	chainOf chainKey // the first page of the chain that it continues

	body *account // memory of its page, until that is stored
	text *account // memory of what is made of the page

	found []wire.BatchItem // what its page brought for the next pass
	extra []wire.BatchItem // what its page brought for the answer: entries of a feed
}

// letGo gives back the memory of the item's page, which is stored or dropped.
func (it *item) letGo() {
	it.body.Keep(0)
	it.text.Keep(0)
}

// sitemapType is the ContentType of the rows of sitemaps, before and after they
// are crawled.
const sitemapType = "application/sitemap+xml"

// sitemap reports whether the item's URL is that of a sitemap.
func (it *item) sitemap() bool { return it.row.ContentType == sitemapType }

// outcome is what the save stage stores for one item.
type outcome struct {
	item     *item
	result   wire.Fetched
	bits     wire.ErrorMask // found while the page was read
	replaced bool           // REPLACE has changed the content
	holds    bool           // the row stays held to the end of its batch: the first of a chain
	bytes    int
}

// linkBytes is about what a link takes in memory.
const linkBytes = 1 << 10

// weigh counts the memory that the outcome takes until it is stored.
func (o *outcome) weigh() {
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

// failed makes the outcome of an item that brought no page: Status Crawled,
// State Error, the bits, and 400 where code is 0 (docs/spec/crawling.md 2.4, docs/spec/DECISIONS.md 3.1,
// 6.5).
func (it *item) failed(bits wire.ErrorMask, code int, now wire.Date) *outcome {
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
		Set: wire.Patch{
			"Status": int64(wire.StatusCrawled), "State": int64(wire.URLError), "ErrorMask": int64(it.url.ErrorMask),
			"HTTPCode": int64(code), "UDate": string(now), "TcDate": string(now),
		},
	}}
	if it.site != nil {
		out.result.SiteBits |= it.site.bits | it.settings.bits
	}
	return out
}

// settle gives the row of a failed item another status than Crawled; 0 leaves it.
func (o *outcome) settle(status int64) {
	if status == 0 || status == wire.StatusCrawled {
		return
	}
	u := &o.item.url
	u.Status, u.State = status, wire.URLEnabled
	o.result.Set["Status"], o.result.Set["State"] = status, int64(wire.URLEnabled)
}

// took notes how long the requests of a failed item took.
func (o *outcome) took(ms int64) {
	o.item.url.CrawlingTime, o.item.url.TotalTime = ms, ms
	o.result.Set["CrawlingTime"], o.result.Set["TotalTime"] = ms, ms
}

// siteBits are the errors of a URL that are noted at its site as well (docs/spec/crawling.md
// 2.3, "+ site").
const siteBits = wire.ErrRobots | wire.ErrMacroDeserialization | wire.ErrNoProxy | wire.ErrHTTP | wire.ErrMaxHTTPRedirects | wire.ErrEmpty | wire.ErrSize

// back makes the outcome of an item that was not started: its row is as it was
// before and can be selected again. The bits are for the answer alone.
func (it *item) back(bits wire.ErrorMask, now wire.Date) *outcome {
	it.handedBack = true
	it.url.Status, it.url.State, it.url.TcDate = wire.StatusNew, wire.URLEnabled, now
	it.url.ErrorMask = it.row.ErrorMask | bits
	return &outcome{item: it, result: wire.Fetched{
		URLMd5: it.URLID,
		Set: wire.Patch{
			"Status": int64(wire.StatusNew), "State": int64(wire.URLEnabled), "ErrorMask": int64(it.row.ErrorMask), "TcDate": string(now),
		},
	}}
}
