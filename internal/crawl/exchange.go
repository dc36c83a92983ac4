package crawl

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

// addExchange adds response headers, request and cookies as files, as the site configures
// (docs/spec/steps.md 1 #19, #20).
func (r *batchRun) addExchange(out *outcome, p page) {
	if p.settings.StoreHeaders {
		var first string
		if p.Code/100 == 2 { // what the server sent with a page, for archives
			first = strings.ToValidUTF8(p.StatusLine, "\uFFFD")
		}
		head := headerText(p.Header, first)
		if p.settings.IsFeedSite() && p.item.parent != "" {
			head = append(head, "X-feed_url: "+clipLine(p.item.parent)+"\r\n"...)
			if date := p.feedDate(); date != "" {
				head = append(head, "X-pubdateRssFeed: "+string(date)+"\r\n"...)
			}
		}
		if p.item.baseURL != "" {
			head = append(head, "X-base_url: "+p.item.publicURL(p.item.baseURL)+"\r\n"...)
		}
		if len(p.Redirects) > 0 {
			head = append(head, "Location: "+clipLine(p.item.publicURL(p.FinalURL))+"\r\n"...)
		}
		out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentHeaders, Data: head})
	}
	if p.settings.StoreRequest && !p.item.byService() {
		out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentRequests, Data: headerText(p.RequestHeader, p.RequestLine)})
	}
	if set := p.Header.Values("Set-Cookie"); p.settings.StoreCookies && len(set) > 0 {
		text := strings.ToValidUTF8(strings.Join(set, "\r\n")+"\r\n", "\uFFFD")
		out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentCookies, Data: []byte(text)})
	}
	if len(p.Redirects) > 0 && p.settings.StoreHeaders && !p.item.byService() {
		if hops := hopAnswers(p.item.url.URL, p.Response, p.settings.StoreRequest); len(hops) > 0 {
			out.result.Files = append(out.result.Files, wire.File{Type: wire.ContentHops, Data: hops})
		}
	}
	out.computeMemory()
}

// hopURLs returns the canonical URLs of the hops of a response to first, and its last one. net/url cannot
// hold a bare percent sign, so they are resolved from first on, as the links of pages are.
func hopURLs(first string, response *fetch.Response) (list []string) {
	same := func(text, url string) bool {
		return strings.ReplaceAll(text, "%25", "%") == strings.ReplaceAll(canonical.WithoutFragment(url), "%25", "%")
	}
	at := first
	for i := range len(response.Redirects) + 1 {
		asked := response.FinalURL
		if i < len(response.Redirects) {
			asked = response.Redirects[i].URL
		}
		if !same(at, asked) {
			at = canonical.WithoutFragment(asked)
			if text, err := canonical.Canonical(at); err == nil {
				at = text
			}
		}
		list = append(list, at)
		if i < len(response.Redirects) && response.Redirects[i].Exchange != nil {
			if next, err := canonical.Web.Resolve(at, response.Redirects[i].Exchange.Header.Get("Location")); err == nil {
				at = next
			}
		}
	}
	return list
}

// hopAnswers returns the content ContentHops of a response to first, nil if the answer of no redirect is known.
func hopAnswers(first string, response *fetch.Response, requests bool) []byte {
	var list []wire.HopAnswer
	urls := hopURLs(first, response)
	for i, hop := range response.Redirects {
		x := hop.Exchange
		if x == nil {
			continue
		}
		answer := wire.HopAnswer{URL: urls[i], At: x.At.UTC(), Head: string(headerText(x.Header, x.StatusLine)), Body: x.Body, Cut: x.Cut}
		if requests {
			answer.Request = string(headerText(x.RequestHeader, x.RequestLine))
		}
		list = append(list, answer)
	}
	if list == nil {
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		panic(err) // cannot happen: a struct of texts
	}
	return text
}

// maxRefreshing bounds the body of a page with a refresh that is kept with the page that it leads to.
const maxRefreshing = 16 << 10

// exchangeOf returns the exchange of a page that leads to another one by its refresh. The fields of
// codings are left out, because the body is decoded.
func exchangeOf(response *fetch.Response) *fetch.Exchange {
	header := response.Header.Clone()
	for _, name := range []string{"Content-Encoding", "Content-Length"} {
		header.Del(name)
	}
	_, proto, _ := strings.Cut(response.RequestLine, " HTTP/")
	body := response.Body[:min(len(response.Body), maxRefreshing)]
	return &fetch.Exchange{
		At: response.Started.Add(response.Total), RequestLine: response.RequestLine, RequestHeader: response.RequestHeader, Header: header,
		StatusLine: statusLine(cmp.Or(proto, "1.1"), response.Code),
		Body:       slices.Clone(body), Cut: len(body) < len(response.Body),
	}
}

// statusLine returns the first line of an answer whose own one is not known.
func statusLine(version string, code int) string {
	return fmt.Sprintf("HTTP/%s %d %s", version, code, http.StatusText(code))
}

// setRedirects sets the column Redirects of an outcome whose answer, or what is known of it, is response.
func (o *outcome) setRedirects(response *fetch.Response) {
	var hops []wire.Hop
	if response != nil {
		urls := hopURLs(o.item.url.URL, response)
		for i, hop := range response.Redirects {
			hops = append(hops, wire.Hop{Code: int64(hop.Code), URL: o.item.publicURL(urls[i+1])})
		}
	}
	text := wire.RedirectsOf(hops)
	if text != o.item.row.Redirects { // most pages have none: their rows are not touched
		o.result.Set["Redirects"] = text
	}
	o.item.url.Redirects = text
}

// headerText returns a block of "Name: value" lines, sorted by name.
func headerText(h http.Header, first string) []byte {
	var b bytes.Buffer
	if first != "" {
		b.WriteString(first + "\r\n")
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b.WriteString(strings.ToValidUTF8(name+": "+value, "\uFFFD"))
			b.WriteString("\r\n")
		}
	}
	return b.Bytes()
}
