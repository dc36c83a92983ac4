package db

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	sqltext "hce/dc/sql"
)

// step is one file of the schema. A step of the site's tables runs once for
// each site: for those that exist when the step is new, and for each site made
// later (CreateSite). So a site's tables are the sum of the same steps, whenever
// it was made.
type step struct {
	number  int
	name    string
	perSite bool
	text    template
}

var stepName = regexp.MustCompile(`^(\d{3})_(\w+?)(\.site)?\.sql$`)

func loadSteps(driver string) ([]step, error) {
	entries, err := fs.ReadDir(sqltext.FS, driver+"/schema")
	if err != nil {
		return nil, err
	}
	var steps []step
	for i, e := range entries { // sorted by name, thus by number
		m := stepName.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("db.loadSteps: %s is not NNN_name.sql or NNN_name.site.sql", e.Name())
		}
		number, err := strconv.Atoi(m[1])
		if err != nil || number != i+1 {
			return nil, fmt.Errorf("db.loadSteps: %s is step %d", e.Name(), i+1)
		}
		raw, err := sqltext.FS.ReadFile(path.Join(driver, "schema", e.Name()))
		if err != nil {
			return nil, err
		}
		steps = append(steps, step{number: number, name: m[2], perSite: m[3] != "", text: parseTemplate(string(raw))})
	}
	return steps, nil
}

// migrate runs the steps that the database has not seen, all in one
// transaction. A database that is up to date is only read.
func (d *DB) migrate(ctx context.Context) error {
	last := 0
	err := d.View(ctx, func(tx *Tx) (err error) {
		last, err = tx.lastStep()
		return err
	})
	if err == nil && last < len(d.steps) {
		err = d.Update(ctx, func(tx *Tx) error { return tx.migrate(&last) })
	}
	if err != nil {
		return err
	}
	if last > len(d.steps) {
		return fmt.Errorf("step %d of %d: %w", last, len(d.steps), ErrNewer)
	}
	return nil
}

// lastStep is the number of the newest step that was run, 0 in a new file.
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

func (t *Tx) migrate(last *int) error {
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
	// The moment of a schema step is nobody's business date; the real clock does.
	now := time.Now().UTC().Format(time.DateTime)
	for _, s := range t.DB.steps {
		if s.number <= *last {
			continue
		}
		if err := t.runStep(s, now); err != nil {
			return fmt.Errorf("schema step %03d_%s: %w", s.number, s.name, err)
		}
		if _, err := t.Exec("INSERT INTO "+steps+" (Number, Name, CDate) VALUES (?, ?, ?)", s.number, s.name, now); err != nil {
			return err
		}
		*last = s.number
	}
	return nil
}

func (t *Tx) runStep(s step, now string) error {
	if !s.perSite {
		_, err := t.Exec(strings.ReplaceAll(t.DB.fill(s.text, ""), "%NOW%", now))
		return err
	}
	var sites []string
	err := t.Each("SELECT Id FROM "+t.DB.Table(Sites, "sites"), nil, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		sites = append(sites, id)
		return err
	})
	for _, id := range sites {
		if err == nil {
			_, err = t.Exec(t.DB.fill(s.text, id))
		}
	}
	return err
}

var sitePattern = regexp.MustCompile(`^[0-9A-Za-z_-]{1,32}$`)

// ErrSiteID refuses a site id that cannot be part of a table's name.
var ErrSiteID = errors.New("is not a site id")

// CreateSite makes the tables of a site; they must not be there.
func (t *Tx) CreateSite(site string) error {
	if !sitePattern.MatchString(site) {
		return fmt.Errorf("db.CreateSite: %q %w", site, ErrSiteID)
	}
	for _, s := range t.DB.steps {
		if !s.perSite {
			continue
		}
		if _, err := t.Exec(t.DB.fill(s.text, site)); err != nil {
			return fmt.Errorf("db.CreateSite: step %d: %w", s.number, err)
		}
	}
	return nil
}

// siteTables are the tables that CreateSite makes, without the site's id.
var siteTables = [][2]string{{URLs, "urls_"}, {Deleted, "urls_"}, {Contents, "contents_"}, {Attributes, "att_"}, {Freqs, "freq_"}, {Logs, "log_"}}

// DropSite drops the tables of a site; those that are not there are no error.
func (t *Tx) DropSite(site string) error {
	if !sitePattern.MatchString(site) {
		return fmt.Errorf("db.DropSite: %q %w", site, ErrSiteID)
	}
	for _, table := range siteTables {
		if _, err := t.Exec("DROP TABLE IF EXISTS " + t.DB.Table(table[0], table[1]+site)); err != nil {
			return fmt.Errorf("db.DropSite: %w", err)
		}
	}
	return nil
}
