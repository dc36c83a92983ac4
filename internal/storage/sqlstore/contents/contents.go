package contents

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/zpack"
)

// Contents stores the processed contents of pages in the SQL database
// (content_storage_type 1, docs/spec/storage.md 3.2), in the tables contents_<site>. Its
// rows may outlive the row of the site until a purge.
//
// Each method is one transaction. A site is given by its id as stored; "" is the general
// site. The id of an entry has 1 to 32 letters, digits, - or _. Any other id is a
// *lenient.FieldError, and nothing is changed.
type Contents struct{ s *Store }

// Contents returns the processed contents in the store's database.
func (s *Store) Contents() *Contents { return &Contents{s} }

// contentsPage is the maximum number of entries of Page.
const contentsPage = 500

// Place names the table of a site in messages.
func (c *Contents) Place(site string) string { return "the database, contents of site " + site }

// Create makes the table of a site if it is missing.
func (c *Contents) Create(ctx context.Context, site string) error {
	return c.runChecked(ctx, c.s.run.Update, "Create", site, nil, (*contentsTx).createTable)
}

// PutAll stores entries and replaces entries with the same id. Inserted reports for each
// entry whether its id was new. Of several entries with one id the last one is stored.
func (c *Contents) PutAll(ctx context.Context, site string, entries []wire.Entry) (inserted []bool, err error) {
	ids := tables.MapSlice(entries, func(e wire.Entry) string { return e.ID })
	now := c.s.db.Options.Now()
	err = c.runChecked(ctx, c.s.run.Update, "PutAll", site, ids, func(t *contentsTx) error {
		inserted = nil
		if len(entries) == 0 {
			return nil
		}
		if err := t.createTable(); err != nil {
			return err
		}
		var stored []string
		if err := t.forEachEntry("id", ids, tables.AppendTo(&stored, tables.SingleTarget[string])); err != nil {
			return err
		}
		known := map[string]bool{}
		for _, id := range stored {
			known[id] = true
		}
		for _, id := range ids {
			inserted = append(inserted, !known[id])
			known[id] = true
		}
		return t.putEntries(entries, now)
	})
	return inserted, err
}

// Get returns the entry of id, and false if there is no entry.
func (c *Contents) Get(ctx context.Context, site, id string) (wire.Entry, bool, error) {
	all, err := c.GetAll(ctx, site, id)
	e, ok := all[id]
	if err == nil {
		err = e.Damage
	}
	return e, ok, err
}

// GetAll returns entries by id. Missing ids are not in the map. A damaged entry has Damage.
func (c *Contents) GetAll(ctx context.Context, site string, ids ...string) (map[string]wire.Entry, error) {
	found := map[string]wire.Entry{}
	err := c.runIfExists(ctx, c.s.run.Read, "GetAll", site, ids, func(t *contentsTx) error {
		clear(found)
		return t.forEachEntry("id, data, CDate", ids, func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			found[e.ID] = e
			return err
		})
	})
	return found, err
}

// Delete removes entries. Missing entries are no error.
func (c *Contents) Delete(ctx context.Context, site string, ids ...string) error {
	return c.runIfExists(ctx, c.s.run.Update, "Delete", site, ids, func(t *contentsTx) error {
		_, err := tables.ExecIn(t.tx.tableTx, ids, "DELETE FROM "+t.contents+" WHERE Site_Id = ? AND id IN ", t.site)
		return err
	})
}

// DeleteSite removes all entries of a site.
func (c *Contents) DeleteSite(ctx context.Context, site string) error {
	return c.runIfExists(ctx, c.s.run.Update, "DeleteSite", site, nil, func(t *contentsTx) error {
		_, err := t.Of(t.site).Do("contents_delete", t.site)
		return err
	})
}

// Sites lists the sites that have entries, sorted by id.
func (c *Contents) Sites(ctx context.Context) ([]string, error) {
	return tables.RunForResult(ctx, c.s.run.Read, "Contents.Sites", func(t *tx) ([]string, error) {
		all, err := t.SitesWith(sqldb.Contents)
		if err != nil {
			return nil, err
		}
		var sites []string
		for _, site := range all {
			if wire.CheckSiteID("", "", site) != nil {
				continue // not a table of this program
			}
			used, err := t.Row("SELECT 1 FROM "+t.SiteTable(sqldb.Contents, site)+" WHERE Site_Id = ? LIMIT 1", []any{site}, new(int))
			if err != nil {
				return nil, err
			}
			if used {
				sites = append(sites, site)
			}
		}
		slices.Sort(sites) // the order of the database may ignore case
		return sites, nil
	})
}

