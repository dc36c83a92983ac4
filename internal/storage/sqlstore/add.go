package sqlstore

import (
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// rowSizes are the numbers of rows in one INSERT. Few numbers make few texts,
// which stay prepared.
var rowSizes = []int{64, 8, 1}

// addURLs inserts whole rows of a site that are known not to be there, each key
// once, and counts them. Values that do not fit their columns are made to
// (wire.Column.Fit): most rows are links of pages.
func (t *tx) addURLs(site string, urls []*wire.URL, stats *statistics) error {
	if len(urls) == 0 {
		return nil
	}
	keys := make([]string, len(urls))
	for i, u := range urls {
		u.SiteID, keys[i] = site, u.URLMd5
		if u.CDate == "" {
			u.CDate = wire.Date(t.now)
		}
	}
	row := "(" + holes(len(wire.URLColumns)) + ")"
	for rest := urls; len(rest) > 0; {
		n := 0
		for _, size := range rowSizes {
			if n = size; n <= len(rest) {
				break
			}
		}
		args := make([]any, 0, n*len(wire.URLColumns))
		for _, u := range rest[:n] {
			p := wire.PatchOf(u, wire.URLColumns)
			for _, c := range wire.URLColumns {
				value := c.Fit(p[c.Name])
				if value == nil && c.Name == "CDate" {
					value = t.now
				}
				args = append(args, value)
			}
		}
		text := "INSERT INTO " + t.table(sqldb.URLs, site) + " (" + urlColumns + ") VALUES " + row + strings.Repeat(", "+row, n-1)
		if _, err := t.Exec(text, args...); err != nil {
			return err
		}
		rest = rest[n:]
	}
	added, err := t.tally(site, keys)
	if err != nil {
		return err
	}
	if err := t.count(site, tally{}, added); err != nil {
		return err
	}
	for _, u := range urls {
		if err := stats.inserted(u.URLMd5, u.Status, *u); err != nil {
			return err
		}
	}
	return nil
}

// addMissing inserts the rows that are not there; the others stay as they are.
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

// missing gives the URLs whose keys are not there, each key once, in their order.
func (t *tx) missing(site string, urls []*wire.URL) ([]*wire.URL, error) {
	keys := make([]string, len(urls))
	for i, u := range urls {
		keys[i] = u.URLMd5
	}
	there, err := t.present(sqldb.URLs, site, keys)
	var list []*wire.URL
	for _, u := range urls {
		if !there[u.URLMd5] {
			there[u.URLMd5] = true
			list = append(list, u)
		}
	}
	return list, err
}
