// Package urlschema expands a URL with macros into URLs: the property URLS_SCHEMA.
//
// A schema has parameters: a list of values, a range of numbers or a kind of random text.
// The macro %name% in a URL is replaced by a value of one. A State counts the used values;
// the caller stores it for the site, so that values take turns over all batches:
//
//	schema, err := urlschema.Parse(text) // err continues "property URLS_SCHEMA "
//	var state urlschema.State            // read from the site's file
//	urls := schema.Generate("http://a.example/?q=%word%", &state, random, 1000)
//	// write state, then create rows: a value may be lost, but is never used twice
//
// Parameters may come from external data: the caller fetches Sources or reads File, and
// passes the bytes to Load. Source: docs/spec/crawling.md 5.9.
package urlschema
