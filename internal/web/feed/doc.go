// Package feed parses RSS, RDF, Atom and JSON feeds into entries.
//
// A lenient reader splits the document into entries. gofeed then parses each entry in a
// small well-formed document of its own. So a truncated feed gives the entries before the
// break, an invalid entry harms no other, and memory is bounded.
//
//	f, err := feed.Parse(body, feed.Options{ContentType: "application/rss+xml"})
//	for _, e := range f.Items {
//		follow(e.URL, e.Date)
//	}
//
// Entry.Document is the raw content of a FEED_PARSER row. Its entry has the names of the
// document, or in standard mode those of Python's feedparser. Links are as written; the
// caller resolves them. Source: docs/spec/crawling.md 5.10, 1.6, 4.13;
// docs/spec/processing.md 4.1.
package feed
