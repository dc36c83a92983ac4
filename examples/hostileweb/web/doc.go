// Package web is a hostile web: servers that misbehave in every known way, each at its own
// URL.
//
//	w, err := web.Start(web.Options{Log: file})
//	defer w.Close()
//	for _, t := range web.Traps() {
//		... crawl w.URL(t), and check t.Fits(mask of its row)
//	}
//
// A Trap is one URL, with the behaviour of its server and the error bits that its row must
// have. Most traps are on one host, whose first page lists them all. Traps of robots.txt
// and TLS have hosts with their own ports. Each group of traps has a file. Package
// nameserver has hostile name servers; examples/siteserver/site has the troubles of
// ordinary servers.
//
// Endless answers stop after 1 GiB or ten minutes. Bodies are generated while they are
// sent, or once and kept (at most a few megabytes).
//
// Sources: docs/spec/crawling.md 2.4 and 2.8, docs/spec/DECISIONS.md 2 and 6, RFC 9110,
// 9112 and 9309.
package web
