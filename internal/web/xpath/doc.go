// Package xpath evaluates XPath 1.0 expressions over a page, within bounds.
//
// The expressions come from the site's owner, the page from anywhere; together
// they could cost any amount of time and memory. So a document that would be
// costly to build is refused, and an evaluation has a number of steps.
//
//	expr, err := xpath.Compile(`//div[@class="news"]/a/@href`)
//	doc, err := xpath.HTML(text)
//	urls, err := expr.Texts(ctx, doc, 1000)
//
// Neighbours: linkrules says which expressions a page gets; crawl resolves the
// URLs. Names are in lower case for HTML and as written for XML, both without
// prefix. Source: docs/spec/crawling.md 5.1 (COLLECT_URLS_XPATH_LIST).
package xpath
