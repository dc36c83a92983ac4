package article

import (
	"net/url"
	"path"
	"strings"

	"golang.org/x/net/html"
)

// base is the URL that the links of a page are relative to.
type base struct{ url *url.URL }

// newBase resolves the href of a base element against the URL of the page. A
// page without a usable URL has an empty base, which resolves absolute links.
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

// lineBreaks is what the URL standard drops from the inside of a URL.
var lineBreaks = strings.NewReplacer("\n", "", "\r", "", "\t", "")

// resolve returns the absolute http or https URL of ref without its fragment,
// "" when it is none.
func (b base) resolve(ref string) string {
	if ref == "" {
		return ""
	}
	u, err := b.url.Parse(lineBreaks.Replace(ref))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return ""
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// resolveAll makes the links and images below node absolute.
func (b base) resolveAll(node *html.Node) {
	for n := range node.Descendants() {
		for i, a := range n.Attr {
			if a.Key != "href" && a.Key != "src" {
				continue
			}
			if u := b.resolve(a.Val); u != "" {
				n.Attr[i].Val = u
			}
		}
	}
}

// titleOfURL makes a title of the last segment of a URL, else of its host.
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
