// Package scraper extracts one page: from its raw content to the content to store.
//
//	out := scraper.Scrape(&scraper.Page{ID: md5, URL: url, Type: "text/html", Text: raw}, rules)
//	// out.Items[0] belongs to the page; out.Bits and out.Message say what could not be followed
//
// The steps, in their order: decode, check the filters of the raw content, run the extractor
// or the templates that the site asks for, complete the tags, choose the best result, render
// the output format (docs/spec/processing.md 1.2 steps 14 to 18, 2.2).
//
// It reads nothing but its arguments, so it can run in a process of its own
// (docs/decisions/0013).
package scraper