// Page returns the entries of a site with ids above after, sorted by id. It stops after
// 500 entries or before the data exceeds maxBytes, but returns at least one entry. It is
// empty at the end.
func (c *Contents) Page(ctx context.Context, site, after string, maxBytes int) ([]wire.Entry, error) {
	var page []wire.Entry
	err := c.runIfExists(ctx, c.s.run.Read, "Page", site, nil, func(t *contentsTx) error {
		page = nil
		last, err := t.lastOfPage(after, maxBytes)
		if err != nil || last == "" {
			return err
		}
		return t.Each("SELECT id, data, CDate FROM "+t.contents+" WHERE Site_Id = ? AND id > ? AND id <= ? ORDER BY id", []any{t.site, after, last},
			func(scan func(...any) error) error {
				e, err := scanEntry(scan)
				page = append(page, e)
				return err
			})
	})
	return page, err
}

// Dates returns the dates of entries by id. Missing ids are not in the map.
func (c *Contents) Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error) {
	dates := map[string]time.Time{}
	err := c.runIfExists(ctx, c.s.run.Read, "Dates", site, ids, func(t *contentsTx) error {
		clear(dates)
		return t.forEachEntry("id, CDate", ids, tables.ScanPair(func(id string, date sql.NullString) { dates[id], _ = schema.Date(date.String).Time() }))
	})
	return dates, err
}

// DropEmpty does nothing: the tables of a site without entries need no space.
func (c *Contents) DropEmpty(context.Context, string) error { return nil }

// contentsTx is a transaction on the contents of one site.
type contentsTx struct {
	*tx
	site, contents string // id and table
}

// runIfExists is run for a site that has a table. Otherwise it does nothing.
func (c *Contents) runIfExists(ctx context.Context, run tables.Transact[*tx], op, site string, ids []string, do func(*contentsTx) error) error {
	return c.runChecked(ctx, run, op, site, ids, func(t *contentsTx) error {
		if has, err := t.hasTable(); err != nil || !has {
			return err
		}
		return do(t)
	})
}

// runChecked checks the ids and runs do in a transaction.
func (c *Contents) runChecked(ctx context.Context, run tables.Transact[*tx], op, site string, ids []string, do func(*contentsTx) error) error {
	if site == "" {
		site = wire.GeneralSite
	}
	if err := wire.CheckSiteID("Contents", "site", site); err != nil {
		return err
	}
	for _, id := range ids {
		if wire.CheckSiteID("", "", id) != nil { // ids of entries follow the same rule
			return &lenient.FieldError{Object: "Contents", Field: "id", Value: fmt.Sprintf("%.100q", id), Reason: "is not an id: 1 to 32 letters, digits, - or _"}
		}
	}
	return run(ctx, "Contents."+op, func(t *tx) error {
		return do(&contentsTx{tx: t, site: site, contents: t.SiteTable(sqldb.Contents, site)})
	})
}

func (t *contentsTx) hasTable() (bool, error) { return t.HasSite(sqldb.Contents, t.site) }

// createTable makes the site's table if it is missing.
func (t *contentsTx) createTable() error {
	if has, err := t.hasTable(); err != nil || has {
		return err
	}
	return t.MakeSite(t.site, sqldb.Contents)
}

// forEachEntry reads columns of the entries of ids.
func (t *contentsTx) forEachEntry(columns string, ids []string, row func(scan func(...any) error) error) error {
	return tables.EachIn(t.tx.tableTx, ids, "SELECT "+columns+" FROM "+t.contents+" WHERE Site_Id = ? AND id IN ", []any{t.site}, row)
}

// putEntries writes entries. REPLACE applies the rows of one statement in their order, on both
// databases.
func (t *contentsTx) putEntries(entries []wire.Entry, now time.Time) error {
	rows := tables.MapSlice(entries, func(e wire.Entry) []any {
		if e.CDate.IsZero() {
			e.CDate = now
		}
		return []any{t.site, e.ID, zpack.Seal(e.ID, e.CDate, e.Data), string(schema.DateOf(e.CDate))}
	})
	return t.InsertRows("REPLACE INTO "+t.contents+" (Site_Id, id, data, CDate)", rows)
}

// lastOfPage returns the id at the end of a page, or "" for an empty page.
func (t *contentsTx) lastOfPage(after string, maxBytes int) (last string, err error) {
	size, full := 0, false
	err = t.Each("SELECT id, LENGTH(data) FROM "+t.contents+" WHERE Site_Id = ? AND id > ? ORDER BY id LIMIT ?", []any{t.site, after, contentsPage},
		tables.ScanPair(func(id string, n int) {
			size += max(0, n-zpack.SealSize)
			if full = full || size > maxBytes && last != ""; !full {
				last = id
			}
		}))
	return last, err
}

// scanEntry reads id, data and CDate, and checks the digest.
func scanEntry(scan func(...any) error) (wire.Entry, error) {
	var e wire.Entry
	var date sql.NullString
	err := scan(&e.ID, &e.Data, &date)
	e.CDate, _ = schema.Date(date.String).Time()
	if err != nil {
		return e, err
	}
	if e.Data, err = zpack.Unseal(e.ID, e.CDate, e.Data); err != nil {
		e.Data, e.Damage = nil, fmt.Errorf("%s: key %s: %w", wire.DamagedProcessed, e.ID, err)
	}
	return e, nil
}
