package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
)

// MySQL commits the transaction at each statement that creates or drops a table. These
// statements therefore run outside the transaction:
//
//   - MakeSite creates tables before the row of the site exists;
//   - DropSite records tables in the transaction. After the commit, this process or the
//     next Open drops them.
//
// On SQLite all sites share tables: MakeSite does nothing, DropSite deletes rows.

// MakeSite creates the missing tables of a site, only in the given databases if there are
// any. The transaction must not have used the tables before. The caller must check the id
// of the site.
func (t *Tx) MakeSite(site string, databases ...string) error {
	if t.DB.dialect != expr.MySQL {
		return nil
	}
	if waits, err := t.waitsForDrop(site); err != nil || waits {
		if err == nil {
			err = t.DB.dropRecordedTables(t.ctx)
		}
		if err != nil {
			return err
		}
	}
	return t.DB.makeSite(t.ctx, site, databases)
}

// SiteMade must follow the insert of the row of the site. If another transaction has
// meanwhile deleted a site of that name, its tables are recorded or already dropped: then
// Update runs again.
func (t *Tx) SiteMade(site string) error {
	if t.DB.dialect != expr.MySQL {
		return nil
	}
	if waits, err := t.waitsForDrop(site); err != nil || waits {
		return cmp.Or(err, errAgain)
	}
	for database := range siteTables {
		if has, err := t.HasSite(database, site); err != nil || !has {
			return cmp.Or(err, errAgain)
		}
	}
	return nil
}

// DropSite deletes the rows or drops the tables of a site in the given databases.
func (t *Tx) DropSite(site string, databases ...string) error {
	for _, database := range databases {
		if t.DB.dialect != expr.MySQL {
			if _, err := t.Exec("DELETE FROM "+t.DB.SiteTable(database, site)+" WHERE Site_Id = ?", site); err != nil {
				return err
			}
			continue
		}
		if _, _, err := t.Insert("INSERT INTO "+t.DB.Table(Sites, "dropped")+" (Site_Id, Base_Name) VALUES (?, ?)", site, database); err != nil {
			return err
		}
		t.mark.drops = true
	}
	return nil
}

func (t *Tx) waitsForDrop(site string) (bool, error) {
	var one int
	return t.Row("SELECT 1 FROM "+t.DB.Table(Sites, "dropped")+" WHERE Site_Id = ? LIMIT 1", []any{site}, &one)
}

// KeepsSite is HasSite for a caller that holds the id of the site: then no other transaction can record
// its tables to be dropped. One that is recorded already counts as dropped.
func (t *Tx) KeepsSite(database, site string) (bool, error) {
	if t.DB.dialect == expr.MySQL {
		var one int
		text := "SELECT 1 FROM " + t.DB.Table(Sites, "dropped") + " WHERE Site_Id = ? AND Base_Name = ?" + t.DB.ForUpdate()
		if dropped, err := t.Row(text, []any{site, database}, &one); err != nil || dropped {
			return false, err
		}
	}
	return t.HasSite(database, site)
}

// HasSite reports whether a database has a table for the site, on SQLite whether it has
// rows.
func (t *Tx) HasSite(database, site string) (bool, error) {
	var one int
	if t.DB.dialect != expr.MySQL {
		return t.Row("SELECT 1 FROM "+t.DB.SiteTable(database, site)+" WHERE Site_Id = ? LIMIT 1", []any{site}, &one)
	}
	return t.Row("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		[]any{t.DB.Name(database), t.DB.tableOf(database, site)}, &one)
}

// SitesWith lists the sites with a table in a database, on SQLite with rows, sorted by id.
func (t *Tx) SitesWith(database string) ([]string, error) {
	var sites []string
	each := func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		sites = append(sites, name)
		return err
	}
	if t.DB.dialect != expr.MySQL {
		// This query reads the index once for each site, not once for each row.
		table := t.DB.SiteTable(database, "")
		err := t.Each("WITH RECURSIVE one (site) AS (SELECT MIN(Site_Id) FROM "+table+" UNION ALL SELECT (SELECT MIN(Site_Id) FROM "+table+
			" WHERE Site_Id > one.site) FROM one WHERE one.site IS NOT NULL) SELECT site FROM one WHERE site IS NOT NULL ORDER BY site", nil, each)
		return sites, err
	}
	prefix := siteTables[database] + "_"
	err := t.Each("SELECT SUBSTRING(TABLE_NAME, ?) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND LEFT(TABLE_NAME, ?) = ? ORDER BY TABLE_NAME",
		[]any{len(prefix) + 1, t.DB.Name(database), len(prefix), prefix}, each)
	return sites, err
}

// makeSite runs the schema steps for the tables of a site.
func (d *DB) makeSite(ctx context.Context, site string, databases []string) error {
	return d.withSchemaLock(ctx, func(conn *sql.Conn) error {
		for _, s := range d.steps {
			if !s.site {
				continue
			}
			for _, text := range d.statementsOf(s, site) {
				wanted := len(databases) == 0 || slices.ContainsFunc(databases, func(database string) bool {
					return strings.Contains(text, d.SiteTable(database, site))
				})
				if !wanted {
					continue
				}
				if err := runDefinition(ctx, conn, text); err != nil {
					return fmt.Errorf("create tables of site %s: %w", site, err)
				}
			}
		}
		return nil
	})
}

// dropRecordedTables drops all recorded tables.
func (d *DB) dropRecordedTables(ctx context.Context) error {
	err := d.withSchemaLock(ctx, func(conn *sql.Conn) error {
		type recorded struct{ site, database string }
		var list []recorded
		dropped := d.Table(Sites, "dropped")
		rows, err := conn.QueryContext(ctx, "SELECT Site_Id, Base_Name FROM "+dropped)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var r recorded
			if err := rows.Scan(&r.site, &r.database); err != nil {
				return err
			}
			list = append(list, r)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		for _, r := range list {
			if siteTables[r.database] == "" {
				continue
			}
			if _, err := conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+d.SiteTable(r.database, r.site)); err != nil {
				return err
			}
			if _, err := conn.ExecContext(ctx, "DELETE FROM "+dropped+" WHERE Site_Id = ? AND Base_Name = ?", r.site, r.database); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop tables of deleted sites: %w", err)
	}
	return nil
}

// withSchemaLock runs change while no other process creates or drops tables. The server frees the
// lock if the connection breaks. The pool of definers has its own connection, because all
// other connections may wait for this change.
func (d *DB) withSchemaLock(ctx context.Context, change func(*sql.Conn) error) error {
	conn, err := d.definers.Conn(ctx)
	if err != nil {
		return d.convertAwayError(err)
	}
	defer conn.Close()
	name := "dc schema " + d.Name(Sites)
	if len(name) > 64 {
		name = name[:64]
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, max(1, int(d.cfg.Busy.Seconds()))).Scan(&got); err != nil {
		return d.convertAwayError(err)
	}
	if got.Int64 != 1 {
		return fmt.Errorf("another process has created or dropped tables for more than %s; retry later", d.cfg.Busy)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(?)", name)
	return change(conn)
}

// statementsOf returns the filled statements of a step. A semicolon at the end of a line
// ends a statement.
func (d *DB) statementsOf(s step, site string) []string {
	var list []string
	text := strings.ReplaceAll(d.fillNames(s.text, site), "%SITE%", site)
	for _, part := range strings.Split(commentLine.ReplaceAllString(text, ""), ";\n") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}
