// Package pages reads the stored pages of a site, one after the other, in the order of their keys.
//
//	reader := pages.Reader{Service: service, Site: id, Needs: pages.Processed}
//	err := reader.Read(ctx, "", func(p *pages.Page) error { ... }, nil)
//
// It holds one portion in memory, so a site of any size can be read. It asks with URL_FETCH for the
// rows whose key is greater than the last one, and with URL_CONTENT for their contents.
//
// What a crawl does meanwhile: a page that exists from the start to the end of the reading is read
// exactly once, in the state of the moment of its portion. A page that is added meanwhile is read if
// its key is greater than the current one. No page is read twice, also if the reading continues
// later from a key.
package pages
