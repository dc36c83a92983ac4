// Package content classifies a response and applies a site's rules to it: its MIME type,
// whether that type is accepted and stored, replacements in the text, and its dates.
//
//	kind := content.Sniff(header.Get("Content-Type"), body)
//	kind = typeMap.Map(kind)
//	if !allowed.Holds(kind) {
//		return errormask.MIME
//	}
//	text, err := replace.Apply(string(body), conditionHolds)
//
// Types are texts such as "text/html": lower case, without parameters. Each property of a
// site has a Parse function. Its error continues the sentence `property NAME `, and its
// value then is the zero value, which does nothing. No value changes after it is made, so
// goroutines may share all of them. Sources: docs/spec/crawling.md 2.3, 3 and 4.13.
package content
