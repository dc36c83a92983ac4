// Package engine crawls and processes a site in one process, without a daemon and without sockets, on the data folder of
// hce. What it stores is what the daemon would store: each step is one transaction, and after a kill the next crawl of
// the folder continues.
//
//	e, err := engine.Open(ctx, dir, engine.Options{})
//	defer e.Close()
//	err = e.Ask(ctx, wire.SiteNew, object, nil)
//	err = e.Crawl(ctx, site, func(p *pages.Page) error { fmt.Println(p.URL.URL); return nil }, nil)
//
// Without Options.Workers pages are read in this process too, so a page that crashes or takes long is not ended alone, as it is by
// processor-task. The reader is linear in the size of a page, and sizes are bounded.
package engine
