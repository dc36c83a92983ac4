// Package crawl fetches sites with the crawler of this project and commits them to an archive.
//
//	m := crawl.Manager{Config: config, Repository: r, Programs: dir, Say: say, Log: log}
//	err := m.Run(ctx, []string{"https://example.org/", "https://example.net/docs/"})
//
// The start URLs are a queue, in which those of one domain are one [Job]. Each round starts a dc-daemon in
// the folder crawler of the archive, and at most Config.Instances jobs at once. A job creates a site for its
// domain alone, waits until all its pages are fetched, stages what the filters keep, commits it, and
// deletes the site: so each round requests all pages again, and a page that is gone leaves the version.
// Robots.txt, the pause between requests and the egress guard are those of the crawler.
//
// A killed round leaves sites in the crawler, which the next one deletes, and what package repository
// repairs.
package crawl
