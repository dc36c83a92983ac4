// Package filter decides whether a URL or a page passes the filters of a site.
//
// A site has a list of rules; Compile prepares them once and the Set answers for
// each link, redirect or content of each stage:
//
//	set, errs := filter.Compile(rules)
//	if set.Accept(filter.StageLinks, url, filter.Env{Now: now, Depth: 2}) {
//		follow(url)
//	}
//
// A value passes when no rule excludes it, and when some rule includes it or
// the stage has no include rule at all. Rules of one group (other than 0) hold
// together or not at all. A comparison of two numbers, such as the limit of depth,
// is a condition on top: it lets nothing in by itself, and nothing passes where
// it fails.
//
// Neighbours: crawl asks for links and redirects, process for contents; both turn
// the rows of dc into Rules. Nothing here knows where a rule is stored.
// Sources: docs/spec/crawling.md 5.5, 5.6 and 7.1 (#12, #13), docs/spec/processing.md 1.8.
package filter
