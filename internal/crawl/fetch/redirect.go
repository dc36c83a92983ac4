package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// redirectTarget returns the target of the redirect resp.
func (ch *chain) redirectTarget(resp *http.Response) (*url.URL, *Fault) {
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, ch.newFault(BadRedirect, errors.New("no Location"))
	}
	next, err := resolveURL(ch.url, location)
	if err != nil {
		return nil, ch.newFault(BadRedirect, err)
	}
	next.User = nil
	if ch.trust && sameSite(ch.url, next) {
		next.User = ch.url.User
	}
	if next.Fragment == "" {
		next.Fragment, next.RawFragment = ch.url.Fragment, ch.url.RawFragment
	}
	if len(ch.resp.Redirects) >= max(ch.req.MaxRedirects, 0) {
		return nil, ch.newFault(TooManyRedirects, fmt.Errorf("limit %d reached", len(ch.resp.Redirects)))
	}
	return next, nil
}

// followRedirect moves the chain to next if Allow permits it.
func (ch *chain) followRedirect(ctx context.Context, next *url.URL) *Fault {
	code := ch.resp.Code
	if fault := ch.allowRequest(ctx, next); fault != nil {
		return fault
	}
	ch.resp.Redirects = append(ch.resp.Redirects, Hop{URL: ch.resp.FinalURL, Code: code, Exchange: ch.exchange})
	// RFC 9110 15.4: 303 turns anything but HEAD into GET; 301 and 302 do so with
	// POST, by custom.
	if code == http.StatusSeeOther && ch.method != http.MethodHead ||
		(code == http.StatusMovedPermanently || code == http.StatusFound) && ch.method == http.MethodPost {
		ch.method, ch.body = http.MethodGet, nil
	}
	ch.trust = ch.trust && sameSite(ch.url, next)
	ch.url, ch.stale = next, 0
	return nil
}

// maxStale limits how often one hop is sent again: each time a kept connection has broken.
const maxStale = maxIdlePerHost

// mayRetry reports whether a hop that ended with fault may be sent again. Only requests without
// side effects are, and only if no byte of a response came on a kept connection.
func (ch *chain) mayRetry(fault *Fault) bool {
	return (fault.Err == errStale || fault.Err == errOld) && ch.stale < maxStale &&
		(ch.method == http.MethodGet || ch.method == http.MethodHead)
}

// prepareRetry prepares the current hop to be sent again, on a connection that begins from now on: the
// server may have closed all others too. The server may have seen the request already, so this
// counts as a further one, which needs Allow's permission.
func (ch *chain) prepareRetry(ctx context.Context, fault *Fault) *Fault {
	ch.seen = ch.seen[:len(ch.seen)-1]
	if fault.Err == errOld {
		return nil // nothing was sent
	}
	ch.stale++
	ch.newer = time.Now()
	return ch.allowRequest(ctx, ch.url)
}

// allowRequest calls Allow for a further request.
func (ch *chain) allowRequest(ctx context.Context, next *url.URL) *Fault {
	if ch.req.Allow == nil {
		return nil
	}
	err := ch.req.Allow(ctx, next)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ch.newFault(Cancelled, err)
	}
	return ch.newFault(Refused, err)
}

// seenKey identifies a hop for the loop check. It includes cookies: a page that sets a
// cookie and redirects to itself is common and no loop.
func (ch *chain) seenKey(h http.Header) string {
	u := *ch.url
	u.Fragment, u.RawFragment = "", ""
	key := ch.method + " " + u.String()
	if len(h["Cookie"]) > 0 {
		key += "\n" + h["Cookie"][0]
	}
	return key
}

// redirects are the codes of redirects that are followed.
var redirects = []int{
	http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
}

const (
	drainBytes = 16 << 10
	drainTime  = 500 * time.Millisecond
)

// exchangeOf returns the exchange of a redirect, with the beginning of its body.
func (ch *chain) exchangeOf(resp *http.Response, cancel context.CancelFunc) *Exchange {
	var body bytes.Buffer
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	n, err := io.CopyN(&body, resp.Body, drainBytes)
	more, _ := io.CopyN(io.Discard, resp.Body, 1)
	return &Exchange{
		At: time.Now(), RequestLine: ch.resp.RequestLine, RequestHeader: ch.resp.RequestHeader,
		StatusLine: resp.Proto + " " + resp.Status, Header: resp.Header,
		Body: body.Bytes(), Cut: n < drainBytes && err != io.EOF || more > 0,
	}
}

// drainBody reads the rest of an unwanted body, so that its connection can be reused. It gives
// up on a long or slow rest.
func drainBody(body io.Reader, cancel context.CancelFunc) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes)
}
