package sqlstore

import (
	"context"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Parts of a site that are imported, each with a bookmark.
const (
	PartSite       = "site" // the row, filters, properties
	PartRoots      = "roots"
	PartURLs       = "urls"
	PartDeleted    = "deleted"
	PartAttributes = "attributes"
	PartFreqs      = "freqs"
	PartLog        = "log"
	PartContents   = "contents"
	PartFiles      = "files"
	PartCounters   = "counters"
)

// Bookmarks of what is of no site stand under a name that no site has.
const (
	importOfAll = "*"
	partProxies = "proxies"
)

// Imported is what is known about a site of the original service.
type Imported struct {
	Known bool                     // there is a site of that id, and it is in use
	Parts map[string]wire.Bookmark // how far it was imported; empty: it was not
}

// Imported tells how far a site was imported.
func (s *Store) Imported(ctx context.Context, id string) (Imported, error) {
	var answer Imported
	err := s.view(ctx, "Imported", func(t *tx) error {
		answer = Imported{Parts: map[string]wire.Bookmark{}}
		stored, err := t.known(id)
		if err != nil || stored == "" {
			return err
		}
		answer.Known = true
		if id == wire.GeneralSite { // it is made with the schema
			var one int
			if answer.Known, err = t.Get("import_used", []any{id}, &one); err != nil {
				return err
			}
		}
		return t.All("import_parts", []any{id}, func(scan func(...any) error) error {
			var part string
			var b wire.Bookmark
			err := scan(&part, &b.Key, &b.Rows, &b.Done)
			answer.Parts[part] = b
			return err
		})
	})
	return answer, err
}

// ImportSite stores a site of the original service with its filters and
// properties, and marks PartSite done. The general site takes the place of the
// one that the schema made. Values must fit their columns; counters begin at 0.
func (s *Store) ImportSite(ctx context.Context, site wire.Patch, filters, properties []wire.Patch) error {
	return s.update(ctx, "ImportSite", func(t *tx) error {
		id := site.Text("Id")
		if err := t.importSite(id, uncounted(site)); err != nil {
			return err
		}
		for _, list := range []struct {
			table   string
			columns []wire.Column
			rows    []wire.Patch
		}{{"sites_filters", wire.FilterColumns, filters}, {"sites_properties", wire.PropertyColumns, properties}} {
			g := t.listTarget("Site", list.table, list.columns)
			for _, p := range list.rows {
				if _, err := t.insert(g, p); err != nil {
					return err
				}
			}
		}
		return t.importMark(id, PartSite, wire.Bookmark{Done: true})
	})
}

func (t *tx) importSite(id string, row wire.Patch) error {
	stored, err := t.known(id)
	if err != nil {
		return err
	}
	if stored != "" {
		if id != wire.GeneralSite {
			return errDuplicate
		}
		for _, name := range []string{"filters_delete", "properties_delete"} {
			if _, err := t.Do(name, id); err != nil {
				return err
			}
		}
		delete(row, "Id")
		if err := t.MakeSite(id); err != nil {
			return err
		}
		_, err := t.set(t.sitesTarget("Site"), row, nil, "Id = ?", id)
		return err
	}
	if err := t.MakeSite(id); err != nil {
		return err
	}
	switch inserted, err := t.insert(t.sitesTarget("Site"), row); {
	case err != nil:
		return err
	case !inserted:
		return errDuplicate
	}
	return t.SiteMade(id)
}

// ImportRows stores rows of one part of a site, which was stored by ImportSite,
// and its bookmark, in one transaction. A row whose key is there already is left
// out. Values must fit their columns. It tells how many rows were stored.
func (s *Store) ImportRows(ctx context.Context, id, part string, rows []wire.Patch, next wire.Bookmark) (stored int, err error) {
	err = s.update(ctx, "ImportRows", func(t *tx) error {
		stored = 0
		id, err := t.mustKnow(id)
		if err != nil {
			return err
		}
		var fresh []wire.Patch
		if len(rows) > 0 {
			if fresh, err = t.importRows(id, part, rows); err != nil {
				return err
			}
		}
		stored = len(fresh)
		return t.importMark(id, part, next)
	})
	return stored, err
}

// importColumns are the columns of a part, in the order of an INSERT.
var importColumns = map[string][]string{
	PartRoots:      append(columnNames(wire.URLColumns), "User_Id"),
	PartURLs:       columnNames(wire.URLColumns),
	PartDeleted:    columnNames(wire.URLColumns),
	PartAttributes: {"Site_Id", "URLMd5", "Name", "Value", "CDate"},
	PartFreqs: {"Site_Id", "URLMd5", "FIns", "FDel", "FUpd", "FNew", "FCrawled", "FProcessed", "FAged", "FDeleted", "FPurged",
		"CDate", "MDate"},
	PartLog: {"Site_Id", "URLMd5", "OpCode", "Object", "CDate", "ODate"},
}

func columnNames(columns []wire.Column) []string {
	names := make([]string, 0, len(columns)+1)
	for _, c := range columns {
		names = append(names, c.Name)
	}
	return names
}

func (t *tx) importRows(id, part string, rows []wire.Patch) (fresh []wire.Patch, err error) {
	table := map[string]string{
		PartRoots: t.DB.Table(sqldb.Sites, "sites_urls"), PartURLs: t.table(sqldb.URLs, id), PartDeleted: t.table(sqldb.Deleted, id),
		PartAttributes: t.table(sqldb.Attributes, id), PartFreqs: t.table(sqldb.Freqs, id), PartLog: t.table(sqldb.Logs, id),
	}[part]
	fresh, err = t.insertAll(table, importColumns[part], id, rows)
	if err != nil || len(fresh) == 0 {
		return fresh, err
	}
	switch part {
	case PartDeleted:
		_, err = t.Do("import_deleted", len(fresh), id)
	case PartURLs:
		keys := make([]string, len(fresh))
		for i, p := range fresh {
			keys[i] = p.Text("URLMd5")
		}
		var added tally
		if added, err = t.tally(id, keys); err == nil {
			err = t.count(id, tally{}, added)
		}
	}
	return fresh, err
}

// insertAll inserts rows of a site, many in one statement, and gives those that
// were not there. A creation date that is not given is now.
func (t *tx) insertAll(table string, columns []string, site string, rows []wire.Patch) (fresh []wire.Patch, err error) {
	row := "(" + holes(len(columns)) + ")"
	head := "INSERT INTO " + table + " (`" + strings.Join(columns, "`, `") + "`) VALUES "
	put := func(part []wire.Patch) (bool, error) {
		args := make([]any, 0, len(part)*len(columns))
		for _, p := range part {
			for _, name := range columns {
				value := p[name]
				switch {
				case name == "Site_Id":
					value = site
				case name == "CDate" && value == nil:
					value = t.now
				}
				args = append(args, value)
			}
		}
		_, inserted, err := t.Insert(head+row+strings.Repeat(", "+row, len(part)-1), args...)
		return inserted, err
	}
	for len(rows) > 0 {
		n := 1
		for _, size := range rowSizes {
			if size <= len(rows) && !bulky(rows[:size]) {
				n = size
				break
			}
		}
		inserted, err := put(rows[:n])
		if err != nil {
			return nil, err
		}
		switch {
		case inserted:
			fresh = append(fresh, rows[:n]...)
		case n > 1: // one of them is there: each by itself
			for _, p := range rows[:n] {
				if inserted, err = put([]wire.Patch{p}); err != nil {
					return nil, err
				}
				if inserted {
					fresh = append(fresh, p)
				}
			}
		}
		rows = rows[n:]
	}
	return fresh, nil
}

// bulky rows do not go into one statement: a server bounds its length.
func bulky(rows []wire.Patch) bool {
	size := 0
	for _, p := range rows {
		value, _ := p["Value"].([]byte)
		size += len(value) + len(p.Text("Object"))
	}
	return size > 1<<20
}

// ImportMark stores a bookmark of a part whose rows are stored elsewhere.
func (s *Store) ImportMark(ctx context.Context, id, part string, b wire.Bookmark) error {
	return s.update(ctx, "ImportMark", func(t *tx) error { return t.importMark(id, part, b) })
}

func (t *tx) importMark(id, part string, b wire.Bookmark) error {
	if _, err := t.Do("import_forget_part", id, part); err != nil {
		return err
	}
	_, err := t.Do("import_mark", id, part, b.Key, b.Rows, b.Done, t.now)
	return err
}

// ImportEnd counts a site's rows anew and marks PartCounters done.
func (s *Store) ImportEnd(ctx context.Context, id string) error {
	return s.update(ctx, "ImportEnd", func(t *tx) error {
		id, err := t.known(id)
		if err != nil || id == "" {
			return err
		}
		if err := t.recount(id); err != nil {
			return err
		}
		return t.importMark(id, PartCounters, wire.Bookmark{Done: true})
	})
}

// ImportedProxies tells how far the proxies were imported.
func (s *Store) ImportedProxies(ctx context.Context) (at wire.Bookmark, err error) {
	err = s.view(ctx, "ImportedProxies", func(t *tx) error {
		at = wire.Bookmark{}
		return t.All("import_parts", []any{importOfAll}, func(scan func(...any) error) error {
			var part string
			return scan(&part, &at.Key, &at.Rows, &at.Done)
		})
	})
	return at, err
}

// ImportProxies stores proxies and their bookmark, in one transaction. A site has
// a host once: the first stays. It tells how many were stored.
func (s *Store) ImportProxies(ctx context.Context, rows []wire.Patch, next wire.Bookmark) (stored int, err error) {
	err = s.update(ctx, "ImportProxies", func(t *tx) error {
		stored = 0
		for _, p := range rows {
			inserted, err := t.insert(t.proxyTarget("Proxy", p.Text("Site_Id")), p)
			if err != nil {
				return err
			}
			if inserted {
				stored++
			}
		}
		return t.importMark(importOfAll, partProxies, next)
	})
	return stored, err
}
