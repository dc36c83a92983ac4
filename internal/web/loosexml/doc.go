// Package loosexml reads invalid XML: bytes of any charset in, a balanced stream of start
// tags, end tags and text out.
//
// Feeds and sitemaps can be truncated, have undefined entities, control characters, wrong
// end tags or a wrong charset declaration. A strict reader rejects them. This one never
// fails: it repairs or skips errors and ends with the bytes:
//
//	r := loosexml.NewReader(loosexml.UTF8(body, "text/xml"))
//	for t, ok := r.Next(); ok; t, ok = r.Next() {
//		// <a>1<b>2</a>  ->  start a, text 1, start b, text 2, end b, end a
//	}
//
// It expands no declared entities: it skips the document type, and decodes only HTML's
// entities. It does not resolve namespaces; names include their prefix. Source:
// docs/spec/crawling.md 4.13, 5.10.
package loosexml
