// Package revalidate tells whether a page has changed since its last crawl.
//
// A site's property DETECT_MODIFIED is read into a Rule. For a row that was
// crawled before, the Rule says what to ask, what the answer means, and what
// becomes of a row that has not changed:
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
// A Rule never changes; the zero one is off. Neighbours: crawl asks and fetches;
// package content reads the dates of headers. Sources: docs/spec/crawling.md 4.11, 4.12 and
// fault F26, RFC 9110 8.8 and 13.1.
package revalidate
