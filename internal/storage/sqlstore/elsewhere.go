package sqlstore

import (
	"context"

	"hce/dc/internal/wire"
)

// Bounds of one call of PutElsewhere. Looking for a link's site takes the square
// of its length.
const (
	mostNewSites     = 100
	mostElsewhere    = 2000 // links
	longestElsewhere = 1024 // bytes of a link
)

// PutElsewhere inserts the links that pages have for other sites (docs/spec/crawling.md 5.13),
// each in the site that URL_NEW chooses, as far as that has room, with the
// site's own type, delay and time-out. Known rows stay as they are. Skipped are
// links that found no room or no site, are longer than 1024 bytes, or come behind
// the first 2000; beyond 100 new sites a link goes to the general site. It comes before FinishCrawl: a kill between the two
// loses none of them.
func (s *Store) PutElsewhere(ctx context.Context, results []wire.Fetched) (skipped int, err error) {
	err = s.update(ctx, "PutElsewhere", func(t *tx) error {
		e := elsewhere{newURLs: newURLs{tx: t}, links: map[string][]*wire.Link{}, made: map[string]bool{}}
		for i := range results {
			r := &results[i]
			for j := range r.Elsewhere {
				l := &r.Elsewhere[j]
				if !storableURL(l.URL.URL) {
					continue
				}
				if e.chosen++; e.chosen > mostElsewhere || len(l.URL.URL) > longestElsewhere {
					e.skipped++
					continue
				}
				if err := e.choose(l, r.Select); err != nil {
					return err
				}
			}
		}
		for _, site := range e.order {
			if err := e.put(site); err != nil {
				return err
			}
		}
		skipped = e.skipped
		return nil
	})
	return skipped, err
}

// elsewhere sorts links by their sites.
type elsewhere struct {
	newURLs
	links   map[string][]*wire.Link
	order   []string
	made    map[string]bool // base URLs of sites that came into being, or could have
	chosen  int
	skipped int
}

// choose finds the site of a link. One without a site and without a host is left
// out.
func (e *elsewhere) choose(l *wire.Link, sel int64) error {
	if sel == wire.SelectAuto {
		base, err := baseOf(l.URL.URL)
		if err != nil {
			e.skipped++
			return nil
		}
		if !e.made[base] && len(e.made) >= mostNewSites {
			sel = wire.SelectQualify
		}
		e.made[base] = true
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

// put inserts the links of one site.
func (e *elsewhere) put(site string) error {
	stats, err := e.statistics(site)
	if err != nil {
		return err
	}
	defaults, err := e.urlDefaults(site)
	if err != nil {
		return err
	}
	room, err := e.room(site)
	if err != nil {
		return err
	}
	rows := make([]*wire.URL, len(e.links[site]))
	for i, l := range e.links[site] {
		row := l.URL
		row.Type, row.RequestDelay, row.HTTPTimeout = defaults.Type, defaults.RequestDelay, defaults.HTTPTimeout
		rows[i] = &row
	}
	fresh, err := e.missing(site, rows)
	if err != nil {
		return err
	}
	n := min(len(fresh), room.left())
	e.skipped += len(fresh) - n
	return e.addURLs(site, fresh[:n], stats)
}
