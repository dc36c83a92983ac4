package crawl

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"time"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/retry"
	"hce/dc/internal/wire/schema"
)

// trouble is an answer, or a missing one, that means "later". The zero value is any other answer.
type trouble struct {
	cause retry.Cause
	nth   int           // such answers of the host in a row, this one included
	asked time.Duration // Retry-After; 0: none
	until time.Time     // end of the host's pause; zero: it has none
}

// noteAnswer notes what the answer to a request whose gate is held says about its host, and keeps it for the
// item. response is nil after an error.
func (v *visit) noteAnswer(response *fetch.Response, err error) {
	code := 0
	if response != nil {
		code = response.Code
	}
	v.heedAs(causeOf(code, err), response, err)
}

// heedAs is heed for an answer whose cause is known.
func (v *visit) heedAs(cause retry.Cause, response *fetch.Response, err error) {
	v.trouble = trouble{}
	rule, known := v.retryTable()[cause]
	answered := response != nil
	if fault, ok := errors.AsType[*fetch.Fault](err); ok {
		answered = fault.Code != 0
	}
	switch {
	case v.pass == nil, !known && !answered: // nothing is known of the host
		return
	case !known:
		v.pass.Answered()
		return
	}
	t := trouble{cause: cause, nth: v.pass.Troubles() + 1}
	if response != nil {
		t.asked, _ = response.RetryAfter(v.Now())
	}
	switch {
	case rule.Host == 0:
		v.pass.Answered()
		t.nth = 1
	case rule.HoldsHost(t.nth):
		pause := rule.HostWait(t.nth, t.asked, rand.Float64())
		v.pass.Busy(pause)
		t.until = v.Now().Add(pause)
	default:
		v.pass.Busy(0)
	}
	v.trouble = t
}

// causeOf returns why the answer to a request means "later"; "" if it does not.
func causeOf(code int, err error) retry.Cause {
	if err == nil {
		return retry.OfCode(code)
	}
	seen, plain := faultsOf(err)
	switch {
	case seen != nil && (seen.Kind == browser.ProxyConnect || seen.Kind == browser.Guard):
		return ""
	case seen != nil:
		return cmp.Or(seen.Cause(), causeOfDial(seen.Err))
	case plain == nil:
		return ""
	}
	switch plain.Kind {
	case fetch.Timeout:
		return retry.Timeout
	case fetch.Truncated:
		return retry.Cut
	case fetch.Connect, fetch.BadResponse:
		if plain.HungUp() {
			return retry.Reset
		}
		return causeOfDial(plain.Err)
	}
	return ""
}

// causeOfDial returns the cause of a connection that was not made. A name that does not exist has none.
func causeOfDial(err error) retry.Cause {
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		if name.IsNotFound {
			return ""
		}
		return retry.DNS
	}
	for _, code := range []error{syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN} {
		if errors.Is(err, code) {
			return retry.Connect
		}
	}
	return ""
}

// allowsRetries reports whether the batch asks again at all. A real-time batch does not, nor one that a client
// made: the specification has one request for each of its items.
func (r *environment) allowsRetries() bool { return r.batch.Retry && r.mayWrite() }

// retryTable returns the rules for the item's requests.
func (v *visit) retryTable() retry.Table {
	if v.allowsRetries() {
		return v.settings.Retries
	}
	return v.settings.RetriesOnce
}

// countAttempts returns how often the item was asked before in this row of attempts.
func (it *item) countAttempts() int {
	if it.row.RetryDate == "" {
		return 0 // given up, renewed or never asked
	}
	return int(it.row.Retries)
}

// mostTries is above all attempts of rules.
const mostTries = 1 << 20

// mayReturn reports whether the item may be asked again after the trouble of its visit, when it was asked
// at most times. A form is not sent again unless the server has refused it.
func (v *visit) mayReturn(times int) bool {
	t := v.trouble
	if t.cause == "" || t.nth > retry.HostPatience || v.item.countAttempts()+1 >= times {
		return false
	}
	return !strings.EqualFold(v.item.url.HTTPMethod, "post") || t.cause == "429" || t.cause == "503"
}

// retryOutcome returns the outcome of an item that is asked again, or nil. Then the item's answer is final, and
// the item knows if it was given up.
func (v *visit) retryOutcome() *outcome {
	it, t := v.item, v.trouble
	rule := v.retryTable()[t.cause]
	if rule.Attempts > 1 {
		it.gaveUp = given{int64(it.countAttempts() + 1), t.cause}
	}
	if !v.mayReturn(rule.Attempts) {
		return nil
	}
	now := v.Now()
	at := now.Add(rule.Wait(it.countAttempts()+1, t.asked, rand.Float64()))
	if t.until.After(at) {
		at = t.until
	}
	out := it.uncrawledOutcome(0, schema.DateOf(now))
	it.handedBack, it.started = false, false // its time is not over
	out.waitUntil(it.gaveUp, at)
	it.gaveUp = given{}
	return out
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
	u.RetryDate = schema.DateOf(at.Add(time.Second - 1))
	o.result.Set["Retries"], o.result.Set["RetryDate"], o.result.Set["RetryCause"] = u.Retries, string(u.RetryDate), u.RetryCause
	o.waits = true
}

// waitForHost makes the row of an item that is handed back wait for its host. It counts no attempt.
func (o *outcome) waitForHost(at time.Time) {
	if at.IsZero() {
		return
	}
	o.result.HeldUntil = schema.DateOf(at)
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

// robotsLater applies a robots.txt that is not available. Its Retry-After holds for the whole host.
func (v *visit) robotsLater(ends *time.Time, response *fetch.Response) {
	asked, given := response.RetryAfter(v.Now())
	switch {
	case v.retryTable()[retry.Robots].Attempts > 1:
		v.heedAs(retry.Robots, response, nil)
		*ends = v.trouble.until
	case given:
		asked = min(asked, retry.LongestAsked)
		v.pass.Busy(asked)
		*ends = v.Now().Add(max(asked, v.Config.Backoff))
	}
}
