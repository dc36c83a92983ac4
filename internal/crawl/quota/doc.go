// Package quota limits the requests to a domain by the property HTTP_FREQ_LIMITS: a request
// may be sent, possibly after a wait, or is postponed.
//
// The requests of a site to a domain are counted in a file that all crawling processes
// share, `<folder>/<domain>/http_freq_limits_<site>.json` with {"start": seconds since
// 1970, "count": requests}.
//
//	limits, err := quota.Parse(property)
//	limiter, err := quota.Open(limits, base, quota.Options{})
//	answer, err := limiter.Ask(ctx, site.ID, host)
//	if answer.Stop { ... } // bit 49, the URL is New again
//	// wait for answer.Wait, then request the page
//
// This limit is coarser than the delay between two requests in package hostgate. Both
// apply. Sources: docs/spec/crawling.md 3, 4.3 and 7.3 F40.
package quota
