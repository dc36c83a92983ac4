package item

import (
	"time"

	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Outcome is the result that the save stage stores for one item.
type Outcome struct {
	Item     *Item
	Result   wire.Fetched
	Bits     errormask.Mask // found while the page was read
	Replaced bool           // REPLACE changed the content
	waits    bool           // its row waits for its RetryDate
	Holds    bool           // the first page of a chain: the row stays held until the batch ends
	Bytes    int
}

// LinkBytes estimates the memory of a link.
const LinkBytes = 1 << 10

// ComputeMemory computes the memory of the outcome.
func (o *Outcome) ComputeMemory() {
	o.Bytes = LinkBytes * (len(o.Result.Links) + len(o.Result.Elsewhere))
	for _, f := range o.Result.Files {
		o.Bytes += len(f.Data)
	}
	for _, l := range o.Result.Links {
		for _, f := range l.Files {
			o.Bytes += len(f.Data)
		}
	}
}

// FailedOutcome returns the outcome of an item without a page: Status Crawled, State Error and
// the bits. Code 0 means 400 (docs/spec/crawling.md 2.4, docs/spec/DECISIONS.md 3.1, 6.5).
func (it *Item) FailedOutcome(bits errormask.Mask, code int, now schema.Date) *Outcome {
	if code == 0 {
		code = 400
	}
	it.Empty = true
	it.Row.ErrorMask |= bits | it.Noted
	it.Row.Status, it.Row.State, it.Row.HTTPCode = wire.StatusCrawled, wire.URLError, int64(code)
	it.Row.UDate, it.Row.TcDate = now, now
	if it.Begun {
		it.Row.Crawled = it.Before.Crawled + 1
	}
	out := &Outcome{Item: it, Result: wire.Fetched{
		URLMd5: it.URLID, Crawled: it.Begun, SiteBits: bits & siteBits,
		Set: schema.Patch{
			"Status": int64(wire.StatusCrawled), "State": int64(wire.URLError), "ErrorMask": int64(it.Row.ErrorMask),
			"HTTPCode": int64(code), "UDate": string(now), "TcDate": string(now),
		},
	}}
	if it.View != nil {
		out.Result.SiteBits |= it.Settings.Bits
	}
	return out
}

// LeaveUnasked makes a row that robots.txt forbids, and whose URL was never requested, one that no limit counts,
// like a link that a known robots.txt forbids: it does not matter when robots.txt became known, and a recrawl that
// asks again leaves the counters as they were.
func (o *Outcome) LeaveUnasked() {
	it := o.Item
	if it.Before.Crawled == 0 && !it.Before.Root() && it.Settings.RobotsNotes {
		it.Row.Crawled, o.Result.Crawled = 0, false
	}
}

// SetStatus gives the row of a failed item another status than Crawled. 0 changes nothing.
func (o *Outcome) SetStatus(status int64) {
	if status == 0 || status == wire.StatusCrawled {
		return
	}
	u := &o.Item.Row
	u.Status, u.State = status, wire.URLEnabled
	o.Result.Set["Status"], o.Result.Set["State"] = status, int64(wire.URLEnabled)
}

// SetDuration sets the duration of a failed item's requests.
func (o *Outcome) SetDuration(ms int64) {
	o.Item.Row.CrawlingTime, o.Item.Row.TotalTime = ms, ms
	o.Result.Set["CrawlingTime"], o.Result.Set["TotalTime"] = ms, ms
}

// siteBits are the error bits of a URL that its site gets too (docs/spec/crawling.md 2.3,
// "+ site").
const siteBits = errormask.Robots | errormask.MacroDeserialization | errormask.NoProxy | errormask.HTTP | errormask.MaxHTTPRedirects | errormask.Empty | errormask.Size

// UncrawledOutcome returns the outcome of an item that was not crawled: its row is as before and can be
// selected again. bits appear in the answer only.
func (it *Item) UncrawledOutcome(bits errormask.Mask, now schema.Date) *Outcome {
	it.HandedBack = true
	it.Row.Status, it.Row.State, it.Row.TcDate = wire.StatusNew, wire.URLEnabled, now
	it.Row.ErrorMask = it.Before.ErrorMask | bits
	return &Outcome{Item: it, Result: wire.Fetched{
		URLMd5: it.URLID,
		Set: schema.Patch{
			"Status": int64(wire.StatusNew), "State": int64(wire.URLEnabled), "ErrorMask": int64(it.Before.ErrorMask), "TcDate": string(now),
		},
	}}
}

// Attempts is how often a URL was asked in vain, and why.
type Attempts struct {
	Times int64
	Cause retry.Cause
}

// WaitUntil makes the row of an outcome wait until at, whole seconds.
func (o *Outcome) WaitUntil(g Attempts, at time.Time) {
	u := &o.Item.Row
	u.Retries, u.RetryCause = g.Times, string(g.Cause)
	u.RetryDate = schema.DateOf(at.Add(time.Second - 1))
	o.Result.Set["Retries"], o.Result.Set["RetryDate"], o.Result.Set["RetryCause"] = u.Retries, string(u.RetryDate), u.RetryCause
	o.waits = true
}

// WaitForHost makes the row of an item that is handed back wait for its host. It counts no attempt.
func (o *Outcome) WaitForHost(at time.Time) {
	if at.IsZero() {
		return
	}
	o.Result.HeldUntil = schema.DateOf(at)
	row := &o.Item.Before
	g := Attempts{int64(o.Item.CountAttempts()), retry.Host}
	if g.Times > 0 {
		g.Cause = retry.Cause(row.RetryCause)
	}
	o.WaitUntil(g, at)
}

// EndRetries notes in a final outcome whether its URL was given up, and why.
func (o *Outcome) EndRetries() {
	it := o.Item
	if o.waits || it.HandedBack || o.Result.Set == nil || it.Before.Retries == it.GaveUp.Times && it.Before.RetryDate == "" && it.Before.RetryCause == string(it.GaveUp.Cause) {
		return
	}
	it.Row.Retries, it.Row.RetryDate, it.Row.RetryCause = it.GaveUp.Times, "", string(it.GaveUp.Cause)
	o.Result.Set["Retries"], o.Result.Set["RetryDate"], o.Result.Set["RetryCause"] = it.Row.Retries, nil, it.Row.RetryCause
}
