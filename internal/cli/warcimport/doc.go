// Package warcimport brings the pages of WARC files, also of those in WACZ files, into a site.
//
//	contents, err := warcimport.Check(ctx, "pages.warc.gz", nil) // a *warc.Fault if the file is damaged
//	summary, err := warcimport.Run(ctx, warcimport.Job{Service: service, Site: site, Files: files}, nil)
//
// A page is a response, resource or revisit record with its request and, if package export has
// written it, its metadata. Bodies are decoded and converted as the crawler does it. Each is stored as
// the version of its date (URL_PUT with the date as fileStorageSuffix), then its row (URL_NEW). So an
// import that was interrupted, or runs twice, stores nothing twice. Records that are no pages are
// counted by reason.
//
// One portion of pages is in memory: at most 50 and 4 MiB of bodies, or one larger page.
package warcimport
