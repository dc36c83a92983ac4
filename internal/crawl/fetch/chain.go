package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

var (
	errClosed   = errors.New("the client is closed")
	errSwitched = errors.New("the server switches to another protocol without a request for it")
)

// chain is one call of Get: the requests from its URL to the final one.
type chain struct {
	client *Client
	req    Request

	method string
	body   []byte
	url    *url.URL // of the current hop, with its fragment
	trust  bool     // all hops so far are on the site of the first URL
	seen   []string // keys of earlier hops, see seenKey
	left   time.Duration
	proxy  *url.URL
	stale  int       // how often the current hop found its kept connection closed
	newer  time.Time // of the connections that further hops use

	resp     Response  // what is known so far
	exchange *Exchange // of the last redirect
}

// Get fetches r.URL and follows its redirects. The error is a *Fault; the Response is nil
// then, and Fault.Partial holds what was received.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	ch, fault := c.newChain(r)
	for fault == nil {
		var next *url.URL
		next, fault = ch.sendHop(ctx)
		switch {
		case fault != nil && ch.mayRetry(fault):
			fault = ch.prepareRetry(ctx, fault)
		case fault != nil:
		case next == nil:
			return &ch.resp, nil
		default:
			fault = ch.followRedirect(ctx, next)
		}
	}
	return nil, fault
}

func (c *Client) newChain(r Request) (*chain, *Fault) {
	u, err := parseURL(r.URL)
	if err != nil {
		return nil, &Fault{Kind: BadURL, URL: r.URL, Err: err}
	}
	other := func(err error) (*chain, *Fault) { return nil, &Fault{Kind: Other, URL: r.URL, Err: err} }
	for name, values := range r.Header {
		if !httpguts.ValidHeaderFieldName(name) {
			return other(fmt.Errorf("invalid header name %q", name))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return other(fmt.Errorf("invalid value %q of header %s", v, name))
			}
		}
	}
	ch := &chain{client: c, req: r, url: u, trust: true, body: r.Body}
	ch.resp.FinalURL, ch.resp.Body = u.String(), []byte{}
	ch.method = strings.ToUpper(cmp.Or(r.Method, http.MethodGet))
	if !httpguts.ValidHeaderFieldName(ch.method) || ch.method == http.MethodConnect {
		return other(fmt.Errorf("invalid method %q", r.Method))
	}
	if ch.method == http.MethodGet || ch.method == http.MethodHead {
		ch.body = nil
	}
	if r.Proxy != "" {
		if ch.proxy, err = parseProxy(r.Proxy); err != nil {
			return other(fmt.Errorf("proxy: %w", err))
		}
	}
	ch.left = cmp.Or(max(r.Timeout, 0), DefaultTimeout)
	ch.req.ConnectTimeout = cmp.Or(max(r.ConnectTimeout, 0), DefaultConnectTimeout)
	if r.MaxBytes <= 0 || r.MaxBytes > c.cfg.MaxBytes {
		ch.req.MaxBytes = c.cfg.MaxBytes
	}
	ch.resp.Started = time.Now()
	return ch, nil
}

// sendHop sends one request and reads its response. It returns the target of a redirect, or nil
// if the fetch is complete.
func (ch *chain) sendHop(parent context.Context) (*url.URL, *Fault) {
	if ch.client.life.Err() != nil {
		return nil, ch.newFault(Cancelled, errClosed)
	}
	begin := time.Now()
	w := &hop{connectTimeout: ch.req.ConnectTimeout, proxy: ch.proxy, newer: ch.newer}
	ctx, end := context.WithCancelCause(parent)
	cancel := func() { end(context.Canceled) }
	defer cancel()
	clock := newClock(ch.left, func() { end(context.DeadlineExceeded) })
	defer clock.timer.Stop()
	ctx = w.requestContext(ctx)
	defer w.cancel(nil)
	stop := context.AfterFunc(ch.client.life, cancel)
	defer stop()

	res := &ch.resp
	res.FinalURL = ch.url.String()
	res.Code, res.Header = 0, nil
	header := ch.sentHeader()
	key := ch.seenKey(header)
	if slices.Contains(ch.seen, key) {
		return nil, ch.newFault(RedirectLoop, nil)
	}
	ch.seen = append(ch.seen, key)

	defer func() {
		took := time.Since(begin) - clock.waited
		ch.left -= took
		res.Total += took
	}()
	// fail returns the fault of an error during the request.
	fail := func(kind Kind, err error) *Fault {
		switch {
		case parent.Err() != nil || ch.client.life.Err() != nil:
			kind = Cancelled
		case context.Cause(ctx) == errStale, context.Cause(ctx) == errOld:
			kind, err = Connect, context.Cause(ctx)
		case errors.Is(context.Cause(ctx), errSlow):
			kind, err = Timeout, context.Cause(ctx)
		case ctx.Err() != nil:
			kind = Timeout
		}
		return ch.newFault(kind, err)
	}
	if ch.proxy != nil {
		// The proxy looks up the name itself; this check cannot know its result.
		if _, err := ch.client.permittedAddresses(ctx, ch.url.Hostname()); err != nil {
			return nil, fail(kindOfTrip(err, false), err)
		}
	}
	resp, err := ch.client.transports[pool{ch.proxy != nil, ch.req.InsecureTLS, ch.req.LegacyTLS}].RoundTrip(ch.newRequest(ctx, header))
	var connected bool
	connected, res.RemoteAddr = w.connectionReport()
	res.RequestHeader = header
	if err != nil {
		return nil, fail(w.kindOf(err, connected, ch.url), err)
	}
	defer resp.Body.Close()
	m := &meter{memory: ch.req.Memory, ctx: ctx, clock: clock, limit: ch.req.MaxBytes}
	if rate := ch.client.cfg.MinRate; rate > 0 {
		m.rate = newRateReader(resp.Body, rate, ch.client.cfg.RateWindow, end)
		defer m.rate.stop()
	}
	return ch.receiveResponse(resp, w, m, cancel, fail)
}

