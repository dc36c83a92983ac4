// Package web is a hostile web: servers that misbehave in every way we know,
// each way at an address of its own.
//
// A Trap is one such address, with what its server does and the error bits that
// a crawler's row has to end in. Most traps live on one host, whose first page
// lists them all; those about robots.txt and TLS have hosts of their own, on
// ports of their own. The files follow the groups: bodies.go, lengths.go,
// answers.go, redirects.go, markup.go, linktraps.go, charsets.go, feeds.go,
// robots.go, certificates.go. Name servers that lie are in package nameserver
// beside this one; examples/siteserver/site is the friendly web, with the
// troubles of ordinary servers.
//
//	w, err := web.Start(web.Options{Log: file})
//	defer w.Close()
//	for _, t := range web.Traps() {
//		... crawl w.URL(t), and ask t.Fits(mask of its row)
//	}
//
// Answers without an end stop after 1 GiB or ten minutes. Bodies are made while
// they are sent, or once and kept; the largest kept is a few megabytes.
//
// Sources: docs/spec/crawling.md 2.4 and 2.8, docs/spec/DECISIONS.md 2 and 6, RFC 9110, 9112 and 9309.
package web
