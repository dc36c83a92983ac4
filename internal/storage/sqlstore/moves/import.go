package moves

import (
	"context"
	"slices"
	"strings"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// Parts of a site for the import. Each part has a bookmark.
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

// The bookmark of the proxies has a site id that no site can have.
const (
	importOfAll = "*"
	partProxies = "proxies"
)

// Imported is the import state of a site of the original service.
type Imported struct {
	Known bool                     // the site exists and is in use
	Parts map[string]wire.Bookmark // by part; empty if nothing was imported
}

// Imported returns the import state of a site.
func (s *Store) Imported(ctx context.Context, id string) (Imported, error) {
	return tables.RunForResult(ctx, s.run.Read, "Imported", func(t *tx) (Imported, error) {
		answer := Imported{Parts: map[string]wire.Bookmark{}}
		stored, err := t.StoredID(id)
		if err != nil || stored == "" {
			return answer, err
		}
		answer.Known = true
		if id == wire.GeneralSite { // the schema makes it
			if answer.Known, err = t.Get("import_used", []any{id}, new(int)); err != nil {
				return answer, err
			}
		}
		answer.Parts, err = t.importBookmarks(id)
		return answer, err
	})
}

func (t *tx) importBookmarks(id string) (map[string]wire.Bookmark, error) {
	parts := map[string]wire.Bookmark{}
	err := t.All("import_parts", []any{id}, func(scan func(...any) error) error {
		var part string
		var b wire.Bookmark
		err := scan(&part, &b.Key, &b.Rows, &b.Done)
		parts[part] = b
		return err
	})
	return parts, err
}

// ImportSite stores a site of the original service with its filters and properties, and
// marks PartSite as done. The general site replaces the one of the schema. Values must
// fit their columns; counters begin at 0.
func (s *Store) ImportSite(ctx context.Context, site schema.Patch, filters, properties []schema.Patch) error {
	return s.run.Update(ctx, "ImportSite", func(t *tx) error {
		id := site.Text("Id")
		if err := t.importSite(id, counters.WithoutCounted(site)); err != nil {
			return err
		}
		if err := t.PutList("Site.filters", tables.FiltersInfo, id, filters); err != nil {
			return err
		}
		if err := t.PutList("Site.properties", tables.PropertiesInfo, id, properties); err != nil {
			return err
		}
		return t.importMark(id, PartSite, wire.Bookmark{Done: true})
	})
}

func (t *tx) importSite(id string, row schema.Patch) error {
	stored, err := t.StoredID(id)
	if err != nil {
		return err
	}
	if stored != "" {
		if id != wire.GeneralSite {
			return tables.ErrDuplicate
		}
		if err := t.DoAll(id, "filters_delete", "properties_delete"); err != nil {
			return err
		}
		delete(row, "Id")
		if err := t.MakeSite(id); err != nil {
			return err
		}
		_, err := t.UpdateRows(t.SitesTarget("Site"), row, nil, "Id = ?", id)
		return err
	}
	return t.CreateSite(id, row)
}

// ImportRows stores rows of one part of a site and its bookmark in one transaction. The
// site must exist (ImportSite). Values must fit their columns. It skips rows whose key
// exists, and returns the number of stored rows. The keys are those of the original, the md5
// of the text; the next program that opens the stores renews them.
func (s *Store) ImportRows(ctx context.Context, id, part string, rows []schema.Patch, next wire.Bookmark) (stored int, err error) {
	return tables.RunForResult(ctx, s.run.Update, "ImportRows", func(t *tx) (int, error) {
		id, err := t.OpenSite(id)
		if err != nil {
			return 0, err
		}
		var fresh []schema.Patch
		if len(rows) > 0 {
			if rows, err = t.importKeys(id, part, rows); err != nil {
				return 0, err
			}
			if fresh, err = t.importRows(id, part, rows); err != nil {
				return 0, err
			}
		}
		return len(fresh), t.importMark(id, part, next)
	})
}

// importColumns are the columns of a part.
var importColumns = map[string][]string{
	PartRoots:      append(columnNames(wire.URLColumns), "User_Id"),
	PartURLs:       columnNames(wire.URLColumns),
	PartDeleted:    columnNames(wire.URLColumns),
	PartAttributes: {"Site_Id", "URLMd5", "Name", "Value", "CDate"},
	PartFreqs: {"Site_Id", "URLMd5", "FIns", "FDel", "FUpd", "FNew", "FCrawled", "FProcessed", "FAged", "FDeleted", "FPurged",
		"CDate", "MDate"},
	PartLog: {"Site_Id", "URLMd5", "OpCode", "Object", "CDate", "ODate"},
}

// importKeys prepares the keys of rows: NewKeys has to look at URLs with escapes, and may
// have renewed those of an earlier run.
func (t *tx) importKeys(id, part string, rows []schema.Patch) ([]schema.Patch, error) {
	switch part {
	case PartRoots, PartURLs, PartDeleted:
		old := slices.ContainsFunc(rows, func(p schema.Patch) bool { return urlkey.NormalEscapes(p.Text("URL")) != p.Text("URL") })
		if !old {
			return rows, nil
		}
		_, err := t.Do("keys_site", id, oldRows)
		return rows, err
	}
	current, err := t.currentKeys(tables.MapSlice(rows, func(p schema.Patch) string { return p.Text("URLMd5") }))
	return tables.MapSlice(rows, func(p schema.Patch) schema.Patch {
		if key := current[p.Text("URLMd5")]; key != "" {
			p = tables.ClonePatch(p)
			p["URLMd5"] = key
		}
		return p
	}), err
}

func columnNames(columns []schema.Column) []string {
	return tables.MapSlice(columns, func(c schema.Column) string { return c.Name })
}

func (t *tx) importRows(id, part string, rows []schema.Patch) (fresh []schema.Patch, err error) {
	table := map[string]string{
		PartRoots: t.DB.Table(sqldb.Sites, "sites_urls"), PartURLs: t.SiteTable(sqldb.URLs, id), PartDeleted: t.SiteTable(sqldb.Deleted, id),
		PartAttributes: t.SiteTable(sqldb.Attributes, id), PartFreqs: t.SiteTable(sqldb.Freqs, id), PartLog: t.SiteTable(sqldb.Logs, id),
	}[part]
	fresh, err = t.insertAll(table, importColumns[part], id, rows)
	if err != nil || len(fresh) == 0 {
		return fresh, err
	}
	switch part {
	case PartDeleted:
		_, err = t.Do("site_deleted_more", len(fresh), id)
	case PartURLs:
		err = t.CountAdded(id, tables.MapSlice(fresh, func(p schema.Patch) string { return p.Text("URLMd5") }))
	}
	return fresh, err
}

// insertAll inserts rows of a site, several with one statement, and returns those whose
// keys were new. CDate defaults to the current time. Columns that no row has keep their defaults.
func (t *tx) insertAll(table string, columns []string, site string, patches []schema.Patch) (fresh []schema.Patch, err error) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(name string) bool {
		has := func(p schema.Patch) bool { return p[name] != nil }
		return name != "Site_Id" && name != "CDate" && !slices.ContainsFunc(patches, has)
	})
	head := "INSERT INTO " + table + " (`" + strings.Join(columns, "`, `") + "`)"
	rows := tables.MapSlice(patches, func(p schema.Patch) []any {
		return tables.MapSlice(columns, func(name string) any {
			switch {
			case name == "Site_Id":
				return site
			case name == "CDate" && p[name] == nil:
				return t.Now
			}
			return p[name]
		})
	})
	for len(rows) > 0 {
		text, args, n := tables.InsertText(head, rows)
		_, inserted, err := t.Insert(text, args...)
		if err != nil {
			return nil, err
		}
		if inserted {
			fresh = append(fresh, patches[:n]...)
		} else if n > 1 { // a key exists: insert the rows one by one
			for i := range n {
				text, args, _ := tables.InsertText(head, rows[i:i+1])
				if _, inserted, err = t.Insert(text, args...); err != nil {
					return nil, err
				}
				if inserted {
					fresh = append(fresh, patches[i])
				}
			}
		}
		rows, patches = rows[n:], patches[n:]
	}
	return fresh, nil
}

