package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// Contents keeps the processed contents of pages in the SQL database
// (content_storage_type 1, docs/spec/storage.md 3.2), in the tables contents_<site>. It asks
// for no row of sites: what it keeps may outlive its site until a purge.
//
// Each method is one transaction. A site is given by its id as it is stored, ""
// is the general site; an id of an entry is 1 to 32 letters, digits, - or _. Any
// other is refused with a *wire.FieldError before anything is touched.
type Contents struct{ s *Store }

// Contents are the processed contents in the store's database.
func (s *Store) Contents() *Contents { return &Contents{s} }

// Bounds of one page and of one statement. A value that is larger than a
// statement may be has one of its own.
const (
	contentsPage      = 500
	contentsStatement = 1 << 20 // bytes of data
)

// contentsRows are the numbers of rows of one statement. Few of them make few
// texts, which stay prepared.
var contentsRows = []int{64, 16, 4, 1}

// Create makes the table of a site where it is missing.
func (c *Contents) Create(ctx context.Context, site string) error {
	return c.update(ctx, "Create", site, nil, func(t *contentsTx) error { return t.make() })
}

// PutAll stores entries, each in the place of what had its id. Inserted tells
// for each whether its id was new. Of two entries of one id the last stays.
func (c *Contents) PutAll(ctx context.Context, site string, entries []wire.Entry) (inserted []bool, err error) {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.ID
	}
	now := c.s.o.Now()
	err = c.update(ctx, "PutAll", site, ids, func(t *contentsTx) error {
		inserted = nil
		if len(entries) == 0 {
			return nil
		}
		if err := t.make(); err != nil {
			return err
		}
		known := map[string]bool{}
		err := t.each("id", ids, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			known[id] = true
			return err
		})
		if err != nil {
			return err
		}
		for _, id := range ids {
			inserted = append(inserted, !known[id])
			known[id] = true
		}
		return t.put(entries, now)
	})
	return inserted, err
}

// Get returns the entry of id; false when there is none.
func (c *Contents) Get(ctx context.Context, site, id string) (wire.Entry, bool, error) {
	all, err := c.GetAll(ctx, site, id)
	e, ok := all[id]
	return e, ok, err
}

// GetAll returns the entries of those ids that have one, by id.
func (c *Contents) GetAll(ctx context.Context, site string, ids ...string) (map[string]wire.Entry, error) {
	found := map[string]wire.Entry{}
	err := c.view(ctx, "GetAll", site, ids, func(t *contentsTx) error {
		found = make(map[string]wire.Entry, len(ids))
		return t.each("id, data, CDate", ids, func(scan func(...any) error) error {
			e, err := scanEntry(scan)
			found[e.ID] = e
			return err
		})
	})
	return found, err
}

// Delete removes the entries of ids. Missing ones are no error.
func (c *Contents) Delete(ctx context.Context, site string, ids ...string) error {
	return c.update(ctx, "Delete", site, ids, func(t *contentsTx) error {
		if has, err := t.has(); err != nil || !has {
			return err
		}
		return chunks(ids, func(in string, args []any) error {
			_, err := t.Exec("DELETE FROM "+t.table+" WHERE Site_Id = ? AND id IN ("+in+")", append([]any{t.site}, args...)...)
			return err
		})
	})
}

// DeleteSite removes all entries of a site. A site without any is no error.
func (c *Contents) DeleteSite(ctx context.Context, site string) error {
	return c.update(ctx, "DeleteSite", site, nil, func(t *contentsTx) error {
		if has, err := t.has(); err != nil || !has {
			return err
		}
		_, err := t.Of(t.site).Do("contents_delete", t.site)
		return err
	})
}

// Sites lists the sites that have entries, in the order of their ids.
func (c *Contents) Sites(ctx context.Context) ([]string, error) {
	var sites []string
	err := c.s.view(ctx, "Contents.Sites", func(t *tx) error {
		sites = nil
		all, err := t.SitesWith(sqldb.Contents)
		if err != nil {
			return err
		}
		for _, site := range all {
			if wire.CheckSiteID("", "", site) != nil {
				continue // a table of others
			}
			var one int
			used, err := t.Row("SELECT 1 FROM "+t.DB.SiteTable(sqldb.Contents, site)+" WHERE Site_Id = ? LIMIT 1", []any{site}, &one)
			if err != nil {
				return err
			}
			if used {
				sites = append(sites, site)
			}
		}
		slices.Sort(sites) // a database may have an order of its own
		return nil
	})
	return sites, err
}

// Page returns the entries of a site whose ids come behind after, in the order
// of ids: at most 500, and no more than the first beyond so many bytes of data.
// Behind the last one it is empty.
func (c *Contents) Page(ctx context.Context, site, after string, most int) ([]wire.Entry, error) {
	var page []wire.Entry
	err := c.view(ctx, "Page", site, nil, func(t *contentsTx) error {
		page = nil
		last, err := t.lastOfPage(after, most)
		if err != nil || last == "" {
			return err
		}
		return t.Each("SELECT id, data, CDate FROM "+t.table+" WHERE Site_Id = ? AND id > ? AND id <= ? ORDER BY id", []any{t.site, after, last},
			func(scan func(...any) error) error {
				e, err := scanEntry(scan)
				page = append(page, e)
				return err
			})
	})
	return page, err
}

