package store

import (
	"context"

	"hce/dc/internal/dc"
)

// mostNewSites bounds the sites that one call of PutElsewhere makes.
const mostNewSites = 100

// PutElsewhere inserts the links that pages have for other sites (crawling 5.13),
// each in the site that URL_NEW chooses, as far as that has room, with the
// site's own type, delay and time-out. Known rows stay as they are. It tells how
// many links found no room. It comes before FinishCrawl: a kill between the two
// loses none of them.
func (s *Store) PutElsewhere(ctx context.Context, results []dc.Fetched) (skipped int, err error) {
	err = s.update(ctx, "PutElsewhere", func(t *tx) error {
		e := elsewhere{newURLs: newURLs{tx: t}, links: map[string][]*dc.Link{}, made: map[string]bool{}}
		for i := range results {
			r := &results[i]
			for j := range r.Elsewhere {
				if l := &r.Elsewhere[j]; storableURL(l.URL.URL) {
					if err := e.choose(l, r.Select); err != nil {
						return err
					}
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
	links   map[string][]*dc.Link
	order   []string
	made    map[string]bool // base URLs of sites that came into being, or could have
	skipped int
}

// choose finds the site of a link. One without a site and without a host is left
// out.
func (e *elsewhere) choose(l *dc.Link, sel int64) error {
	if sel == dc.SelectAuto {
		base, err := baseOf(l.URL.URL)
		if err != nil {
			e.skipped++
			return nil
		}
		if !e.made[base] && len(e.made) >= mostNewSites {
			sel = dc.SelectQualify
		}
		e.made[base] = true
	}
	site, err := e.siteOfElement(0, dc.URLNewRequest{Row: dc.Patch{"URL": l.URL.URL}, SiteSelect: sel})
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
	rows := make([]*dc.URL, len(e.links[site]))
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
