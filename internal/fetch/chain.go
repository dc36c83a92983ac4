package fetch

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/publicsuffix"
)

var errClosed = errors.New("the Client is closed")

// chain is one call of Get: the hops from its URL to the final one.
type chain struct {
	client *Client
	req    Request

	method string
	body   []byte
	url    *url.URL // of the hop at hand, with its fragment
	trust  bool     // no redirect has left the site of the first URL yet
	jar    *cookiejar.Jar
	seen   []string // what was asked for already: URL and cookies
	left   time.Duration
	proxy  *url.URL
	again  bool // the hop at hand is a repetition

	resp Response // as far as it is known
}

// Get fetches r.URL and follows its redirects. The error is a *Fault; with one
// the Response is nil and what was received is in Fault.Partial.
func (c *Client) Get(ctx context.Context, r Request) (*Response, error) {
	ch, fault := c.newChain(r)
	for fault == nil {
		var next *url.URL
		next, fault = ch.hop(ctx)
		switch {
		case fault != nil && fault.Err == errStale && ch.mayRepeat():
			fault = ch.repeat(ctx)
		case fault != nil:
		case next == nil:
			return &ch.resp, nil
		default:
			fault = ch.follow(ctx, next)
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
			return other(fmt.Errorf("header name %q", name))
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return other(fmt.Errorf("header %s: value %q", name, v))
			}
		}
	}
	if !httpguts.ValidHeaderFieldValue(r.Cookie) {
		return other(fmt.Errorf("cookie %q", r.Cookie))
	}
	ch := &chain{client: c, req: r, url: u, trust: true, body: r.Body}
	ch.resp.FinalURL, ch.resp.Body = u.String(), []byte{}
	ch.method = strings.ToUpper(or(r.Method, http.MethodGet))
	if !httpguts.ValidHeaderFieldName(ch.method) || ch.method == http.MethodConnect {
		return other(fmt.Errorf("method %q", r.Method))
	}
	if ch.method == http.MethodGet || ch.method == http.MethodHead {
		ch.body = nil
	}
	if r.Proxy != "" {
		if ch.proxy, err = parseProxy(r.Proxy); err != nil {
			return other(fmt.Errorf("proxy: %w", err))
		}
	}
	ch.left = or(max(r.Timeout, 0), DefaultTimeout)
	ch.req.ConnectTimeout = or(max(r.ConnectTimeout, 0), DefaultConnectTimeout)
	if r.MaxBytes <= 0 || r.MaxBytes > c.cfg.MaxBytes {
		ch.req.MaxBytes = c.cfg.MaxBytes
	}
	ch.resp.Started = time.Now()
	return ch, nil
}

// hop sends one request and reads its answer. It returns where a redirect leads,
// or nil when the fetch is complete.
func (ch *chain) hop(parent context.Context) (*url.URL, *Fault) {
	if ch.client.life.Err() != nil {
		return nil, ch.fault(Cancelled, errClosed)
	}
	begin := time.Now()
	w := &hop{connectTimeout: ch.req.ConnectTimeout, proxy: ch.proxy}
	ctx, cancel := context.WithTimeout(parent, ch.left)
	defer cancel()
	ctx = w.context(ctx)
	defer w.cancel(nil)
	stop := context.AfterFunc(ch.client.life, cancel)
	defer stop()

	res := &ch.resp
	res.FinalURL = ch.url.String()
	res.Code, res.Proto, res.Header = 0, "", nil
	header := ch.header()
	key := ch.seenKey(header)
	for _, s := range ch.seen {
		if s == key {
			return nil, ch.fault(RedirectLoop, nil)
		}
	}
	ch.seen = append(ch.seen, key)

	defer func() {
		took := time.Since(begin)
		ch.left -= took
		res.Total += took
	}()
	// fail makes the fault of an error while the request was under way.
	fail := func(kind Kind, err error) *Fault {
		switch {
		case parent.Err() != nil || ch.client.life.Err() != nil:
			kind = Cancelled
		case context.Cause(ctx) == errStale:
			kind, err = Connect, errStale
		case ctx.Err() != nil:
			kind = Timeout
		}
		return ch.fault(kind, err)
	}
	if ch.proxy != nil {
		// The proxy looks the name up by itself; what it finds is not known here.
		if _, err := ch.client.dial.permitted(ctx, ch.url.Hostname()); err != nil {
			return nil, fail(kindOfTrip(err, false), err)
		}
	}
	transport := ch.client.verified
	if ch.req.InsecureTLS {
		transport = ch.client.insecure
	}
	resp, err := transport.RoundTrip(ch.request(ctx, header))
	var connected bool
	connected, res.RemoteAddr, res.TTFB = w.report(begin)
	res.RequestHeader = header
	if err != nil {
		return nil, fail(kindOfTrip(err, connected), err)
	}
	defer resp.Body.Close()
	res.Code, res.Proto, res.Header = resp.StatusCode, resp.Proto, resp.Header
	res.RequestLine = ch.method + " " + ch.url.RequestURI() + " " + resp.Proto

	if isRedirect(resp.StatusCode) {
		next, fault := ch.target(resp)
		if fault == nil {
			drain(resp.Body, cancel)
		}
		return next, fault
	}
	var kind Kind
	res.Body, res.WireBytes, kind, err = readBody(resp, ch.req.MaxBytes)
	if err != nil {
		res.Truncated = true
		if kind == TooLarge {
			return nil, ch.fault(kind, err)
		}
		return nil, fail(kind, err)
	}
	return nil, nil
}

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
	if cookies := (&http.Response{Header: ch.resp.Header}).Cookies(); len(cookies) > 0 {
		if ch.jar == nil {
			ch.jar, _ = cookiejar.New(&cookiejar.Options{PublicSuffixList: publicsuffix.List})
		}
		ch.jar.SetCookies(ch.url, cookies)
	}
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