// Dates returns the dates of those ids that have an entry, by id.
func (c *Contents) Dates(ctx context.Context, site string, ids ...string) (map[string]time.Time, error) {
	dates := map[string]time.Time{}
	err := c.view(ctx, "Dates", site, ids, func(t *contentsTx) error {
		dates = make(map[string]time.Time, len(ids))
		return t.each("id, CDate", ids, func(scan func(...any) error) error {
			var id string
			var date sql.NullString
			err := scan(&id, &date)
			dates[id], _ = wire.Date(date.String).Time()
			return err
		})
	})
	return dates, err
}

// DropEmpty does nothing: a site without entries takes up nothing here that is
// not its own anyway.
func (c *Contents) DropEmpty(context.Context, string) error { return nil }

// contentsTx is a transaction on the contents of one site.
type contentsTx struct {
	*sqldb.Tx
	site, table string
}

// view runs read, unless the site has no table: then there is nothing to read.
func (c *Contents) view(ctx context.Context, op, site string, ids []string, read func(*contentsTx) error) error {
	site, err := checkContents(site, ids)
	if err != nil {
		return err
	}
	return c.s.view(ctx, "Contents."+op, func(st *tx) error {
		t := &contentsTx{Tx: st.Tx, site: site, table: st.table(sqldb.Contents, site)}
		if has, err := t.has(); err != nil || !has {
			return err
		}
		return read(t)
	})
}

func (c *Contents) update(ctx context.Context, op, site string, ids []string, change func(*contentsTx) error) error {
	site, err := checkContents(site, ids)
	if err != nil {
		return err
	}
	return c.s.update(ctx, "Contents."+op, func(st *tx) error {
		return change(&contentsTx{Tx: st.Tx, site: site, table: st.table(sqldb.Contents, site)})
	})
}

func checkContents(site string, ids []string) (string, error) {
	if site == "" {
		site = wire.GeneralSite
	}
	if err := wire.CheckSiteID("Contents", "site", site); err != nil {
		return "", err
	}
	for _, id := range ids {
		if wire.CheckSiteID("", "", id) != nil { // the letters of both are the same
			return "", &wire.FieldError{Object: "Contents", Field: "id", Value: fmt.Sprintf("%.100q", id), Reason: "is not an id: 1 to 32 letters, digits, - or _"}
		}
	}
	return site, nil
}

func (t *contentsTx) has() (bool, error) { return t.HasSite(sqldb.Contents, t.site) }

// make makes the site's table if there is none.
func (t *contentsTx) make() error {
	if has, err := t.has(); err != nil || has {
		return err
	}
	return t.MakeSite(t.site, sqldb.Contents)
}

// each reads columns of the entries of ids.
func (t *contentsTx) each(columns string, ids []string, row func(scan func(...any) error) error) error {
	return chunks(ids, func(in string, args []any) error {
		return t.Each("SELECT "+columns+" FROM "+t.table+" WHERE Site_Id = ? AND id IN ("+in+")", append([]any{t.site}, args...), row)
	})
}

// put writes entries, some in each statement. REPLACE takes the rows of one in
// their order, on both databases.
func (t *contentsTx) put(entries []wire.Entry, now time.Time) error {
	for len(entries) > 0 {
		n := rowsOfStatement(entries)
		text := "REPLACE INTO " + t.table + " (Site_Id, id, data, CDate) VALUES "
		args := make([]any, 0, 4*n)
		for i, e := range entries[:n] {
			if i > 0 {
				text += ", "
			}
			text += "(?, ?, ?, ?)"
			if e.CDate.IsZero() {
				e.CDate = now
			}
			if e.Data == nil {
				e.Data = []byte{} // nil is NULL
			}
			args = append(args, t.site, e.ID, e.Data, string(wire.DateOf(e.CDate)))
		}
		if _, err := t.Exec(text, args...); err != nil {
			return err
		}
		entries = entries[n:]
	}
	return nil
}

// rowsOfStatement is how many of the entries the next statement takes.
func rowsOfStatement(entries []wire.Entry) int {
	fit, size := 0, 0
	for _, e := range entries[:min(len(entries), contentsRows[0])] {
		if size += len(e.Data); size > contentsStatement {
			break
		}
		fit++
	}
	for _, n := range contentsRows {
		if n <= fit {
			return n
		}
	}
	return 1
}

// lastOfPage is the id at the end of a page; "" when there is none.
func (t *contentsTx) lastOfPage(after string, most int) (last string, err error) {
	size, full := 0, false
	err = t.Each("SELECT id, LENGTH(data) FROM "+t.table+" WHERE Site_Id = ? AND id > ? ORDER BY id LIMIT ?", []any{t.site, after, contentsPage},
		func(scan func(...any) error) error {
			var id string
			var n int
			if err := scan(&id, &n); err != nil {
				return err
			}
			size += n
			if full = full || size > most && last != ""; !full {
				last = id
			}
			return nil
		})
	return last, err
}

// scanEntry reads id, data and CDate.
func scanEntry(scan func(...any) error) (wire.Entry, error) {
	var e wire.Entry
	var date sql.NullString
	err := scan(&e.ID, &e.Data, &date)
	e.CDate, _ = wire.Date(date.String).Time()
	return e, err
}
