// Package proxypool chooses the proxy of a request, after the property USER_PROXY
// or HTTP_PROXY_HOST, and counts uses and faults.
//
// The pool of a site is its index file, then what the property adds, then rows of
// the table sites_proxy that the caller hands in; what came first is not
// overwritten. The proxy with the lowest product of uses and priority is taken.
//
//	spec, err := proxypool.Parse(property)
//	pool, err := proxypool.Open(spec, site.ID, base, rows, proxypool.Options{})
//	tried := map[string]bool{}
//	for range spec.Attempts() {
//		p, err := pool.Pick(ctx, url, tried) // ErrEmpty, ErrNone
//		// fetch through p.URL; when the proxy fails:
//		p, err = pool.Fault(ctx, p) // the caller writes p.Faults and p.State to its row
//	}
//
// The index file, {host: {"host", "domains", "priority", "state", "freq",
// "faults", "faultsMax"}}, is shared by all crawling processes. The member
// "limits" of a proxy has no meaning that is known, and none here; in an index
// file it stays as it is.
//
// Neighbours: crawl asks and fetches, and writes rows through the data owner;
// fetch dials proxies behind its guard; statefile writes the file.
// Sources: docs/spec/crawling.md 3, 4.10 and 7.3 F9, F23 to F25.
package proxypool
