// Package quota limits how often a domain is asked, after the property
// HTTP_FREQ_LIMITS: a request may go, perhaps after a wait, or is put off.
//
// The requests of a site to a domain are counted in a file that all crawling
// processes share, `<folder>/<domain>/http_freq_limits_<site>.json` with
// {"start": seconds since 1970, "count": requests}.
//
//	limits, err := quota.Parse(property)
//	limiter, err := quota.Open(limits, base, quota.Options{})
//	answer, err := limiter.Ask(ctx, site.ID, host)
//	if answer.Stop { ... } // bit 49, the URL is New again
//	// wait for answer.Wait, then ask for the page
//
// This is coarser than the delay between two requests, which package hostgate
// keeps; both hold.
//
// Neighbours: crawl asks before each request of a page; statefile writes the
// files.
// Sources: docs/spec/crawling.md 3, 4.3 and 7.3 F40.
package quota
