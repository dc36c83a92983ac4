package reader

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/item"
	"hce/dc/internal/wire"
)

// addExchange adds response headers, request and cookies as files, as the site configures
// (docs/spec/steps.md 1 #19, #20).
func (r *Reader) addExchange(out *item.Outcome, p Page) {
	if p.Settings.StoreHeaders {
		var first string
		if p.Code/100 == 2 { // what the server sent with a page, for archives
			first = strings.ToValidUTF8(p.StatusLine, "\uFFFD")
		}
		head := headerText(p.Header, first)
		if p.Settings.IsFeedSite() && p.Item.ParentURL != "" {
			head = append(head, "X-feed_url: "+clipLine(p.Item.ParentURL)+"\r\n"...)
			if date := p.feedDate(); date != "" {
				head = append(head, "X-pubdateRssFeed: "+string(date)+"\r\n"...)
			}
		}
		if p.Item.Base != "" {
			head = append(head, "X-base_url: "+p.Item.PublicURL(p.Item.Base)+"\r\n"...)
		}
		if len(p.Redirects) > 0 {
			head = append(head, "Location: "+clipLine(p.Item.PublicURL(p.FinalURL))+"\r\n"...)
		}
		out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentHeaders, Data: head})
	}
	if p.Settings.StoreRequest && !p.Item.ByService() {
		out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentRequests, Data: headerText(p.RequestHeader, p.RequestLine)})
	}
	if set := p.Header.Values("Set-Cookie"); p.Settings.StoreCookies && len(set) > 0 {
		text := strings.ToValidUTF8(strings.Join(set, "\r\n")+"\r\n", "\uFFFD")
		out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentCookies, Data: []byte(text)})
	}
	if len(p.Redirects) > 0 && p.Settings.StoreHeaders && !p.Item.ByService() {
		if hops := hopAnswers(p.Item.Row.URL, p.Response, p.Settings.StoreRequest); len(hops) > 0 {
			out.Result.Files = append(out.Result.Files, wire.File{Type: wire.ContentHops, Data: hops})
		}
	}
	out.ComputeMemory()
}

// hopAnswers returns the content ContentHops of a response to first, nil if the answer of no redirect is known.
func hopAnswers(first string, response *fetch.Response, requests bool) []byte {
	var list []wire.HopAnswer
	urls := item.HopURLs(first, response)
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
