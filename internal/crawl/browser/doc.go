// Package browser renders one URL to one page, by a headless Chromium.
//
// A Browser starts one Chromium for its first page and keeps it for all pages of its
// process. Each page has its own browser context (cookies, cache, storage), which ends with
// the page. The driver speaks to Chromium over a pipe, so no debugging port is open.
// Chromium has its own session of processes, folder and memory limit. It dies with the
// process that started it. A page that takes too much memory loses its renderer. A browser
// that stops answering is killed and replaced.
//
// Chromium dials nothing itself. Each page has its own forward proxy on loopback, inside
// this process, which dials through Config.Dial. So the egress guard holds for the browser
// too, and the proxy counts what the page loads.
//
//	b := browser.New(browser.Config{Dial: fetcher.Dial})
//	defer b.Close()
//	page, err := b.Get(ctx, browser.Request{URL: "https://example.com/", Timeout: 30 * time.Second})
//	if browser.KindOf(err) == browser.NotInstalled { ... }
//
// The caller decides whether and when a URL may be fetched: Request.Allow is called before
// each request for the page itself, redirects by script included. ParseMacro reads
// FETCHER_MACRO, and Get runs it.
//
// Sources: docs/spec/crawling.md 2.4, 2.8, 4.2 and 4.9; docs/spec/DECISIONS.md 6.7.
package browser
