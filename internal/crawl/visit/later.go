package visit

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
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/wire/schema"
)

// trouble is an answer, or a missing one, that means "later". The zero value is any other answer.
type trouble struct {
	cause retry.Cause
	nth   int           // such answers of the host in a row, this one included
	asked time.Duration // Retry-After; 0: none
	until time.Time     // end of the host's pause; zero: it has none
}

// MeansLater reports whether the last answer means "later".
func (v *Visit) MeansLater() bool { return v.trouble.cause != "" }

// noteAnswer notes what the answer to a request whose gate is held says about its host, and keeps it for the
// item. response is nil after an error.
func (v *Visit) noteAnswer(response *fetch.Response, err error) {
	code := 0
	if response != nil {
		code = response.Code
	}
	v.noteCause(causeOf(code, err), response, err)
}

// noteCause is noteAnswer for an answer whose cause is known.
func (v *Visit) noteCause(cause retry.Cause, response *fetch.Response, err error) {
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
		t.asked, _ = response.RetryAfter(v.Env.Now())
	}
	switch {
	case rule.Host == 0:
		v.pass.Answered()
		t.nth = 1
	case rule.HoldsHost(t.nth):
		pause := rule.HostWait(t.nth, t.asked, rand.Float64())
		v.pass.Busy(pause)
		t.until = v.Env.Now().Add(pause)
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
func (r *Environment) allowsRetries() bool { return r.Batch.Retry && r.MayWrite() }

// retryTable returns the rules for the item's requests.
func (v *Visit) retryTable() retry.Table {
	if v.Env.allowsRetries() {
		return v.Settings.Retries
	}
	return v.Settings.RetriesOnce
}

// mostTries is above all attempts of rules.
const mostTries = 1 << 20

// mayReturn reports whether the item may be asked again after the trouble of its visit, when it was asked
// at most times. A form is not sent again unless the server has refused it.
func (v *Visit) mayReturn(times int) bool {
	t := v.trouble
	if t.cause == "" || t.nth > retry.HostPatience || v.Item.CountAttempts()+1 >= times {
		return false
	}
	return !strings.EqualFold(v.Item.Row.HTTPMethod, "post") || t.cause == "429" || t.cause == "503"
}

// RetryOutcome returns the outcome of an item that is asked again, or nil. Then the item's answer is final, and
// the item knows if it was given up.
func (v *Visit) RetryOutcome() *item.Outcome {
	it, t := v.Item, v.trouble
	rule := v.retryTable()[t.cause]
	if rule.Attempts > 1 {
		it.GaveUp = item.Attempts{Times: int64(it.CountAttempts() + 1), Cause: t.cause}
	}
	if !v.mayReturn(rule.Attempts) {
		return nil
	}
	now := v.Env.Now()
	at := now.Add(rule.Wait(it.CountAttempts()+1, t.asked, rand.Float64()))
	if t.until.After(at) {
		at = t.until
	}
	out := it.UncrawledOutcome(0, schema.DateOf(now))
	it.HandedBack, it.Begun = false, false // its time is not over
	out.WaitUntil(it.GaveUp, at)
	it.GaveUp = item.Attempts{}
	return out
}

// robotsLater applies a robots.txt that is not available. Its Retry-After holds for the whole host.
func (v *Visit) robotsLater(ends *time.Time, response *fetch.Response) {
	asked, given := response.RetryAfter(v.Env.Now())
	switch {
	case v.retryTable()[retry.Robots].Attempts > 1:
		v.noteCause(retry.Robots, response, nil)
		*ends = v.trouble.until
	case given:
		asked = min(asked, retry.LongestAsked)
		v.pass.Busy(asked)
		*ends = v.Env.Now().Add(max(asked, v.Env.Config.Backoff))
	}
}
