package sqlstore

import (
	"context"

	"hce/dc/internal/wire"
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
	return result(ctx, s.update, "PutElsewhere", func(t *tx) (int, error) {
		e := elsewhere{newURLs: newURLs{tx: t}, links: map[string][]*wire.Link{}, newSites: map[string]bool{}}
		for i := range results {
			r := &results[i]
			for j := range r.Elsewhere {
				l := &r.Elsewhere[j]
				if !storableURL(l.URL.URL) {
					continue
				}
				if e.count++; e.count > maxElsewhere || len(l.URL.URL) > maxElsewhereBytes {
					e.skipped++
					continue
				}
				if err := e.add(l, r.Select); err != nil {
					return 0, err
				}
			}
		}
		for _, site := range e.order {
			if err := e.insertLinks(site); err != nil {
				return 0, err
			}
		}
		return e.skipped, nil
	})
}

// elsewhere groups links by their sites.
type elsewhere struct {
	newURLs
	links    map[string][]*wire.Link
	order    []string
	newSites map[string]bool // base URLs of sites that may be new
	count    int
	skipped  int
}

// add finds the site of a link.
func (e *elsewhere) add(l *wire.Link, sel int64) error {
	if sel == wire.SelectAuto {
		base, err := baseOf(l.URL.URL)
		if err != nil {
			e.skipped++
			return nil
		}
		if !e.newSites[base] && len(e.newSites) >= maxNewSites {
			sel = wire.SelectQualify
		}
		e.newSites[base] = true
	}
	site, err := e.siteOfElement(0, wire.URLNewRequest{Row: wire.Patch{"URL": l.URL.URL}, SiteSelect: sel})
	if err != nil {
		if refused(err) {
			e.skipped++
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
func (e *elsewhere) insertLinks(site string) error {
	stats, err := e.statistics(site)
	if err != nil {
		return err
	}
	defaults, err := e.urlDefaults(site)
	if err != nil {
		return err
	}
	limits, err := e.capacity(site)
	if err != nil {
		return err
	}
	fresh, err := e.missing(site, mapped(e.links[site], func(l *wire.Link) *wire.URL {
		row := l.URL
		row.Type, row.RequestDelay, row.HTTPTimeout = defaults.Type, defaults.RequestDelay, defaults.HTTPTimeout
		return &row
	}))
	if err != nil {
		return err
	}
	n := min(len(fresh), limits.left())
	e.skipped += len(fresh) - n
	return e.addURLs(site, fresh[:n], stats)
}
