// Package linkrules parses the properties of a site about links: XPath expressions that
// find them, rewriting, limits, column values of their rows and how to fetch them.
//
// Each ParseX parses the text of one property. The result then answers for each page or
// link, without I/O:
//
//	limits, err := linkrules.ParseCollectLimits(text) // err: "has ...; expected ..."
//	most := limits.MaxURLsFromPage(pageURL, site.MaxURLsFromPage)
//
// An error continues the sentence "property NAME ". Expressions have Python's dialect and
// are searched for. A nil value means that the property is missing, and changes nothing.
// Parsed values are immutable, so goroutines may share them. Sources: docs/spec/crawling.md
// 3, 5.1, 5.3, 5.8, 5.11, 5.12.
package linkrules
