package sqlstore

import (
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// addURLs inserts complete rows of a site and counts them. The keys must be new and
// unique. Values are adapted to their columns (wire.Column.Fit), because most rows are
// links of pages.
func (t *tx) addURLs(site string, urls []*wire.URL, stats *statistics) error {
	if len(urls) == 0 {
		return nil
	}
	rows := make([][]any, len(urls))
	for i, u := range urls {
		u.SiteID = site
		if u.CDate == "" {
			u.CDate = wire.Date(t.now)
		}
		p := wire.PatchOf(u, wire.URLColumns)
		row := make([]any, len(wire.URLColumns))
		for j, c := range wire.URLColumns {
			row[j] = c.Fit(p[c.Name])
			if row[j] == nil && c.Name == "CDate" {
				row[j] = t.now
			}
		}
		rows[i] = row
	}
	if err := t.insertRows("INSERT INTO "+t.table(sqldb.URLs, site)+" ("+urlColumns+")", rows); err != nil {
		return err
	}
	if err := t.countAdded(site, mapped(urls, urlKey)); err != nil {
		return err
	}
	for _, u := range urls {
		if err := stats.inserted(u.URLMd5, u.Status, *u); err != nil {
			return err
		}
	}
	return nil
}

// addMissing inserts the rows whose keys are new. Existing rows are unchanged.
func (t *tx) addMissing(site string, urls []*wire.URL) error {
	stats, err := t.statistics(site)
	if err != nil {
		return err
	}
	fresh, err := t.missing(site, urls)
	if err != nil {
		return err
	}
	return t.addURLs(site, fresh, stats)
}

// missing returns the URLs whose keys have no row, each key once, in their order.
func (t *tx) missing(site string, urls []*wire.URL) ([]*wire.URL, error) {
	found, err := t.present(sqldb.URLs, site, mapped(urls, urlKey))
	var list []*wire.URL
	for _, u := range urls {
		if !found[u.URLMd5] {
			found[u.URLMd5] = true
			list = append(list, u)
		}
	}
	return list, err
}
