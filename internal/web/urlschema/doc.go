// Package urlschema makes URLs of one URL with macros: URLS_SCHEMA.
//
// A schema has parameters, each a list of values, a range of numbers or a kind of
// random text; the macro %name% in a URL stands for a value of one. What was used
// is counted in a State, which the caller keeps for the site, so that values take
// turns over all batches:
//
//	schema, err := urlschema.Parse(text) // err reads well behind "property URLS_SCHEMA "
//	var state urlschema.State            // read from the site's file
//	urls := schema.Generate("http://a.example/?q=%word%", &state, random, 1000)
//	// write state, then make rows of urls: a value may be lost, but is never used twice
//
// Parameters may come from elsewhere: the caller fetches Sources or reads File,
// and hands the bytes to Load.
//
// Neighbours: prop reads the JSON; crawl has the files, the network and the rows.
// Nothing here does I/O or knows the time. Source: docs/spec/crawling.md 5.9.
package urlschema
