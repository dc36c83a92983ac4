package crawl

import (
	"time"

	"hce/dc/internal/crawl/retry"
	"hce/dc/internal/wire"
)

// outcome is the result that the save stage stores for one item.
type outcome struct {
	item     *item
	result   wire.Fetched
	bits     wire.ErrorMask // found while the page was read
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
func (it *item) failedOutcome(bits wire.ErrorMask, code int, now wire.Date) *outcome {
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
const siteBits = wire.ErrRobots | wire.ErrMacroDeserialization | wire.ErrNoProxy | wire.ErrHTTP | wire.ErrMaxHTTPRedirects | wire.ErrEmpty | wire.ErrSize

// uncrawledOutcome returns the outcome of an item that was not crawled: its row is as before and can be
// selected again. bits appear in the answer only.
func (it *item) uncrawledOutcome(bits wire.ErrorMask, now wire.Date) *outcome {
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

// given is how often a URL was asked in vain, and why.
type given struct {
	times int64
	cause retry.Cause
}

// waitUntil makes the row of an outcome wait until at, whole seconds.
func (o *outcome) waitUntil(g given, at time.Time) {
	u := &o.item.url
	u.Retries, u.RetryCause = g.times, string(g.cause)
	u.RetryDate = wire.DateOf(at.Add(time.Second - 1))
	o.result.Set["Retries"], o.result.Set["RetryDate"], o.result.Set["RetryCause"] = u.Retries, string(u.RetryDate), u.RetryCause
	o.waits = true
}

// waitForHost makes the row of an item that is handed back wait for its host. It counts no attempt.
func (o *outcome) waitForHost(at time.Time) {
	if at.IsZero() {
		return
	}
	o.result.HeldUntil = wire.DateOf(at)
	row := &o.item.row
	g := given{int64(o.item.countAttempts()), retry.Host}
	if g.times > 0 {
		g.cause = retry.Cause(row.RetryCause)
	}
	o.waitUntil(g, at)
}

// endRetries notes in a final outcome whether its URL was given up, and why.
func (o *outcome) endRetries() {
	it := o.item
	if o.waits || it.handedBack || o.result.Set == nil || it.row.Retries == it.gaveUp.times && it.row.RetryDate == "" && it.row.RetryCause == string(it.gaveUp.cause) {
		return
	}
	it.url.Retries, it.url.RetryDate, it.url.RetryCause = it.gaveUp.times, "", string(it.gaveUp.cause)
	o.result.Set["Retries"], o.result.Set["RetryDate"], o.result.Set["RetryCause"] = it.url.Retries, nil, it.url.RetryCause
}
