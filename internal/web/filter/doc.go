// Package filter decides whether a URL or a page passes the filters of a site.
//
// Compile prepares the list of rules of a site once. The Set then checks each link,
// redirect or content at its stage:
//
//	set, errs := filter.Compile(rules)
//	if set.Accept(filter.StageLinks, url, filter.Env{Now: now, Depth: 2}) {
//		follow(url)
//	}
//
// A value passes if no rule excludes it, and some rule includes it or the stage has no
// include rule. Rules with the same Group (other than 0) match only together. A comparison
// of two numbers, such as a depth limit, is an additional condition: it includes nothing,
// and if it fails nothing passes. Sources: docs/spec/crawling.md 5.5, 5.6 and 7.1 (#12,
// #13), docs/spec/processing.md 1.8.
package filter
