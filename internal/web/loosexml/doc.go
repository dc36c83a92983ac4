// Package loosexml reads XML as the web writes it: bytes of any charset to a
// balanced stream of start tags, end tags and text.
//
// Feeds and sitemaps come cut off, with undefined entities, control characters,
// wrong end tags or a declaration that lies about the charset. A strict reader
// gives nothing for them. This one never fails; it repairs what it can, passes
// over the rest and ends where the bytes end:
//
//	r := loosexml.NewReader(loosexml.UTF8(body, "text/xml"))
//	for t, ok := r.Next(); ok; t, ok = r.Next() {
//		// <a>1<b>2</a>  ->  start a, text 1, start b, text 2, end b, end a
//	}
//
// Nothing is ever expanded: a document type is skipped, and an entity is one of
// HTML's or stays as it is written. Namespaces are not resolved; names are those
// of the document, prefix included.
//
// Neighbours: feed and sitemap give the tags a meaning; extract/charset makes
// the bytes UTF-8. The lexer itself is tdewolff's. Source: docs/spec/crawling.md 4.13, 5.10.
package loosexml