// request returns the request of the hop at hand.
func (ch *chain) request(ctx context.Context, header http.Header) *http.Request {
	// The fragment stays behind: net/http does not send it.
	req := &http.Request{
		Method: ch.method, URL: ch.url, Host: ch.url.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if ch.body != nil {
		req.ContentLength = int64(len(ch.body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(ch.body)), nil }
		req.Body, _ = req.GetBody()
	}
	return req.WithContext(ctx)
}

// notSent are the fields of Request.Header that are set here or belong to a
// connection. Some header files of old ask for "Connection: close".
var notSent = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Host": true,
	"Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true,
}

// credentials are the fields that stay with the site they were meant for.
var credentials = map[string]bool{
	"Authorization": true, "Cookie": true, "Cookie2": true, "Proxy-Authorization": true,
	"Www-Authenticate": true,
}

// header returns the header of the hop at hand, just as it goes out. net/http
// takes Host and Content-Length from elsewhere, and leaves them out of what it is
// given, so they may stand here for the record.
func (ch *chain) header() http.Header {
	h := make(http.Header, len(ch.req.Header)+6)
	for name, values := range ch.req.Header {
		name = http.CanonicalHeaderKey(name)
		if notSent[name] || !ch.trust && credentials[name] {
			continue
		}
		if ch.body == nil && strings.HasPrefix(name, "Content-") {
			continue
		}
		h[name] = append(h[name], values...)
	}
	set := func(name, value string) {
		if len(h[name]) == 0 && value != "" {
			h[name] = []string{value}
		}
	}
	h["Host"] = []string{ch.url.Host}
	h["Accept-Encoding"] = []string{acceptEncoding}
	set("User-Agent", ch.client.cfg.UserAgent)
	set("Accept", "*/*")
	if ch.body != nil {
		set("Content-Type", "application/x-www-form-urlencoded")
		h["Content-Length"] = []string{fmt.Sprint(len(ch.body))}
	}
	if user := ch.url.User; user != nil {
		password, _ := user.Password()
		set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if line := ch.cookies(h["Cookie"]); line != "" {
		h["Cookie"] = []string{line}
	}
	return h
}

// cookies returns the Cookie line: those given with the request, unless the
// chain has left its site, then those that the chain has set, which win.
func (ch *chain) cookies(given []string) string {
	line := strings.Join(given, "; ")
	if ch.trust && ch.req.Cookie != "" {
		line = ch.req.Cookie
	}
	if ch.jar == nil {
		return line
	}
	set := ch.jar.Cookies(ch.url)
	var pairs []string
	for pair := range strings.SplitSeq(line, ";") {
		pair = strings.TrimSpace(pair)
		name, _, _ := strings.Cut(pair, "=")
		replaced := pair == ""
		for _, c := range set {
			replaced = replaced || c.Name == strings.TrimSpace(name)
		}
		if !replaced {
			pairs = append(pairs, pair)
		}
	}
	for _, c := range set {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
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

// fault returns the Fault of the hop at hand with all that is known so far.
func (ch *chain) fault(kind Kind, err error) *Fault {
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

// drain reads the rest of a redirect's body, so that its connection can be used
// for the next hop. One that is long or slow is not worth it.
func drain(body io.Reader, cancel context.CancelFunc) {
	t := time.AfterFunc(drainTime, cancel)
	defer t.Stop()
	_, _ = io.CopyN(io.Discard, body, drainBytes)
}

// parseProxy reads the URL of a proxy.
func parseProxy(text string) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "http", "socks5", "socks5h":
	default:
		return nil, fmt.Errorf("scheme %q", u.Scheme)
	}
	if u.Hostname() == "" {
		return nil, errors.New("no host")
	}
	return u, nil
}
