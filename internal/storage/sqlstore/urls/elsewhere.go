package urls

import (
	"context"

	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// Limits of one PutElsewhere. Finding the site of a link takes the square of its length.
const (
	maxNewSites       = 100
	maxElsewhere      = 2000 // links
	maxElsewhereBytes = 1024 // of one link
)

// PutElsewhere inserts links of pages to other sites (docs/spec/crawling.md 5.13). Each
// link goes to the site that URL_NEW would select, with the type, delay and time-out of
// that site. Known rows are unchanged. It skips a link above 1024 bytes or behind the
// first 2000, and a link without a site or without room in it. After 100 new sites a link
// goes to the general site. Call it before FinishCrawl: then a kill between the two calls
// loses no link.
func (s *Store) PutElsewhere(ctx context.Context, results []wire.Fetched) (skipped int, err error) {
	return tables.RunForResult(ctx, s.run.Update, "PutElsewhere", func(t *Tx) (int, error) {
		e := NewElsewhere(t)
		for i := range results {
			r := &results[i]
			for j := range r.Elsewhere {
				l := &r.Elsewhere[j]
				if !tables.StorableURL(l.URL.URL) {
					continue
				}
				if e.count++; e.count > maxElsewhere || len(l.URL.URL) > maxElsewhereBytes {
					e.Skipped++
					continue
				}
				if err := e.AddLink(l, r.Select); err != nil {
					return 0, err
				}
			}
		}
		_, err := e.InsertAllLinks()
		return e.Skipped, err
	})
}

// Elsewhere groups links by their sites.
type Elsewhere struct {
	Away int // links of other nodes
	newURLs
	links    map[string][]*wire.Link
	order    []string
	newSites map[string]bool // base URLs of sites that may be new
	count    int
	Skipped  int
	Waiting  int // for a larger lease
}

// NewElsewhere returns an Elsewhere without links.
func NewElsewhere(t *Tx) *Elsewhere {
	return &Elsewhere{newURLs: newURLs{Tx: t}, links: map[string][]*wire.Link{}, newSites: map[string]bool{}}
}

// InsertAllLinks inserts the links of all sites.
func (e *Elsewhere) InsertAllLinks() (added int, err error) {
	for _, site := range e.order {
		n, err := e.insertLinks(site)
		if err != nil {
			return 0, err
		}
		added += n
	}
	return added, nil
}

// AddLink finds the site of a link. Links of other nodes are queued for them.
func (e *Elsewhere) AddLink(l *wire.Link, sel int64) error {
	if e.IsForeign(l) {
		row := l.URL
		row.SiteSelect = sel
		e.Away++
		return e.QueueLinks("", []*wire.URL{&row})
	}
	if sel == wire.SelectAuto {
		base, err := sites.BaseOf(l.URL.URL)
		if err != nil {
			e.Skipped++
			return nil
		}
		if !e.newSites[base] && len(e.newSites) >= maxNewSites {
			sel = wire.SelectQualify
		}
		e.newSites[base] = true
	}
	site, err := e.siteOfElement(0, wire.URLNewRequest{Row: schema.Patch{"URL": l.URL.URL}, SiteSelect: sel})
	if err != nil {
		if tables.IsRefusal(err) {
			e.Skipped++
			return nil
		}
		return err
	}
	if e.links[site] == nil {
		e.order = append(e.order, site)
	}
	e.links[site] = append(e.links[site], l)
	return nil
}

// insertLinks inserts the links of one site.
func (e *Elsewhere) insertLinks(site string) (added int, err error) {
	defaults, err := e.urlDefaults(site)
	if err != nil {
		return 0, err
	}
	limits, err := e.ReadCapacity(site)
	if err != nil {
		return 0, err
	}
	fresh, err := e.MissingURLs(site, tables.MapSlice(e.links[site], func(l *wire.Link) *wire.URL {
		row := l.URL
		row.Type, row.RequestDelay, row.HTTPTimeout = defaults.Type, defaults.RequestDelay, defaults.HTTPTimeout
		return &row
	}))
	if err != nil {
		return 0, err
	}
	kept, dropped, err := e.SelectFittingRows(site, limits, fresh)
	if err != nil {
		return 0, err
	}
	e.Skipped += dropped
	e.Waiting += len(fresh) - len(kept) - dropped
	return len(kept), e.AddURLs(site, kept)
}
