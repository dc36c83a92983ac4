// Package proxypool chooses the proxy of a request by the property USER_PROXY or
// HTTP_PROXY_HOST, and counts uses and faults.
//
// The pool of a site consists of its index file, then new proxies of the property, then new
// rows of the table sites_proxy, which the caller passes. The proxy with the lowest product
// of uses and priority is chosen.
//
//	spec, err := proxypool.Parse(property)
//	pool, err := proxypool.Open(spec, site.ID, base, rows, proxypool.Options{})
//	tried := map[string]bool{}
//	for range spec.Attempts() {
//	p, err := pool.Pick(ctx, url, tried) // ErrEmpty, ErrNone
//	// fetch through p.URL; when the proxy fails:
//	p, err = pool.Fault(ctx, p) // the caller writes p.Faults and p.State to its row
//	}
//
// All crawling processes share the index file, {host: {"host", "domains", "priority",
// "state", "freq", "faults", "faultsMax"}}. The meaning of the member "limits" of a proxy
// is unknown. It is ignored, and kept in an index file. Sources: docs/spec/crawling.md 3,
// 4.10 and 7.3 F9, F23 to F25.
package proxypool
