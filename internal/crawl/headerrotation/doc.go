// Package headerrotation parses the property HTTP_HEADERS. If a header has several values,
// each request gets the least used one.
//
// Uses are counted for each domain and site, in memory. Save merges them into
// `<dir>/<domain>/<site>.json`, {Name: {value: count}}, so no request waits for the disk.
//
//	rule, err := headerrotation.Parse(property)
//	rule, err = rule.Resolve(folder) // reads file:// lists of User-Agents
//	r := headerrotation.New(headerrotation.Options{Dir: dir})
//	for _, h := range r.Headers(rule, site.ID, host) { ... }
//	err = r.Save(ctx) // every few seconds, and at the end of the batch
//
// Sources: docs/spec/crawling.md 4.5, 7.1 #8 and 7.3 F3, F4, docs/spec/DECISIONS.md 6.4.
package headerrotation
