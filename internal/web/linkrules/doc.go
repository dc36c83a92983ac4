// Package linkrules is what the properties of a site say about links: which
// expressions find them, how they are rewritten and cut, what their rows get and
// how they are fetched.
//
// Each ParseX reads the text of one property; its value then answers for each
// page or link, without a clock, a network or a database:
//
//	limits, err := linkrules.ParseCollectLimits(text) // err: "has ... where ... is wanted"
//	most := limits.MaxURLsFromPage(pageURL, site.MaxURLsFromPage)
//
// Errors read well behind "property NAME ". All expressions are those of Python
// and are searched for. A nil value of a type here is the property that is not
// given: it changes nothing. Values do not change once they are parsed, and
// goroutines may share them.
//
// Neighbours: prop reads the JSON, pyre the expressions; crawl asks, and compiles
// the XPath expressions with extract/xpath.
// Sources: docs/spec/crawling.md 3, 5.1, 5.3, 5.8, 5.11, 5.12.
package linkrules
