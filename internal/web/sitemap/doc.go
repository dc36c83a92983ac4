// Package sitemap reads the bytes of a sitemap, or of an index of sitemaps, into
// entries.
//
// The forms of sitemaps.org are read: XML in any namespace or none, with the
// images and languages that search engines added; text with a URL a line; both
// also packed with gzip. What breaks off or breaks gives the entries before it.
//
//	s, err := sitemap.Parse(body, sitemap.Options{})
//	switch {
//	case errors.Is(err, sitemap.ErrFeed): // read it with package feed
//	case s.Index: // each Loc is a sitemap to fetch
//	}
//
// Neighbours: crawl finds the sitemaps in robots.txt and makes rows of the
// entries; loosexml reads the XML; feed reads the RSS and Atom feeds that serve
// as sitemaps. Source: docs/spec/crawling.md 5.1 (missing there: sitemaps), sitemaps.org
// protocol 0.9.
package sitemap
