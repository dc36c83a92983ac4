// Package content says what a response is and which of a site's rules apply to
// it: its MIME type, whether the type is wanted and stored, what is replaced in
// it, and which dates it has.
//
// Types are texts such as "text/html": lower case, without parameters. Each
// property of a site has a Parse function; an error reads well after
// `property NAME `, and the value beside it is the zero one, which does nothing.
// Nothing here changes once it is made, so all of it is safe for many goroutines.
//
//	kind := content.Sniff(header.Get("Content-Type"), body)
//	kind = typeMap.Map(kind)
//	if !allowed.Holds(kind) {
//		return wire.ErrMIME
//	}
//	text, err := replace.Apply(string(body), conditionHolds)
//
// Neighbours: crawl asks; package prop reads the JSON of properties; package
// extract/charset turns the bytes into text; package revalidate tells whether a
// page has changed. Sources: docs/spec/crawling.md 2.3, 3 and 4.13.
package content
