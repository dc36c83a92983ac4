// Package web groups the rules about hosts, URLs and pages: canonical URLs, robots.txt,
// charsets, links, feeds, sitemaps and the site properties that select among them.
//
// Its packages take bytes and values and return values. They do no I/O, read no
// clock and start no goroutine, so every function of theirs is safe for concurrent use
// unless its comment says otherwise. Hostile input gives an error, never a panic.
//
// A fetched page passes them in this order:
//
//	text, name, err := charset.Decode(body, header.Get("Content-Type"))
//	page := links.HTML(text, 1000)
//	target, err := canonical.Web.Resolve(base, page.Links[0].URL)
//	ok := filters.Accept(stage, target, env)
//
// HTTP clients, files, SQL and code of a single program do not belong here.
package web
