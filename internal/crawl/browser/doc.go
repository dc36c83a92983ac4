// Package browser turns one URL into one rendered page, by a Chromium without a
// display.
//
// A Browser starts one Chromium when the first page is asked for and keeps it for
// all pages of its process. Each page has a browser context of its own (cookies,
// cache, storage), which ends with it. Chromium is spoken to over a pipe, so no
// port is open to others, and its own process group, folder and memory are
// watched: it dies with its process, however that ends, and a page that takes too
// much memory loses its renderer.
//
// Chromium dials nothing itself. Each page has a forward proxy of its own on
// loopback, inside this process, which dials through Config.Dial: the egress guard
// holds under the browser as it does elsewhere, and what a page may load is
// counted there.
//
//	b := browser.New(browser.Config{Dial: fetcher.Dial})
//	defer b.Close()
//	page, err := b.Get(ctx, browser.Request{URL: "https://example.com/", Timeout: 30 * time.Second})
//	if browser.KindOf(err) == browser.NotInstalled { ... }
//
// Package crawl above decides whether a URL may be fetched and when; Allow is
// asked before each request for the page itself, redirects by script included.
// FETCHER_MACRO is read and run here (ParseMacro).
//
// Sources: docs/spec/crawling.md 2.4, 2.8, 4.2 and 4.9; docs/spec/DECISIONS.md 6.7.
package browser
