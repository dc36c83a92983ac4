package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"hce/dc/internal/storage/expr"
)

// The tables of a site come and go with the site. On MySQL each such statement
// ends the transaction it stands in, so they run beside it:
//
//   - tables are made before the site's row, and may stand without it;
//   - tables are dropped after the site's row: what is to be dropped is written
//     down in the same transaction, and dropped when that is committed, by the
//     one who did it or by the next who opens the database.
//
// On SQLite the rows of all sites share tables: making is nothing, dropping
// deletes rows.

// MakeSite makes the tables that a site lacks, those of the given databases
// alone when there are any. The transaction must not have touched them before;
// it may be told to run again. The site's id must be checked.
func (t *Tx) MakeSite(site string, databases ...string) error {
	if t.DB.dialect != expr.MySQL {
		return nil
	}
	if waits, err := t.waitsForDrop(site); err != nil || waits {
		if err == nil {
			err = t.DB.sweep(t.ctx)
		}
		if err != nil {
			return err
		}
	}
	return t.DB.makeSite(t.ctx, site, databases)
}

// SiteMade is asked when the site's row stands: meanwhile another transaction,
// which deleted a site of that name, may have condemned the tables.
func (t *Tx) SiteMade(site string) error {
	if t.DB.dialect != expr.MySQL {
		return nil
	}
	if waits, err := t.waitsForDrop(site); err != nil || !waits {
		return err
	}
	return errAgain
}

// DropSite lets go of a site's rows, and where it has them of its tables, in the
// given databases.
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

// HasSite reports whether there is a table for the site in a database; on SQLite
// whether there are rows.
func (t *Tx) HasSite(database, site string) (bool, error) {
	var one int
	if t.DB.dialect != expr.MySQL {
		return t.Row("SELECT 1 FROM "+t.DB.SiteTable(database, site)+" WHERE Site_Id = ? LIMIT 1", []any{site}, &one)
	}
	return t.Row("SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		[]any{t.DB.Name(database), t.DB.tableOf(database, site)}, &one)
}

// SitesWith lists the sites that have a table in a database, in the order of
// their ids; on SQLite those that have rows.
func (t *Tx) SitesWith(database string) ([]string, error) {
	var sites []string
	each := func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		sites = append(sites, name)
		return err
	}
	if t.DB.dialect != expr.MySQL {
		// One step of the index for each site, not one for each row. The tables have
		// columns of their own that are named id.
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

// makeSite runs the steps of the schema that are about a site's tables.
func (d *DB) makeSite(ctx context.Context, site string, databases []string) error {
	return d.locked(ctx, func(conn *sql.Conn) error {
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
				if err := define(ctx, conn, text); err != nil {
					return fmt.Errorf("db.MakeSite: %w", err)
				}
			}
		}
		return nil
	})
}

// sweep drops the tables that are to be dropped.
func (d *DB) sweep(ctx context.Context) error {
	return d.locked(ctx, func(conn *sql.Conn) error {
		type condemned struct{ site, database string }
		var list []condemned
		dropped := d.Table(Sites, "dropped")
		rows, err := conn.QueryContext(ctx, "SELECT Site_Id, Base_Name FROM "+dropped)
		if err != nil {
			return fmt.Errorf("db.sweep: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var c condemned
			if err := rows.Scan(&c.site, &c.database); err != nil {
				return fmt.Errorf("db.sweep: %w", err)
			}
			list = append(list, c)
		}
		if err := rows.Err(); err != nil {
			return fmt.Errorf("db.sweep: %w", err)
		}
		for _, c := range list {
			if siteTables[c.database] == "" {
				continue
			}
			if _, err := conn.ExecContext(ctx, "DROP TABLE IF EXISTS "+d.SiteTable(c.database, c.site)); err != nil {
				return fmt.Errorf("db.sweep: %w", err)
			}
			if _, err := conn.ExecContext(ctx, "DELETE FROM "+dropped+" WHERE Site_Id = ? AND Base_Name = ?", c.site, c.database); err != nil {
				return fmt.Errorf("db.sweep: %w", err)
			}
		}
		return nil
	})
}

// locked runs change while no other process makes or drops tables. The server
// frees the lock of a connection that breaks. The connection is one of its own:
// those of the pool may all be waiting for what is done here.
func (d *DB) locked(ctx context.Context, change func(*sql.Conn) error) error {
	conn, err := d.definers.Conn(ctx)
	if err != nil {
		return d.away(err)
	}
	defer conn.Close()
	name := "dc schema " + d.Name(Sites)
	if len(name) > 64 {
		name = name[:64]
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, max(1, int(d.cfg.Busy.Seconds()))).Scan(&got); err != nil {
		return d.away(err)
	}
	if got.Int64 != 1 {
		return fmt.Errorf("another process makes or drops tables for longer than %s", d.cfg.Busy)
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "SELECT RELEASE_LOCK(?)", name)
	return change(conn)
}

// statementsOf are the statements of a step, filled in. They end with a
// semicolon at the end of a line.
func (d *DB) statementsOf(s step, site string) []string {
	var list []string
	text := strings.ReplaceAll(d.fill(s.text, site), "%SITE%", site)
	for _, part := range strings.Split(text, ";\n") {
		var lines []string
		for _, line := range strings.Split(part, "\n") {
			if line != "" && !strings.HasPrefix(line, "--") {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 {
			list = append(list, strings.Join(lines, "\n"))
		}
	}
	return list
}
