// Package revalidate decides whether a page has changed since its last crawl.
//
// Parse reads the property DETECT_MODIFIED into a Rule. For a row that was crawled before,
// the Rule gives the request, the meaning of the response, and the state of an unchanged
// row:
//
//	method, header := rule.Method(&row), rule.Headers(&row)
//	resp := get(method, header)
//	if rule.Verdict(&row, resp) && rule.Second(&row) {
//		resp = get("GET", nil)
//	}
//	if !rule.Verdict(&row, resp) {
//		row.Status, keepUDate = rule.Outcome(hasProcessed)
//	}
//	row.MRate, row.MRateCounter = revalidate.Rate(row.MRate, row.MRateCounter, changed)
//
// A Rule is an immutable value; the zero Rule is disabled. Sources: docs/spec/crawling.md
// 4.11, 4.12 and fault F26, RFC 9110 8.8 and 13.1.
package revalidate
