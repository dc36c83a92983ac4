// Package exchange brings the pages of target folders into a site of the cluster, and the pages of a
// site into a target folder.
//
//	summary, err := exchange.Import(ctx, service, site, f)
//	summary, err = exchange.Export(ctx, service, site, dir)
//
// An import stores pages as package warcimport does, with their head, their body and their date, and in
// portions. A URL that was not fetched becomes a row that waits, and one without a page a row with its
// code. The same import again stores nothing twice.
//
// An export numbers the pages in the order of their keys, the first root URL of the site first, so
// that it is the same for the same site. The folder is in state 2: OSEM002 finds the links.
package exchange
