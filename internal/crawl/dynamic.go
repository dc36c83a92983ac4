package crawl

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"hce/dc/internal/browser"
	"hce/dc/internal/dc"
	"hce/dc/internal/fetch"
)

// render has a browser make a page of target. What stands behind ### in a URL is
// a script for that page (crawling 4.9).
func (v *visit) render(ctx context.Context, target string) (*answer, error) {
	limit, damping, err := browser.Limits(v.item.url.HTTPTimeout)
	if err != nil {
		return nil, refusal{bits: dc.ErrFetcherInternal, reason: err.Error()}
	}
	target, macro := browser.SplitURL(target)
	if macro == nil {
		macro = v.settings.macro
	}
	plain := v.pageRequest(target)
	r := browser.Request{
		URL: target, Method: plain.Method, PostData: plain.Body, Timeout: min(limit, plain.Timeout), Damping: damping,
		MaxBytes: plain.MaxBytes, MaxRedirects: v.settings.redirects, Macro: macro, Allow: v.hop,
	}
	if v.settings.redirects <= 0 {
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
	u, err := url.Parse(target)
	if err != nil {
		return nil, refusal{bits: dc.ErrBadURL, reason: err.Error()}
	}
	r.Cookie = plain.Jar.Cookies(u)
	reserve := func(ctx context.Context) error {
		waiting, cancel := v.untilEnd(ctx)
		defer cancel()
		return v.memory.Grow(waiting, r.MaxBytes, r.MaxBytes)
	}
	r.Allow = func(ctx context.Context, next *url.URL) error {
		if err := v.hop(ctx, next); err != nil {
			return err
		}
		return reserve(ctx)
	}
	if err := reserve(ctx); err != nil {
		return nil, err
	}
	page, err := v.Browser.Get(ctx, r)
	if err == nil {
		v.memory.Keep(int64(cap(page.Body)))
	} else {
		if v.cut && browser.KindOf(err) == browser.TimeOver {
			return nil, errNoTime
		}
		return nil, err
	}
	response := &fetch.Response{
		FinalURL: page.FinalURL, Code: page.Code, Header: page.Header, RequestHeader: page.RequestHeader,
		RequestLine: plain.Method + " " + u.RequestURI(), Body: page.Body, WireBytes: int64(len(page.Body)),
		Started: page.Started, Total: page.Total,
	}
	for _, hop := range page.Redirects {
		response.Redirects = append(response.Redirects, fetch.Hop{URL: hop.URL, Code: hop.Code})
	}
	if len(page.Cookies) > 0 {
		if final, err := url.Parse(page.FinalURL); err == nil {
			plain.Jar.SetCookies(final, http.Header{"Set-Cookie": page.Cookies})
		}
	}
	v.hold = v.troubles.after(v.host, response, fetch.None, v.Config.Backoff, v.Now())
	return &answer{
		Response: response, rendered: page.Rendered, kind: page.ContentType, charset: page.Charset, urls: page.MacroURLs,
	}, nil
}
