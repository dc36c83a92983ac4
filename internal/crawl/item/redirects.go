package item

import (
	"strings"

	"hce/dc/canonical"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/wire"
)

// HopURLs returns the canonical URLs of the hops of a response to first, and its last one. net/url cannot
// hold a bare percent sign, so they are resolved from first on, as the links of pages are.
func HopURLs(first string, response *fetch.Response) (list []string) {
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

// SetRedirects sets the column Redirects of an outcome whose answer, or what is known of it, is response.
func (o *Outcome) SetRedirects(response *fetch.Response) {
	var hops []wire.Hop
	if response != nil {
		urls := HopURLs(o.Item.Row.URL, response)
		for i, hop := range response.Redirects {
			hops = append(hops, wire.Hop{Code: int64(hop.Code), URL: o.Item.PublicURL(urls[i+1])})
		}
	}
	text := wire.RedirectsOf(hops)
	if text != o.Item.Before.Redirects { // most pages have none: their rows are not touched
		o.Result.Set["Redirects"] = text
	}
	o.Item.Row.Redirects = text
}
