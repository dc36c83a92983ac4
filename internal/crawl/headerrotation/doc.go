// Package headerrotation reads the property HTTP_HEADERS and, where a header has several
// values, gives each request the one that was used least so far.
//
// Uses are counted for a domain and a site. They are counted in memory and merged
// into `<dir>/<domain>/<site>.json`, {Name: {value: count}}, now and then, so that
// no request waits for the disk.
//
//	rule, err := headerrotation.Parse(property)
//	rule, err = rule.Resolve(folder) // reads file:// lists of User-Agents
//	r := headerrotation.New(headerrotation.Options{Dir: dir})
//	for _, h := range r.Headers(rule, site.ID, host) { ... }
//	err = r.Save(ctx) // every few seconds, and at the end of the batch
//
// Neighbours: crawl lays these headers over the default ones and sends them;
// statefile writes the files.
// Sources: docs/spec/crawling.md 4.5, 7.1 #8 and 7.3 F3, F4, docs/spec/DECISIONS.md 6.4.
package headerrotation
