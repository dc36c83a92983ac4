package sqldb

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/storage/expr"
	sqltext "hce/dc/sql"
)

// step is one schema file.
type step struct {
	number int
	name   string
	site   bool // runs for each existing and each new site
	text   string
}

// stepName matches NNN_name.sql, and NNN_name.site.sql for the tables of each site, which
// exist only on MySQL.
var stepName = regexp.MustCompile(`^(\d{3})_(\w+)(\.site)?\.sql$`)

func loadSteps(driver string) ([]step, error) {
	entries, err := fs.ReadDir(sqltext.FS, driver+"/schema")
	if err != nil {
		return nil, err
	}
	var steps []step
	for i, e := range entries { // sorted by name and number
		m := stepName.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("schema file %s is not named NNN_name.sql", e.Name())
		}
		number, err := strconv.Atoi(m[1])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("schema file %s must have the number %d", e.Name(), i+1)
		}
		raw, err := sqltext.FS.ReadFile(path.Join(driver, "schema", e.Name()))
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{number: number, name: m[2], site: m[3] != "", text: string(raw)})
	}
	return steps, nil
}

// migrateSchema runs the missing steps in one transaction. It only reads an up-to-date database.
func (d *DB) migrateSchema(ctx context.Context) error {
	if d.dialect == expr.MySQL {
		return d.migrateMySQL(ctx)
	}
	last := 0
	err := d.View(ctx, func(tx *Tx) (err error) {
		last, err = tx.lastStep()
		return err
	})
	if err == nil && last < len(d.steps) {
		err = d.Update(ctx, func(tx *Tx) error { return tx.runMissingSteps(&last) })
	}
	if err != nil {
		return err
	}
	if last > len(d.steps) {
		return fmt.Errorf("step %d of %d: %w", last, len(d.steps), ErrNewer)
	}
	return nil
}

// lastStep returns the number of the newest completed step, 0 in a new file.
func (t *Tx) lastStep() (int, error) {
	var n int
	steps := t.DB.Table(Sites, "schema_steps")
	found, err := t.Row("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?",
		[]any{strings.Trim(steps, `"`)}, &n)
	if err != nil || !found || n == 0 {
		return 0, err
	}
	_, err = t.Row("SELECT COALESCE(MAX(Number), 0) FROM "+steps, nil, &n)
	return n, err
}

func (t *Tx) runMissingSteps(last *int) error {
	var err error
	if *last, err = t.lastStep(); err != nil {
		return err
	}
	steps := t.DB.Table(Sites, "schema_steps")
	if *last == 0 {
		if _, err := t.Exec("CREATE TABLE " + steps + " (Number INTEGER PRIMARY KEY, Name TEXT NOT NULL, CDate TEXT NOT NULL)"); err != nil {
			return err
		}
	}
	// No caller depends on the time of a schema step: use the system clock.
	now := time.Now().UTC().Format(time.DateTime)
	for _, s := range t.DB.steps {
		if s.number <= *last {
			continue
		}
		if _, err := t.Exec(strings.ReplaceAll(t.DB.fillNames(s.text, ""), "%NOW%", now)); err != nil {
			return fmt.Errorf("schema step %03d_%s: %w", s.number, s.name, err)
		}
		if _, err := t.Exec("INSERT INTO "+steps+" (Number, Name, CDate) VALUES (?, ?, ?)", s.number, s.name, now); err != nil {
			return err
		}
		*last = s.number
	}
	return nil
}
