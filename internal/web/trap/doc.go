// Package trap finds URLs that are many and bring nothing new: sort links of listings, edit pages and old
// versions of wikis, calendars without end, session ids, time stamps, filters of shops.
//
//	w := trap.New()
//	for each fetched page {
//		w.Count(url, noIndex)
//		if w.Wants(url) {
//			w.Add(trap.Page{URL: url, Content: md5, Text: html, NoIndex: noIndex})
//		}
//	}
//	for _, f := range w.Findings() { … f.Kind, f.Rule … }
//	if w.Holds(link) { ask for it later }
//
// Only evidence counts, never a name alone. URLs with the same names of parameters (or the same path with
// dates) form a group. Of a sample of each group it looks whether the pages ask robots not to index them,
// whether a parameter changes nothing (the same texts in any order), and whether no page of a calendar or a
// filter has text that others lack. Names only choose the words of the report.
//
// Memory is bounded: 64 groups of 48 pages with 200 hashes. The package does no I/O; a Watch is for one goroutine.
package trap
