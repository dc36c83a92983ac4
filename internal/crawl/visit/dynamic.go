package visit

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/crawl/budget"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire/errormask"
)

// renderPage loads target in a browser. The part of a URL after ### is a script for that page
// (docs/spec/crawling.md 4.9).
//
// The caller holds the gate. Each redirect, also by script, is a hop.
func (v *Visit) renderPage(ctx context.Context, target string) (*Answer, error) {
	r, plain, err := v.browserRequest(target)
	if err != nil {
		return nil, err
	}
	u, err := canonical.Net(r.URL)
	if err != nil {
		return nil, Refusal{Bits: errormask.BadURL, reason: err.Error()}
	}
	r.Cookie = plain.Jar.Cookies(u)
	hops := &hops{Visit: v, size: r.MaxBytes}
	r.Allow = hops.allowRequest
	if err := hops.reserveMemory(ctx); err != nil {
		return nil, err
	}
	page, err := v.Env.Browser.Get(ctx, r)
	hops.awaitCheck()
	if err != nil {
		return nil, v.noteBrowserFault(err)
	}
	size := cap(page.Body)
	for _, part := range page.Parts {
		size += len(part.HTML)
	}
	v.Memory.Keep(int64(size))
	response := renderedResponse(page, plain.Method, u)
	v.Env.Tally.countRequest(response, nil)
	if set := newCookies(page.Cookies, r.Cookie); len(set) > 0 {
		if final, err := canonical.Net(page.FinalURL); err == nil {
			plain.Jar.SetCookies(final, http.Header{"Set-Cookie": set})
		}
	}
	v.noteAnswer(response, nil)
	return &Answer{
		Response: response, Rendered: page.Rendered, Kind: page.ContentType, Charset: page.Charset, MacroURLs: page.MacroURLs,
		Loads: page.Loads, Parts: page.Parts, Cut: page.Cut,
	}, nil
}

// browserRequest returns the request of a browser for target, without Allow and cookies, and the plain request for the
// same page.
func (v *Visit) browserRequest(target string) (r browser.Request, plain fetch.Request, err error) {
	timeout := v.Item.Row.HTTPTimeout
	if !(timeout > 0) { // as for plain requests
		timeout = float64(fetch.DefaultTimeout.Milliseconds())
	}
	limit, damping, err := browser.Limits(timeout)
	if err != nil {
		return r, plain, Refusal{Bits: errormask.FetcherInternal, reason: err.Error()}
	}
	target, macro := browser.SplitURL(target)
	if macro == nil {
		if v.Settings.BadMacro {
			return r, plain, Refusal{Bits: errormask.MacroDeserialization, reason: "cannot read property FETCHER_MACRO"}
		}
		macro = v.Settings.Macro
	}
	plain = v.PageRequest(target)
	if v.cut && plain.Timeout <= damping {
		return r, plain, budget.ErrNoTime
	}
	r = browser.Request{
		URL: target, Method: plain.Method, PostData: plain.Body, Timeout: min(limit, plain.Timeout), Damping: damping,
		MaxBytes: plain.MaxBytes, MaxRedirects: v.Settings.Redirects, Macro: macro, Proxy: plain.Proxy,
	}
	if v.Settings.Redirects <= 0 {
		r.MaxRedirects = -1
	}
	for name, values := range plain.Header {
		if strings.EqualFold(name, "User-Agent") {
			r.UserAgent = values[0]
			continue
		}
		for _, value := range values {
			r.Header = append(r.Header, browser.Header{Name: name, Value: value})
		}
	}
	return r, plain, nil
}

// noteBrowserFault notes a page that the browser did not load, and returns the error of the item.
func (v *Visit) noteBrowserFault(err error) error {
	if seen, _ := faultsOf(err); seen != nil && seen.Kind != browser.Guard && seen.Kind != browser.Cancelled {
		v.Env.Tally.countRequest(&fetch.Response{Code: seen.Code}, err)
	}
	if v.cut && browser.KindOf(err) == browser.TimeOver {
		return budget.ErrNoTime
	}
	if errors.Is(err, browser.ErrCrowded) {
		return Refusal{Back: true, reason: err.Error()}
	}
	v.noteAnswer(nil, err)
	return err
}

// renderedResponse returns a page of the browser as the response to a request of u.
func renderedResponse(page *browser.Page, method string, u *url.URL) *fetch.Response {
	response := &fetch.Response{
		FinalURL: page.FinalURL, Code: page.Code, Header: page.Header, RequestHeader: page.RequestHeader,
		RequestLine: method + " " + u.RequestURI(), Body: page.Body,
		Started: page.Started, Total: page.Total, Repaired: page.Repaired,
	}
	for _, hop := range page.Redirects {
		response.Redirects = append(response.Redirects, fetch.Hop{URL: hop.URL, Code: hop.Code, Exchange: renderedHop(method, hop, page.Started)})
	}
	return response
}

// renderedHop returns the exchange of a redirect in the browser, nil if a script or a refresh led on.
func renderedHop(method string, hop browser.Hop, at time.Time) *fetch.Exchange {
	if hop.Header == nil {
		return nil
	}
	return &fetch.Exchange{
		At: at, RequestLine: method + " " + canonical.Split(hop.URL).Request(), RequestHeader: hop.RequestHeader,
		StatusLine: "HTTP/1.1 " + hop.Status, Header: hop.Header, Body: hop.Body, Cut: hop.Cut,
	}
}

// hops checks each document request of a page in a browser.
type hops struct {
	*Visit
	size  int64 // maximum memory of the page
	mu    sync.Mutex
	asked bool // the first request was checked by the visit
	over  bool // the page is done: the visit must not be used any more
}

// allowRequest checks a request of the browser. It holds the gate if it returns nil.
func (h *hops) allowRequest(ctx context.Context, next *url.URL) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over:
		return budget.ErrNoTime
	case !h.asked:
		h.asked = true
		return nil
	}
	if err := h.checkRedirect(ctx, next); err != nil {
		return err
	}
	return h.reserveMemory(ctx)
}

// reserveMemory waits for the memory of the page, which a hop released while it waited.
func (h *hops) reserveMemory(ctx context.Context) error {
	waiting, cancel := h.untilEnd(ctx)
	defer cancel()
	return h.Memory.Grow(waiting, h.size, h.size)
}

// awaitCheck waits for a running check, which a failed page may leave behind.
func (h *hops) awaitCheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = true
}

// newCookies removes cookies that were sent with the request: they belong to the jar or to the
// site's property. A cookie with a new expiry stays.
func newCookies(lines []string, sent string) []string {
	known := map[string]bool{}
	for pair := range strings.SplitSeq(sent, ";") {
		known[strings.TrimSpace(pair)] = true
	}
	var list []string
	for _, line := range lines {
		pair, attributes, _ := strings.Cut(line, ";")
		if !known[pair] || strings.Contains(attributes, "Expires=") {
			list = append(list, line)
		}
	}
	return list
}
