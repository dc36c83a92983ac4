package explain

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/reader"
	"hce/dc/internal/crawl/settings"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/secret"
)

// Request is the request that would be sent.
type Request struct {
	Method           string      `json:"method"`
	URL              string      `json:"url"`
	Header           http.Header `json:"headers"`
	Cookie           string      `json:"cookie"`
	Proxy            string      `json:"proxy"`
	Fetcher          string      `json:"fetcher"` // static, dynamic or external
	TimeoutMs        int64       `json:"timeoutMs"`
	ConnectTimeoutMs int64       `json:"connectTimeoutMs"`
	MaxBytes         int64       `json:"maxBytes"`
	MaxRedirects     int         `json:"maxRedirects"`
	MaxHTMLRedirects int         `json:"maxHtmlRedirects"`
}

// Fetch is the result of the real request. It is not stored.
type Fetch struct {
	Error       string      `json:"error,omitempty"`
	ErrorNames  []string    `json:"errorNames"` // error bits that the URL would get
	HTTPCode    int         `json:"httpCode"`
	FinalURL    string      `json:"finalUrl"`
	Redirects   []fetch.Hop `json:"redirects"`
	Header      http.Header `json:"headers"`
	RemoteAddr  string      `json:"remoteAddress"`
	ContentType string      `json:"contentType"`
	Charset     string      `json:"charset"`
	Robots      []string    `json:"robots"` // directives of the page, as of Row
	Until       schema.Date `json:"unavailableAfter"`
	Canonical   string      `json:"canonical"`
	Size        int64       `json:"size"`
	TotalMs     int64       `json:"totalMs"`
	LinksI      int64       `json:"linksI"`
	LinksE      int64       `json:"linksE"`
	NewURLs     []string    `json:"newUrls"` // links that would become rows, at most 100
}

// explainRequest fills in the request that would be sent.
func (e *Explanation) explainRequest(v *visit.Visit) {
	it := v.Item
	q := v.PageRequest(it.Target)
	e.Request = &Request{
		Method: q.Method, URL: it.PublicURL(q.URL), Header: withoutSecrets(q.Header), Cookie: cookieOf(q), Proxy: proxyOf(it.Settings), Fetcher: fetcherName(v.FetcherKind()),
		TimeoutMs: q.Timeout.Milliseconds(), ConnectTimeoutMs: q.ConnectTimeout.Milliseconds(),
		MaxBytes: q.MaxBytes, MaxRedirects: q.MaxRedirects, MaxHTMLRedirects: max(it.Settings.HTMLRedirects, 0),
	}
	if referer := e.Request.Header.Get("Referer"); referer != "" {
		e.Request.Header.Set("Referer", it.PublicURL(referer))
	}
}

// tryFetch requests and reads the page as a batch would.
func tryFetch(ctx context.Context, pages *reader.Reader, v *visit.Visit) *Fetch {
	it := v.Item
	f := &Fetch{ErrorNames: []string{}, Robots: []string{}, Redirects: []fetch.Hop{}, NewURLs: []string{}}
	a, err := v.FetchURL(ctx)
	v.LeaveSlot()
	var response *fetch.Response
	if a != nil {
		response = a.Response
	}
	if err != nil {
		bits, code := visit.FaultBits(err)
		f.Error, f.ErrorNames, f.HTTPCode = strings.ReplaceAll(err.Error(), it.Target, it.PublicURL(it.Target)), bits.Names(), code
		if fault, ok := errors.AsType[*fetch.Fault](err); ok {
			response = fault.Partial
		}
	}
	if response == nil {
		return f
	}
	f.HTTPCode, f.FinalURL, f.Header, f.RemoteAddr = response.Code, it.PublicURL(response.FinalURL), answerWithoutSecrets(response.Header), response.RemoteAddr
	f.Redirects = append(f.Redirects, response.Redirects...)
	f.Size, f.TotalMs = int64(len(response.Body)), response.Total.Milliseconds()
	if err != nil {
		return f
	}
	out := pages.ReadOutcome(ctx, reader.Page{Item: it, Answer: a})
	f.ErrorNames, f.ContentType, f.Charset = it.Row.ErrorMask.Names(), it.Row.ContentType, it.Row.Charset
	f.Robots, f.Until, f.Canonical = robotsOf(&it.Row), it.Row.UnavailableAfter, it.Row.Canonical
	f.LinksI, f.LinksE = it.Row.LinksI, it.Row.LinksE
	for _, l := range out.Result.Links[:min(len(out.Result.Links), mostExplained)] {
		f.NewURLs = append(f.NewURLs, l.URL.URL)
	}
	return f
}

// cookieOf returns the cookies of a request with their names only.
func cookieOf(r fetch.Request) string {
	u, err := canonical.Net(r.URL)
	if err != nil {
		return ""
	}
	var shown []string
	for pair := range strings.SplitSeq(r.Jar.Cookies(u), ";") {
		if name, _, _ := strings.Cut(strings.TrimSpace(pair), "="); name != "" {
			shown = append(shown, name+"="+secret.Hidden)
		}
	}
	return strings.Join(shown, "; ")
}

// proxyOf says whether a proxy would be used. Choosing one would count as a use.
func proxyOf(s *settings.Settings) string {
	if s.Proxy.Used() {
		return "one of the site's pool"
	}
	return ""
}

func fetcherName(kind int) string {
	return cmp.Or(map[int]string{visit.FetcherDynamic: "dynamic", visit.FetcherExternal: "external"}[kind], "static")
}

// answerWithoutSecrets returns the headers of an answer without the values that may be secret.
func answerWithoutSecrets(h http.Header) http.Header {
	shown := h.Clone()
	for name, values := range shown {
		for i := range values {
			values[i] = secret.ShowAnswerField(name, values[i])
		}
	}
	return shown
}

// withoutSecrets returns the headers of a request without the values that may be secret.
func withoutSecrets(h http.Header) http.Header {
	shown := h.Clone()
	for name := range shown {
		if !secret.IsPublicField(name) {
			shown.Set(name, secret.Hidden)
		}
	}
	return shown
}
