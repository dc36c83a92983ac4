// Package xpath evaluates XPath 1.0 expressions and CSS selectors on a page, with bounded cost.
//
// Expressions come from the site's owner and pages from anyone. The package rejects
// documents that are costly to parse, and bounds the steps of an evaluation.
//
//	expr, err := xpath.Compile(`//div[@class="news"]/a/@href`)
//	doc, err := xpath.HTML(text)
//	urls, err := expr.Texts(ctx, doc, 1000)
//	matches, err := expr.Find(ctx, doc, xpath.Limits{Matches: 1000}) // nodes and attributes
//
//	target, err := xpath.Target(".headline") // CSS
//	for _, m := range target.Matches(ctx, xpath.Of(tree), 10) { … m.Node … }
//
// Names are in lower case for HTML and as written for XML, without prefix. Source:
// docs/spec/crawling.md 5.1 (COLLECT_URLS_XPATH_LIST), docs/spec/processing.md 2.3.
package xpath