// ImportMark stores the bookmark of a part that has no rows in the database.
func (s *Store) ImportMark(ctx context.Context, id, part string, b wire.Bookmark) error {
	return s.run.Update(ctx, "ImportMark", func(t *tx) error { return t.importMark(id, part, b) })
}

func (t *tx) importMark(id, part string, b wire.Bookmark) error {
	if _, err := t.Do("import_forget_part", id, part); err != nil {
		return err
	}
	_, err := t.Do("import_mark", id, part, b.Key, b.Rows, b.Done, t.Now)
	return err
}

// ImportEnd recounts the counters of a site and marks PartCounters as done.
func (s *Store) ImportEnd(ctx context.Context, id string) error {
	return s.run.Update(ctx, "ImportEnd", func(t *tx) error {
		id, err := t.StoredID(id)
		if err != nil || id == "" {
			return err
		}
		if err := t.RecountSite(id); err != nil {
			return err
		}
		return t.importMark(id, PartCounters, wire.Bookmark{Done: true})
	})
}

// ImportedProxies returns the bookmark of the proxies.
func (s *Store) ImportedProxies(ctx context.Context) (wire.Bookmark, error) {
	parts, err := tables.RunForResult(ctx, s.run.Read, "ImportedProxies", func(t *tx) (map[string]wire.Bookmark, error) { return t.importBookmarks(importOfAll) })
	return parts[partProxies], err
}

// ImportProxies stores proxies and their bookmark in one transaction. Of several proxies
// with one site and host the first is stored. It returns the number of stored proxies.
func (s *Store) ImportProxies(ctx context.Context, rows []schema.Patch, next wire.Bookmark) (stored int, err error) {
	return tables.RunForResult(ctx, s.run.Update, "ImportProxies", func(t *tx) (int, error) {
		stored := 0
		for _, p := range rows {
			inserted, err := t.InsertRow(t.ProxyTarget("Proxy", p.Text("Site_Id")), p)
			if err != nil {
				return 0, err
			}
			if inserted {
				stored++
			}
		}
		return stored, t.importMark(importOfAll, partProxies, next)
	})
}
