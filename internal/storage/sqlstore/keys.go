package sqlstore

import (
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// chunkSizes are the lengths of lists of keys in one statement. Few lengths make
// few texts, which stay prepared.
var chunkSizes = []int{8, 64, 500}

// chunks calls do with the holes of an IN list and its values, for all keys. A
// list that is not full repeats its last key.
func chunks[K any](keys []K, do func(in string, args []any) error) error {
	for len(keys) > 0 {
		size := chunkSizes[len(chunkSizes)-1]
		for _, s := range chunkSizes {
			if len(keys) <= s {
				size = s
				break
			}
		}
		n := min(size, len(keys))
		args := make([]any, size)
		for i := range args {
			args[i] = keys[min(i, n-1)]
		}
		if err := do(holes(size), args); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// holes is "?, ?, ?" of n.
func holes(n int) string { return "?" + strings.Repeat(", ?", n-1) }

// urls reads rows of a site by key. The map lacks those that are not there.
func (t *tx) urls(site string, md5s []string) (map[string]wire.URL, error) {
	found := make(map[string]wire.URL, len(md5s))
	err := chunks(md5s, func(in string, args []any) error {
		return t.eachURL("SELECT "+urlColumns+" FROM "+t.table(sqldb.URLs, site)+" WHERE Site_Id = ? AND URLMd5 IN ("+in+")", append([]any{site}, args...),
			func(u wire.URL) { found[u.URLMd5] = u })
	})
	return found, err
}

// eachURL reads the rows of a query for urlColumns.
func (t *tx) eachURL(text string, args []any, each func(wire.URL)) error {
	var row wire.URL
	targets := wire.Targets(&row, wire.URLColumns)
	return t.Each(text, args, func(scan func(...any) error) error {
		row.SiteSelect = wire.SelectNone
		if err := scan(targets...); err != nil {
			return err
		}
		each(row)
		return nil
	})
}
