package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// migrateMySQL creates missing databases, runs missing steps, and drops the tables of
// deleted sites. MySQL commits each statement about tables by itself, so a killed step
// runs again and skips its completed statements.
func (d *DB) migrateMySQL(ctx context.Context) error {
	last, err := d.lastStepMySQL(ctx, d.readers)
	if err != nil {
		return err
	}
	if last < len(d.steps) {
		if err := d.makeDatabases(ctx); err != nil {
			return err
		}
		err := d.withSchemaLock(ctx, func(conn *sql.Conn) error {
			if last, err = d.lastStepMySQL(ctx, conn); err != nil {
				return err
			}
			return d.runSteps(ctx, conn, &last)
		})
		if err != nil {
			return err
		}
	}
	if last > len(d.steps) {
		return fmt.Errorf("step %d of %d: %w", last, len(d.steps), ErrNewer)
	}
	var waiting int
	if err := d.readers.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+d.Table(Sites, "dropped")).Scan(&waiting); err != nil || waiting == 0 {
		return err
	}
	return d.dropRecordedTables(ctx)
}

type queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// lastStepMySQL returns the number of the newest completed step, 0 for a new database. It
// returns ErrForeign for tables of another program.
func (d *DB) lastStepMySQL(ctx context.Context, q queryer) (int, error) {
	var steps, sites bool
	err := q.QueryRowContext(ctx, "SELECT COALESCE(SUM(TABLE_NAME = 'schema_steps'), 0), COALESCE(SUM(TABLE_NAME = 'sites'), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?",
		d.Name(Sites)).Scan(&steps, &sites)
	switch {
	case err != nil:
		return 0, d.convertAwayError(err)
	case !steps && sites:
		return 0, fmt.Errorf("database %s: %w", d.Name(Sites), ErrForeign)
	case !steps:
		return 0, nil
	}
	var last int
	err = q.QueryRowContext(ctx, "SELECT COALESCE(MAX(Number), 0) FROM "+d.Table(Sites, "schema_steps")).Scan(&last)
	return last, err
}

// makeDatabases creates only missing databases, so that a user without the right to create
// databases can use existing ones.
func (d *DB) makeDatabases(ctx context.Context) error {
	for _, database := range append([]string{Sites}, SiteDatabases...) {
		name := d.Name(database)
		var one int
		err := d.definers.QueryRowContext(ctx, "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", name).Scan(&one)
		if err == nil {
			continue
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return d.convertAwayError(err)
		}
		text := "CREATE DATABASE IF NOT EXISTS `" + strings.ReplaceAll(name, "`", "``") + "` CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
		if _, err := d.definers.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("create missing database %s: %w", name, err)
		}
	}
	return nil
}

func (d *DB) runSteps(ctx context.Context, conn *sql.Conn, last *int) error {
	steps := d.Table(Sites, "schema_steps")
	err := runDefinition(ctx, conn, "CREATE TABLE IF NOT EXISTS "+steps+" (Number INT NOT NULL PRIMARY KEY, Name VARCHAR(64) NOT NULL, CDate DATETIME NOT NULL) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4")
	if err != nil {
		return err
	}
	// No caller depends on the time of a schema step: use the system clock.
	now := time.Now().UTC().Format(time.DateTime)
	for _, s := range d.steps {
		if s.number <= *last {
			continue
		}
		if err := d.runStep(ctx, conn, s, now); err != nil {
			return fmt.Errorf("schema step %03d_%s: %w", s.number, s.name, err)
		}
		*last = s.number
	}
	return nil
}

// runStep runs the statements about tables first. One transaction then runs the others and
// records the step.
func (d *DB) runStep(ctx context.Context, conn *sql.Conn, s step, now string) error {
	sites := map[string]bool{"": true}
	if s.site {
		var err error
		if sites, err = d.siteIDs(ctx, conn); err != nil {
			return err
		}
	}
	var rows []string
	mayMiss := map[string]bool{} // statements about tables that a deleted site may lack
	for site, known := range sites {
		for _, text := range d.statementsOf(s, site) {
			text = strings.ReplaceAll(text, "%NOW%", now)
			switch {
			case strings.HasPrefix(text, "INSERT") || strings.HasPrefix(text, "UPDATE") || strings.HasPrefix(text, "DELETE"):
				rows, mayMiss[text] = append(rows, text), !known
				continue
			case !known && strings.HasPrefix(text, "CREATE"):
				continue
			}
			if err := runDefinition(ctx, conn, text); err != nil && (known || mysqlNumber(err) != myNoTable) {
				return err
			}
		}
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, text := range rows {
		if _, err := tx.ExecContext(ctx, text); err != nil && !(mayMiss[text] && mysqlNumber(err) == myNoTable) {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+d.Table(Sites, "schema_steps")+" (Number, Name, CDate) VALUES (?, ?, ?)", s.number, s.name, now); err != nil {
		return err
	}
	return tx.Commit()
}

// siteIDs returns the sites with tables: true for known sites, false for deleted sites with
// rows that wait for URL_PURGE.
func (d *DB) siteIDs(ctx context.Context, conn *sql.Conn) (map[string]bool, error) {
	sites := d.Table(Sites, "sites")
	prefix := siteTables[Deleted] + "_"
	rows, err := conn.QueryContext(ctx, "SELECT Id, 1 FROM "+sites+" UNION ALL SELECT SUBSTRING(TABLE_NAME, ?), 0 FROM information_schema.TABLES"+
		" WHERE TABLE_SCHEMA = ? AND LEFT(TABLE_NAME, ?) = ?", len(prefix)+1, d.Name(Deleted), len(prefix), prefix)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ids := map[string]bool{}
	for rows.Next() {
		var id string
		var known bool
		if err := rows.Scan(&id, &known); err != nil {
			return nil, err
		}
		ids[id] = ids[id] || known
	}
	return ids, rows.Err()
}

// runDefinition runs a statement about tables. It ignores the error of a completed statement.
func runDefinition(ctx context.Context, conn *sql.Conn, text string) error {
	_, err := conn.ExecContext(ctx, text)
	switch mysqlNumber(err) {
	case myTableExists, myColumnExists, myKeyNameExists, myCannotDrop:
		return nil
	}
	return err
}
