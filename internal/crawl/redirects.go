package crawl

import (
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

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
