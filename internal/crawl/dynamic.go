package crawl

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
func (v *visit) renderPage(ctx context.Context, target string) (*answer, error) {
	timeout := v.item.url.HTTPTimeout
	if !(timeout > 0) { // as for plain requests
		timeout = float64(fetch.DefaultTimeout.Milliseconds())
	}
	limit, damping, err := browser.Limits(timeout)
	if err != nil {
		return nil, refusal{bits: errormask.FetcherInternal, reason: err.Error()}
	}
	target, macro := browser.SplitURL(target)
	if macro == nil {
		if v.settings.BadMacro {
			return nil, refusal{bits: errormask.MacroDeserialization, reason: "cannot read property FETCHER_MACRO"}
		}
		macro = v.settings.Macro
	}
	plain := v.pageRequest(target)
	if v.cut && plain.Timeout <= damping {
		return nil, budget.ErrNoTime
	}
	hops := &hops{visit: v}
	r := browser.Request{
		URL: target, Method: plain.Method, PostData: plain.Body, Timeout: min(limit, plain.Timeout), Damping: damping,
		MaxBytes: plain.MaxBytes, MaxRedirects: v.settings.Redirects, Macro: macro, Allow: hops.allowRequest, Proxy: plain.Proxy,
	}
	if v.settings.Redirects <= 0 {
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
	u, err := canonical.Net(target)
	if err != nil {
		return nil, refusal{bits: errormask.BadURL, reason: err.Error()}
	}
	r.Cookie = plain.Jar.Cookies(u)
	hops.size = r.MaxBytes
	if err := hops.reserveMemory(ctx); err != nil {
		return nil, err
	}
	page, err := v.Browser.Get(ctx, r)
	hops.awaitCheck()
	if err == nil {
		size := cap(page.Body)
		for _, part := range page.Parts {
			size += len(part.HTML)
		}
		v.memory.Keep(int64(size))
	} else {
		if seen, _ := faultsOf(err); seen != nil && seen.Kind != browser.Guard && seen.Kind != browser.Cancelled {
			v.tally.countRequest(&fetch.Response{Code: seen.Code}, err)
		}
		if v.cut && browser.KindOf(err) == browser.TimeOver {
			return nil, budget.ErrNoTime
		}
		if errors.Is(err, browser.ErrCrowded) {
			return nil, refusal{back: true, reason: err.Error()}
		}
		v.noteAnswer(nil, err)
		return nil, err
	}
	response := &fetch.Response{
		FinalURL: page.FinalURL, Code: page.Code, Header: page.Header, RequestHeader: page.RequestHeader,
		RequestLine: plain.Method + " " + u.RequestURI(), Body: page.Body,
		Started: page.Started, Total: page.Total, Repaired: page.Repaired,
	}
	for _, hop := range page.Redirects {
		response.Redirects = append(response.Redirects, fetch.Hop{URL: hop.URL, Code: hop.Code, Exchange: renderedHop(plain.Method, hop, page.Started)})
	}
	v.tally.countRequest(response, nil)
	if set := newCookies(page.Cookies, r.Cookie); len(set) > 0 {
		if final, err := canonical.Net(page.FinalURL); err == nil {
			plain.Jar.SetCookies(final, http.Header{"Set-Cookie": set})
		}
	}
	v.noteAnswer(response, nil)
	return &answer{
		Response: response, rendered: page.Rendered, kind: page.ContentType, charset: page.Charset, urls: page.MacroURLs,
		loads: page.Loads, parts: page.Parts, cut: page.Cut,
	}, nil
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
	*visit
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
	return h.memory.Grow(waiting, h.size, h.size)
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
