package article

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
)

// base is the base URL of the links of a page.
type base struct{ url *url.URL }

// newBase resolves the href of a base element against the URL of the page. The base of an
// invalid pageURL is empty and resolves absolute links only.
func newBase(pageURL, href string) base {
	page, err := url.Parse(pageURL)
	if err != nil {
		page = &url.URL{}
	}
	if href != "" {
		if u, err := page.Parse(href); err == nil {
			page = u
		}
	}
	return base{page}
}

// lineBreaks removes the characters that the URL standard ignores inside a URL.
var lineBreaks = strings.NewReplacer("\n", "", "\r", "", "\t", "")

// resolve returns the absolute http or https URL of ref without its fragment. It returns
// "" for other and invalid URLs.
func (b base) resolve(ref string) string {
	u := b.join(ref)
	if u == nil {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// join returns the absolute http or https URL of ref. It returns nil for other and invalid
// URLs.
func (b base) join(ref string) *url.URL {
	if ref == "" {
		return nil
	}
	u, err := b.url.Parse(lineBreaks.Replace(strings.TrimSpace(ref)))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	return u
}

// resolveAll makes the links and images below node absolute. Fragments stay.
func (b base) resolveAll(node *html.Node) {
	for n := range node.Descendants() {
		for i, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" {
				continue
			}
			if u := b.join(a.Val); u != nil {
				n.Attr[i].Val = u.String()
			}
		}
	}
}

// titleOfURL returns the last path segment of a URL, or its host.
func titleOfURL(pageURL string) string {
	u, err := url.Parse(pageURL)
	if err != nil {
		return pageURL
	}
	if name := path.Base(strings.TrimRight(u.Path, "/")); name != "." && name != "/" {
		return name
	}
	return first(u.Host, pageURL)
}
