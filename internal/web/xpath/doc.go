// Package xpath evaluates XPath 1.0 expressions on a page, with bounded cost.
//
// Expressions come from the site's owner and pages from anyone. The package rejects
// documents that are costly to parse, and bounds the steps of an evaluation.
//
//	expr, err := xpath.Compile(`//div[@class="news"]/a/@href`)
//	doc, err := xpath.HTML(text)
//	urls, err := expr.Texts(ctx, doc, 1000)
//
// Names are in lower case for HTML and as written for XML, without prefix. Source:
// docs/spec/crawling.md 5.1 (COLLECT_URLS_XPATH_LIST).
package xpath
