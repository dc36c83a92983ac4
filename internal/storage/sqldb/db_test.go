package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

var ctx = context.Background()

func openTest(t testing.TB, path string) *DB {
	t.Helper()
	d, err := Open(ctx, Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func fresh(t testing.TB) string { return filepath.Join(t.TempDir(), "folder", "dc.db") }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// number returns the result of a query for one number.
func (d *DB) number(t testing.TB, text string, args ...any) (n int64) {
	t.Helper()
	must(t, d.View(ctx, func(tx *Tx) error {
		_, err := tx.Row(text, args, &n)
		return err
	}))
	return n
}

func TestEveryStatementCanBePrepared(t *testing.T) {
	d := openTest(t, fresh(t))
	prepareAll(t, d, d.View)
	if _, err := d.Text("no_such_statement", "0"); err == nil {
		t.Error("an unknown statement has a text")
	}
}

// prepareAll prepares every statement in a transaction.
func prepareAll(t *testing.T, d *DB, in func(context.Context, func(*Tx) error) error) {
	t.Helper()
	names := slices.Sorted(maps.Keys(d.texts))
	if len(names) < 20 {
		t.Fatalf("only %d statements", len(names))
	}
	must(t, in(ctx, func(tx *Tx) error {
		for _, name := range names {
			text, err := d.Text(name, "0")
			must(t, err)
			s, err := tx.conn.PrepareContext(ctx, text)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
				continue
			}
			s.Close()
		}
		return nil
	}))
}

func TestAddTexts(t *testing.T) {
	cases := map[string]struct{ raw, fail string }{
		"two":            {"-- about the file\n\n-- name: a\n-- about a\nSELECT 1;\n\n-- name: b\nSELECT {dc_urls.urls}", ""},
		"twice":          {"-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "twice"},
		"text before":    {"SELECT 1;\n-- name: a\nSELECT 1;", "before the first statement name"},
		"two statements": {"-- name: a\nSELECT 1; SELECT 2;", "not one statement"},
		"empty":          {"-- name: a\n-- name: b\nSELECT 1;", "not one statement"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			texts := map[string]string{}
			err := addTexts(texts, "file", c.raw)
			if (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
				t.Fatalf("error = %v, want %q", err, c.fail)
			}
			if c.fail == "" {
				d := DB{cfg: Config{Names: map[string]string{"dc_urls": `live"`}}}
				if got := d.fillNames(texts["b"], "s"); got != `SELECT "live"".urls"` || d.fillNames(texts["a"], "") != "SELECT 1" {
					t.Errorf("texts = %q", got)
				}
			}
		})
	}
}

func TestUpdateIsAtomic(t *testing.T) {
	d := openTest(t, fresh(t))
	put := func(tx *Tx) error {
		_, err := tx.Do("trash_put", "s", "")
		return err
	}
	failed := errors.New("failed")
	if err := d.Update(ctx, func(tx *Tx) error { return errors.Join(put(tx), failed) }); !errors.Is(err, failed) {
		t.Errorf("error = %v", err)
	}
	func() {
		defer func() { recover() }()
		d.Update(ctx, func(tx *Tx) error { put(tx); panic("stop") })
	}()
	cancelled, cancel := context.WithCancel(ctx)
	err := d.Update(cancelled, func(tx *Tx) error {
		must(t, put(tx))
		cancel()
		return put(tx)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := d.View(ctx, put); err == nil {
		t.Error("a View could write")
	}
	if n := d.number(t, `SELECT COUNT(*) FROM "dc_sites.trash"`); n != 0 {
		t.Errorf("%d rows without a commit", n)
	}
	must(t, d.Update(ctx, func(tx *Tx) error {
		part := tx.Try(func() error { return errors.Join(put(tx), failed) })
		if !errors.Is(part, failed) {
			t.Errorf("part: %v", part)
		}
		return errors.Join(tx.Try(func() error { return put(tx) }), put(tx))
	}))
	if n := d.number(t, `SELECT COUNT(*) FROM "dc_sites.trash"`); n != 2 {
		t.Errorf("%d rows, want only those outside the failed part", n)
	}
}

func TestClosed(t *testing.T) {
	d := openTest(t, fresh(t))
	must(t, d.Close())
	if err := d.Update(ctx, func(*Tx) error { return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("Update: %v", err)
	}
	if err := d.View(ctx, func(*Tx) error { return nil }); err == nil {
		t.Error("View of a closed database")
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

// A long query ends with its context.
func TestQueryIsInterrupted(t *testing.T) {
	d := openTest(t, fresh(t))
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	err := d.View(short, func(tx *Tx) error {
		return tx.Each("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT MAX(i) FROM n", nil, func(scan func(...any) error) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error = %v", err)
	}
	d.number(t, "SELECT 1") // the connection is still good
}

func TestWritersTakeTurns(t *testing.T) {
	path := fresh(t)
	handles := []*DB{openTest(t, path), openTest(t, path)}
	const each = 40
	var wg sync.WaitGroup
	for _, d := range handles {
		for range 3 {
			wg.Go(func() {
				for range each {
					err := d.Update(ctx, func(tx *Tx) error {
						var n int64
						if _, err := tx.Row(`SELECT Iterations FROM "dc_sites.sites" WHERE Id = '0'`, nil, &n); err != nil {
							return err
						}
						_, err := tx.Exec(`UPDATE "dc_sites.sites" SET Iterations = ? WHERE Id = '0'`, n+1)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if n := handles[0].number(t, `SELECT Iterations FROM "dc_sites.sites" WHERE Id = '0'`); n != 6*each {
		t.Errorf("%d changes, want %d", n, 6*each)
	}
}

func TestBusy(t *testing.T) {
	path := fresh(t)
	holder := openTest(t, path)
	waiter, err := Open(ctx, Config{Path: path, Busy: 200 * time.Millisecond})
	must(t, err)
	defer waiter.Close()
	must(t, holder.Update(ctx, func(*Tx) error {
		if err := waiter.Update(ctx, func(*Tx) error { return nil }); !Busy(err) || Critical(err) {
			t.Errorf("error = %v", err)
		}
		if n := waiter.number(t, `SELECT COUNT(*) FROM "dc_sites.sites"`); n != 1 {
			t.Errorf("a reader saw %d sites during a write transaction", n)
		}
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if err := waiter.Update(short, func(*Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled wait: %v", err)
		}
		return nil
	}))
}

func TestNewerSchema(t *testing.T) {
	path := fresh(t)
	d := openTest(t, path)
	must(t, d.Update(ctx, func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO "dc_sites.schema_steps" VALUES (999, 'later', '')`)
		return err
	}))
	_, err := Open(ctx, Config{Path: path})
	if !errors.Is(err, ErrNewer) || !Critical(err) || !strings.Contains(err.Error(), "step 999 of") {
		t.Errorf("error = %v", err)
	}
}

func TestConfiguredNames(t *testing.T) {
	d, err := Open(ctx, Config{Path: fresh(t), Names: map[string]string{URLs: "live", Sites: "catalogue"}})
	must(t, err)
	defer d.Close()
	if n := d.number(t, `SELECT COUNT(*) FROM "live.urls"`) + d.number(t, `SELECT COUNT(*) FROM "catalogue.sites"`); n != 1 {
		t.Errorf("%d rows", n)
	}
}

func TestCritical(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o644))
	cases := map[string]Config{
		"no database":         {Path: file},
		"folder under a file": {Path: filepath.Join(file, "x", "dc.db")},
		"a folder":            {Path: dir},
		"unwritable folder":   {Path: "/proc/dc/dc.db"},
	}
	for name, cfg := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Open(ctx, cfg)
			if err == nil {
				d.Close()
				t.Fatal("opened")
			}
			if !Critical(err) || !strings.Contains(err.Error(), cfg.Path) {
				t.Errorf("error = %v", err)
			}
		})
	}
	t.Run("full", func(t *testing.T) {
		d := openTest(t, fresh(t))
		err := d.Update(ctx, func(tx *Tx) error {
			var pages int64
			if _, err := tx.Row("PRAGMA max_page_count = 1", nil, &pages); err != nil {
				return err
			}
			for range 100 {
				if _, err := tx.Do("trash_put", strings.Repeat("x", 4000), ""); err != nil {
					return err
				}
			}
			return nil
		})
		if !Critical(err) {
			t.Errorf("error = %v", err)
		}
		if n := d.number(t, `SELECT COUNT(*) FROM "dc_sites.trash"`); n != 0 {
			t.Errorf("%d rows of a transaction that failed", n)
		}
		must(t, d.Update(ctx, func(tx *Tx) error {
			_, err := tx.Do("trash_put", "s", "")
			return err
		}))
	})
	for name, cfg := range map[string]Config{"driver": {Driver: "oracle", Path: "x"}, "path": {}} {
		if _, err := Open(ctx, cfg); err == nil || Critical(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOpenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b%?#.db")
	pool, err := OpenFile(path, FileOptions{})
	must(t, err)
	_, err = pool.Exec("CREATE TABLE articles (id TEXT); INSERT INTO articles VALUES ('1')")
	must(t, err)
	must(t, pool.Close())
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	reader, err := OpenFile(path, FileOptions{ReadOnly: true})
	must(t, err)
	defer reader.Close()
	var id string
	must(t, reader.QueryRow("SELECT id FROM articles").Scan(&id))
	if _, err := reader.Exec("DELETE FROM articles"); !Critical(err) {
		t.Errorf("a reader's write: %v", err)
	}
	for name, o := range map[string]FileOptions{"read": {ReadOnly: true}, "write": {}} {
		if _, err := OpenFile(filepath.Join(t.TempDir(), "missing", "x.db"), o); !Critical(err) {
			t.Errorf("%s in a missing folder: %v", name, err)
		}
	}
}

// Connections have the documented settings.
func TestPragmas(t *testing.T) {
	d := openTest(t, fresh(t))
	check := func(tx *Tx) error {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "0", "temp_store": "2"} {
			var got string
			if _, err := tx.Row("PRAGMA "+pragma, nil, &got); err != nil {
				return err
			}
			if got != want {
				t.Errorf("%s = %s, want %s", pragma, got, want)
			}
		}
		return nil
	}
	must(t, errors.Join(d.View(ctx, check), d.Update(ctx, check)))
}

// Long before the log has walPages, it is copied into the file, outside of a commit.
func TestEarlyCheckpoint(t *testing.T) {
	path := fresh(t)
	d := openTest(t, path)
	must(t, d.Update(ctx, func(tx *Tx) error {
		_, err := tx.Exec("CREATE TABLE articles (id INTEGER)")
		return err
	}))
	before := size(t, path)
	must(t, d.Update(ctx, func(tx *Tx) error {
		for i := range checkpointRows {
			if _, err := tx.Exec("INSERT INTO articles VALUES (?)", i); err != nil {
				return err
			}
		}
		return nil
	}))
	testwait.Until(t, "the rows are in the file", func() bool { return size(t, path) > before })
	if n := d.number(t, "SELECT COUNT(*) FROM articles"); n != checkpointRows {
		t.Errorf("%d rows", n)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path) // to open and close the file would drop its locks
	must(t, err)
	return info.Size()
}

func BenchmarkOpen(b *testing.B) {
	path := fresh(b)
	openTest(b, path).Close()
	for b.Loop() {
		d, err := Open(ctx, Config{Path: path})
		must(b, err)
		must(b, d.Update(ctx, func(*Tx) error { return nil }))
		d.Close()
	}
}

// Open migrates the database of an older program and keeps its rows.
func TestOlderSchemaIsMigrated(t *testing.T) {
	whole := openTest(t, fresh(t))
	path := fresh(t)
	old := &DB{cfg: Config{Path: path, Busy: time.Second}, steps: whole.steps[:2], dialect: whole.dialect}
	must(t, old.openSQLite(ctx))
	must(t, old.migrateSchema(ctx))
	must(t, old.Update(ctx, func(tx *Tx) error {
		for _, text := range []string{
			"INSERT INTO " + old.Table(Sites, "sites") + " (Id, CDate) VALUES ('s', '2026-01-05 10:00:00')",
			"INSERT INTO " + old.SiteTable(URLs, "s") + " (Site_Id, URL, URLMd5, CDate) VALUES ('s', 'u', 'm', '2026-01-05 10:00:00')",
		} {
			if _, err := tx.Exec(text); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, old.Close())
	d := openTest(t, path)
	for text, want := range map[string]int64{
		"SELECT MAX(Number) FROM " + d.Table(Sites, "schema_steps"):                                       int64(len(d.steps)),
		"SELECT NewURLs FROM " + d.Table(Sites, "sites") + " WHERE Id = 's'":                              1,
		"SELECT COUNT(*) FROM " + d.SiteTable(URLs, "s"):                                                  1,
		"SELECT COUNT(*) FROM sqlite_master WHERE type = 'trigger'":                                       0,
		"SELECT COUNT(*) FROM " + d.Table(Sites, "sites_proxy"):                                           0,
		"SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%urls.status' AND sql LIKE '%octet_length%'": 0,
		"SELECT COUNT(*) FROM sqlite_master WHERE name LIKE '%urls.status' AND sql LIKE '%AS BLOB%'":      1,
		"SELECT COUNT(*) FROM urls":                                                                       1, // the view
	} {
		if n := d.number(t, text); n != want {
			t.Errorf("%s = %d, want %d", text, n, want)
		}
	}
}

// Vacuum gives the pages of an older file checksums, and frees the room of deleted rows.
func TestVacuum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	old, err := sql.Open("sqlite3", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.Exec("CREATE TABLE old (a); INSERT INTO old VALUES (zeroblob(1000000)); DELETE FROM old"); err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	v, err := d.Vacuum(t.Context())
	if err != nil || v.Before < 1000000 || v.After > 900000 {
		t.Errorf("%+v, error %v", v, err)
	}
	head, err := os.ReadFile(path)
	if err != nil || head[20] != 8 {
		t.Errorf("%d bytes of a page are reserved for its checksum, error %v", head[20], err)
	}
}
