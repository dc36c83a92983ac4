package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// target returns where the redirect resp leads.
func (ch *chain) target(resp *http.Response) (*url.URL, *Fault) {
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, ch.fault(BadRedirect, errors.New("no Location"))
	}
	next, err := resolveURL(ch.url, location)
	if err != nil {
		return nil, ch.fault(BadRedirect, err)
	}
	next.User = nil
	if ch.trust && sameSite(ch.url, next) {
		next.User = ch.url.User
	}
	if next.Fragment == "" {
		next.Fragment, next.RawFragment = ch.url.Fragment, ch.url.RawFragment
	}
	if len(ch.resp.Redirects) >= max(ch.req.MaxRedirects, 0) {
		return nil, ch.fault(TooManyRedirects, fmt.Errorf("after %d", len(ch.resp.Redirects)))
	}
	return next, nil
}

// follow turns the chain to next, after asking Allow.
func (ch *chain) follow(ctx context.Context, next *url.URL) *Fault {
	code := ch.resp.Code
	if fault := ch.ask(ctx, next); fault != nil {
		return fault
	}
	ch.resp.Redirects = append(ch.resp.Redirects, Hop{URL: ch.resp.FinalURL, Code: code})
	// RFC 9110 15.4: 303 turns anything but HEAD into GET; 301 and 302 do so with
	// POST, by custom.
	if code == http.StatusSeeOther && ch.method != http.MethodHead ||
		(code == http.StatusMovedPermanently || code == http.StatusFound) && ch.method == http.MethodPost {
		ch.method, ch.body = http.MethodGet, nil
	}
	ch.trust = ch.trust && sameSite(ch.url, next)
	ch.url, ch.again = next, false
	return nil
}

// mayRepeat reports whether the hop may be sent once more. Only what a server
// may get twice is repeated, and only once.
func (ch *chain) mayRepeat() bool {
	return !ch.again && (ch.method == http.MethodGet || ch.method == http.MethodHead)
}

// repeat prepares the hop at hand to be sent once more, after asking Allow: the
// server may have seen it already, so this is a further request.
func (ch *chain) repeat(ctx context.Context) *Fault {
	ch.again = true
	ch.seen = ch.seen[:len(ch.seen)-1]
	return ch.ask(ctx, ch.url)
}

// ask asks Allow for a further request.
func (ch *chain) ask(ctx context.Context, next *url.URL) *Fault {
	if ch.req.Allow == nil {
		return nil
	}
	err := ch.req.Allow(ctx, next)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ch.fault(Cancelled, err)
	}
	return ch.fault(Refused, err)
}

// seenKey identifies a hop for the loop check. Cookies belong to it: a page that
// sets one and sends the visitor back to itself is common and no loop.
func (ch *chain) seenKey(h http.Header) string {
	u := *ch.url
	u.Fragment, u.RawFragment = "", ""
	key := ch.method + " " + u.String()
	if len(h["Cookie"]) > 0 {
		key += "\n" + h["Cookie"][0]
	}
	return key
}

func isRedirect(code int) bool {
	switch code {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

const (
	drainBytes = 16 << 10
	drainTime  = 500 * time.Millisecond
)

// drain reads what is left of a body that nobody wants, so that its connection can
// be used again. A rest that is long or slow is not worth it.
func drain(body io.Reader, cancel context.CancelFunc) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes)
}
