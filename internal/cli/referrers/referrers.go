// Package referrers reads who links to what in the stored pages of a site. Nothing is kept for it while
// a site is crawled: a question reads the stored pages.
//
//	err := referrers.Read(ctx, pages.Reader{Service: service, Site: site}, func(to string, from referrers.Referrer) error { … })
//
//	index, err := referrers.NewIndex(ctx, reader, scratch) // for all URLs, in the order of their keys
//	list, err := index.Of(key)
package referrers

import (
	"context"

	"hce/dc/canonical"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/links"
	"hce/dc/internal/wire"
)

// Referrer is a link of a stored page.
type Referrer struct {
	URL     string `json:"url"`     // of the page
	Element string `json:"element"` // and attribute, such as a[href]; header[link]; redirect
	Text    string `json:"text"`    // inside an a element, on one line, at most 200 bytes; else ""

	Row *wire.URL `json:"-"` // of the page
}

// linking is the condition of rows that may have links: texts, and redirects. The counters of links do not
// tell it: sitemaps, feeds and pages with nofollow have none.
const linking = "`Crawled`>0 AND (`Redirects`<>'' OR `Size`>0 AND (`ContentType` LIKE 'text/%' OR `ContentType` LIKE '%xml%'))"

// Read calls each for every link in the newest content of the pages of the reader's site, in the order of
// the keys of the pages; a page names each link once. Where and Needs of the reader are set here. to is the
// canonical URL, or the link as written if its scheme is not http or https. Links that only rules of the
// site give are missing. An error of each ends the reading.
func Read(ctx context.Context, reader pages.Reader, each func(to string, from Referrer) error) error {
	reader.Where, reader.Needs = linking, pages.Raw|pages.Headers
	return reader.Read(ctx, "", func(p *pages.Page) error {
		for _, l := range linksOf(p) {
			if err := each(l.URL, Referrer{p.URL.URL, elementOf(l), l.Text, &p.URL}); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// redirects is the Tag of a link that a server or a refresh follows by itself.
const redirects = "redirect"

func elementOf(l links.Link) string {
	if l.Attr == "" { // the text of an XML element, or a redirect
		return l.Tag
	}
	return l.Tag + "[" + l.Attr + "]"
}

// linksOf returns the links of a page, with canonical URLs, each once.
func linksOf(p *pages.Page) []links.Link {
	found := links.Page{}
	switch {
	case p.LeadsToPage: // that page has them
	case p.ContentType == "text/css":
		found = links.CSS(p.Raw, 0)
	case content.IsText(p.ContentType) || content.IsXML(p.ContentType):
		found = links.Named(p.Raw, content.IsXML(p.ContentType) && !content.IsHTML(p.ContentType))
	}
	own := p.URL.URL
	list, seen := []links.Link{}, map[string]bool{}
	add := func(base string, l links.Link) {
		if content.IsHTML(p.ContentType) {
			l.URL = charset.EncodeQuery(l.URL, p.Charset)
		}
		to, err := canonical.Web.Resolve(base, l.URL)
		if to = canonical.WithoutFragment(to); err != nil {
			to = l.URL
		}
		if !seen[to] {
			seen[to], l.URL = true, to
			list = append(list, l)
		}
	}
	for _, hop := range p.Hops() {
		add(own, links.Link{URL: hop.URL, Tag: redirects})
		own = hop.URL
	}
	base := own
	if found.Base != "" {
		if to, err := canonical.Web.Resolve(own, found.Base); err == nil {
			base = to
		}
	}
	for _, l := range found.Links {
		add(base, l)
	}
	for _, l := range append(links.Header(p.HeaderValues("Link")), links.Addresses(p.HeaderValues("Refresh"), p.HeaderValues("Content-Location"))...) {
		add(own, l)
	}
	return list
}