// receiveResponse reads a response. cancel ends its request; fail returns the fault of a read error.
func (ch *chain) receiveResponse(resp *http.Response, w *hop, m *meter, cancel func(), fail func(Kind, error) *Fault) (*url.URL, *Fault) {
	res := &ch.resp
	res.Code, res.Header = resp.StatusCode, resp.Header
	res.Repaired = res.Repaired || w.wasRepaired()
	if res.StatusLine = resp.Proto + " " + resp.Status; resp.Status == "200 OK" && resp.Proto != "HTTP/1.0" {
		res.StatusLine = ""
	}
	res.RequestLine = ch.method + " " + ch.url.RequestURI() + " " + resp.Proto
	switch {
	case resp.StatusCode == http.StatusSwitchingProtocols:
		return nil, ch.newFault(BadResponse, errSwitched)
	case resp.StatusCode == http.StatusProxyAuthRequired && ch.url.Scheme == "http" && w.overHTTP():
		return nil, ch.newFault(Proxy, &ProxyError{Code: resp.StatusCode}) // in a tunnel the status is the target's
	}
	if ch.req.Jar != nil && len(res.Header["Set-Cookie"]) > 0 {
		ch.req.Jar.SetCookies(ch.url, res.Header)
	}
	if slices.Contains(redirects, resp.StatusCode) {
		next, fault := ch.redirectTarget(resp)
		if fault == nil {
			ch.exchange = ch.exchangeOf(resp, cancel)
		}
		return next, fault
	}
	if ch.req.HeaderOnly {
		drainBody(resp.Body, cancel)
		return nil, nil
	}
	var kind Kind
	var err error
	var repaired bool
	res.Body, kind, repaired, err = readBody(resp, ch.req.MaxBytes, m)
	res.Repaired = res.Repaired || repaired
	if err != nil {
		if kind == TooLarge || kind == Refused && m.ctx.Err() == nil {
			return nil, ch.newFault(kind, err)
		}
		return nil, fail(kind, err)
	}
	if len(res.Header["Content-Encoding"]) > 0 {
		drainBody(resp.Body, cancel) // decoders may stop before the last chunk
	}
	return nil, nil
}

// newRequest returns the request of the current hop.
func (ch *chain) newRequest(ctx context.Context, header http.Header) *http.Request {
	// net/http does not send the fragment.
	req := &http.Request{
		Method: ch.method, URL: ch.url, Host: ch.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if len(ch.body) > 0 { // net/http treats an empty body as of unknown length
		req.ContentLength = int64(len(ch.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(ch.body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// newFault returns the Fault of the current hop with what is known so far.
func (ch *chain) newFault(kind Kind, err error) *Fault {
	f := &Fault{Kind: kind, URL: ch.resp.FinalURL, Err: err, Code: ch.resp.Code}
	if f.Code == 0 {
		if n := len(ch.resp.Redirects); n > 0 {
			f.Code = ch.resp.Redirects[n-1].Code
		}
	}
	if ch.resp.Code != 0 || len(ch.resp.Redirects) > 0 {
		f.Partial = &ch.resp
	}
	return f
}
