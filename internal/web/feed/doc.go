// Package feed reads the bytes of an RSS, RDF, Atom or JSON feed into entries.
//
// The idea: a document is cut into its entries first, leniently, and each entry
// is then read alone by gofeed in a small well-formed document. So a feed that
// breaks in the middle gives what stands before, a bad entry harms only itself,
// and no server decides how much is kept in memory.
//
//	f, err := feed.Parse(body, feed.Options{ContentType: "application/rss+xml"})
//	for _, e := range f.Items {
//		follow(e.URL, e.Date)
//	}
//
// What becomes the raw content of a FEED_PARSER row is Entry.Document. Its entry
// holds the names of the document, or in standard mode the names that users of
// Python's feedparser know.
//
// Neighbours: crawl turns entries into rows and resolves their links against the
// feed's URL; loosexml reads the XML; sitemap sends a feed that serves as sitemap
// here. Source: docs/spec/crawling.md 5.10, 1.6, 4.13; docs/spec/processing.md 4.1.
package feed
