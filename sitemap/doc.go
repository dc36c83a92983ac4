// Package sitemap parses sitemaps and sitemap indexes into entries.
//
// It reads the formats of sitemaps.org: XML in any namespace, and text with one URL per
// line; both also with gzip. Of the extensions it reads only the date of news. A truncated
// or broken body gives the entries before the break. An entry with several loc elements gives one
// entry for each.
//
//	s, err := sitemap.Parse(body, sitemap.Options{})
//	switch {
//	case errors.Is(err, sitemap.ErrFeed): // parse it with package feed
//	case s.Index: // each Loc is a sitemap to fetch
//	}
//
// Source: docs/spec/crawling.md 5.1 (sitemaps are missing there), sitemaps.org protocol
// 0.9.
package sitemap
