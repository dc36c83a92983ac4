// Package multiitem makes rows of the further results of a page, such as the products of a list
// (docs/spec/processing.md 1.7). The first result belongs to the page, result n+1 to a new row
// with the URL of the page and "#n".
//
//	items, bits := multiitem.Split(&row, &site, parts, multiitem.Options{Now: now, Room: -1})
package multiitem

import (
	"strconv"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// maxURL is the most bytes of the URL of a row.
const maxURL = 4096

// Part is one result of a page.
type Part struct {
	TagsCount, TagsMask int64
	Bits                errormask.Mask // of this result
	Published           schema.Date    // PDate; may be ""
	Hash                string         // ContentURLMd5; may be ""
	// Content returns the JSON to store with the row. Its result has the ID urlkey.Of(URL(page.URL, n)), and
	// its text the row's mask. An error sets the bit ErrScraper.
	Content func(row *wire.URL) ([]byte, error)
}

// Options of Split.
type Options struct {
	Now schema.Date
	// Room is the number of items that the batch may still get (Batch.maxItems); -1: no limit.
	Room int64
}

// URL returns the URL of item n, from 1, of a page.
func URL(page string, n int) string { return page + "#" + strconv.Itoa(n) }

// Split returns the items of parts[1:], with Status Processed. Limits of the site, of the batch
// and of the page (maxURLsFromPage) leave items out. Then the last item has their bits, or the
// page, if there is no item: bits are for its row. An item is the last, too, if with it the site
// has maxErrors errors. The content of an item that reaches maxResourceSize is not stored. The
// counters of site are those before this page: the caller adds the items of earlier pages. site
// and page are not changed.
func Split(page *wire.URL, site *wire.Site, parts []Part, o Options) (items []wire.ExtractedItem, bits errormask.Mask) {
	s := splitting{Options: o, page: page, site: site, errors: site.Errors}
	if len(parts) < 2 {
		return nil, 0
	}
	full := s.exceededLimits(1)
	if full != 0 {
		return nil, full
	}
	items = make([]wire.ExtractedItem, 0, len(parts)-1)
	for n := 1; n < len(parts) && full == 0; n++ {
		if n+1 < len(parts) {
			full = s.exceededLimits(n + 1) // known before the item is encoded, so that its text has the bits
		}
		item := s.makeItem(n, parts[n], full)
		items = append(items, item)
		full |= item.Row.ErrorMask & errormask.SiteMaxErrors
	}
	return items, 0
}

// splitting is the state of one Split.
type splitting struct {
	Options
	page   *wire.URL
	site   *wire.Site
	errors int64 // of the site, with those of the items
}

// exceededLimits returns the bits of the limits that leave no room for item n.
func (s *splitting) exceededLimits(n int) (bits errormask.Mask) {
	added := int64(n) - 1
	if s.site.MaxURLs > 0 && s.site.CollectedURLs+added >= s.site.MaxURLs || s.Room >= 0 && added >= s.Room {
		bits |= errormask.MaxItems
	}
	if s.site.MaxResources > 0 && s.site.Resources+added >= s.site.MaxResources {
		bits |= errormask.ProcessorMaxResources
	}
	if s.page.MaxURLsFromPage > 0 && added >= s.page.MaxURLsFromPage {
		bits |= errormask.MaxURLsFromPage
	}
	if len(URL(s.page.URL, n)) > maxURL {
		bits |= errormask.BadURL
	}
	return bits
}

// makeItem returns item n. more are bits of its row that are not of the part.
func (s *splitting) makeItem(n int, part Part, more errormask.Mask) wire.ExtractedItem {
	item := wire.ExtractedItem{Row: newRow(s.page, URL(s.page.URL, n), s.Now)}
	row := &item.Row
	row.TagsCount, row.TagsMask = part.TagsCount, part.TagsMask
	row.PDate, row.ContentURLMd5 = part.Published, part.Hash
	row.ErrorMask = part.Bits | more
	if part.Bits != 0 {
		s.countFailure(row)
	}
	content, err := part.Content(row)
	switch {
	case err != nil:
		row.ErrorMask |= errormask.Scraper
	case s.site.MaxResourceSize > 0 && int64(len(content)) >= s.site.MaxResourceSize:
		row.ErrorMask |= errormask.Size
	default:
		item.Content = content
	}
	if part.Bits == 0 && row.ErrorMask&(errormask.Scraper|errormask.Size) != 0 {
		s.countFailure(row)
	}
	if row.ErrorMask != 0 {
		row.State = wire.URLError
	}
	return item
}

// countFailure counts an item with an error.
func (s *splitting) countFailure(row *wire.URL) {
	if s.errors++; s.site.MaxErrors > 0 && s.errors >= s.site.MaxErrors {
		row.ErrorMask |= errormask.SiteMaxErrors
	}
}

// newRow returns the row of an item: that of the page, from which its raw contents are copied,
// without what belongs to the page alone.
func newRow(page *wire.URL, url string, now schema.Date) wire.URL {
	row := *page
	row.URL, row.URLMd5, row.ParentMd5 = url, urlkey.Of(url), page.URLMd5
	row.Type, row.State, row.Status = wire.TypeSingle, wire.URLEnabled, wire.StatusProcessed
	row.Crawled, row.Processed, row.Depth = 1, 1, page.Depth+1
	row.LinksI, row.LinksE, row.Freq = 0, 0, 0
	row.MRate, row.MRateCounter, row.ETag = 0, 0, ""
	row.CDate, row.UDate, row.TcDate = now, now, now
	row.ChainID, row.Attributes, row.URLPut, row.URLUpdate = nil, nil, nil, nil
	return row
}
