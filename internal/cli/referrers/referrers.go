// Package referrers reads who links to what in the stored pages of a site. Nothing is kept for it while
// a site is crawled: a question reads the stored pages.
//
//	err := referrers.Read(ctx, service, site, func(to string, from referrers.Referrer) error { … })
package referrers

import (
	"context"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/cli/pages"
	"hce/dc/internal/web/canonical"
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/links"
)

// Referrer is a link of a stored page.
type Referrer struct {
	URL     string `json:"url"`     // of the page
	Element string `json:"element"` // and attribute, such as a[href]
	Text    string `json:"text"`    // inside an a element, on one line, at most 200 bytes; else ""
}

// linking is the condition of pages in which the crawler has found links.
const linking = "`Crawled`>0 AND (`LinksI`>0 OR `LinksE`>0)"

// Read calls each for every link in the newest content of the pages of a site, in the order of the keys
// of the pages; a page names each link once. to is the canonical URL. Links that only rules of the site
// or headers give are missing. An error of each ends the reading.
func Read(ctx context.Context, service client.Service, site string, each func(to string, from Referrer) error) error {
	reader := pages.Reader{Service: service, Site: site, Where: linking, Needs: pages.Raw}
	return reader.Read(ctx, "", func(p *pages.Page) error {
		for _, l := range linksOf(p) {
			if err := each(l.URL, Referrer{URL: p.URL.URL, Element: l.Tag + "[" + l.Attr + "]", Text: l.Text}); err != nil {
				return err
			}
		}
		return nil
	}, nil)
}

// linksOf returns the links of a page, with canonical URLs.
func linksOf(p *pages.Page) []links.Link {
	var found links.Page
	switch {
	case p.ContentType == "text/css":
		found = links.CSS(p.Raw, 0)
	default:
		found = links.Named(p.Raw, content.IsXML(p.ContentType) && !content.IsHTML(p.ContentType))
	}
	base := p.URL.URL
	if hops := p.Hops(); len(hops) > 0 {
		base = hops[len(hops)-1].URL
	}
	if found.Base != "" {
		if to, err := canonical.Web.Resolve(base, found.Base); err == nil {
			base = to
		}
	}
	list := found.Links[:0]
	for _, l := range found.Links {
		if to, err := canonical.Web.Resolve(base, l.URL); err == nil {
			l.URL = to
			list = append(list, l)
		}
	}
	return list
}
