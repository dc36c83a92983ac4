package storage

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/wire"
)

// emptyDatabase returns a database with a schema and without sites.
func emptyDatabase(t *testing.T) sqldb.Config {
	config := dbtest.Config(t, backend)
	d, err := sqldb.Open(t.Context(), config)
	must(t, err)
	must(t, d.Close())
	return config
}

// A lost database is not replaced by a new one while its contents are there.
func TestLostDatabase(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		return // it has no file
	}
	for name, damage := range map[string]func(path string) error{
		"missing": func(path string) error { return os.Remove(path) }, "empty": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFlipped(t, t.TempDir(), 1)
			must(t, damage(f.config.DB.Path))
			for range 2 { // the first one leaves no database behind
				_, _, err := Open(t.Context(), f.config, quiet)
				if !errors.Is(err, ErrLost) || !Critical(err) || !strings.Contains(err.Error(), f.config.DB.Path) || !strings.Contains(err.Error(), "backup") {
					t.Errorf("%v", err)
				}
			}
			must(t, errors.Join(os.RemoveAll(f.config.RawDir), os.RemoveAll(f.config.KeyDir)))
			_, closeAll, err := Open(t.Context(), f.config, quiet)
			must(t, err)
			closeAll()
		})
	}
}

// Stores that do not belong together are found at the start, where a look is enough, and by the check.
func TestFaultsOfStores(t *testing.T) {
	contents := func(c Config) string { return filepath.Join(c.KeyDir, site+".db") }
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, c *Config)
		start  string // what the log says
		check  string // what the check says
	}{
		{"sound", func(*testing.T, *Config) {}, "", ""},
		{"contents of zero length", func(t *testing.T, c *Config) { must(t, os.Truncate(contents(*c), 0)) }, "the file has 0 bytes", "its content is missing"},
		{"contents that are gone", func(t *testing.T, c *Config) { must(t, os.Remove(contents(*c))) }, "the file is missing", "its content is missing"},
		{"one content that is gone", func(t *testing.T, c *Config) {
			repo, closeAll, err := Open(t.Context(), *c, quiet)
			must(t, err)
			defer closeAll()
			must(t, repo.Contents.Delete(t.Context(), site, md5))
		}, "", "key " + md5 + ": the row is processed and its content is missing"},
		{"an empty database and old segments", func(t *testing.T, c *Config) {
			must(t, os.Remove(contents(*c)))
			c.DB = emptyDatabase(t)
		}, ".segments", ".segments"},
		{"an empty database and old files", func(t *testing.T, c *Config) {
			must(t, os.Remove(contents(*c)))
			must(t, MoveRaw(t.Context(), *c, RawFiles, new(bytes.Buffer), new(bytes.Buffer), quiet))
			c.RawFiles = true
			c.DB = emptyDatabase(t)
		}, "the database has no sites, but", "the database has no sites, but"},
		{"an empty database and old processed contents", func(t *testing.T, c *Config) {
			must(t, os.RemoveAll(c.RawDir))
			c.DB = emptyDatabase(t)
		}, site + ".db", site + ".db"},
		{"empty stores", func(t *testing.T, c *Config) {
			must(t, errors.Join(os.RemoveAll(c.RawDir), os.RemoveAll(c.KeyDir)))
			c.DB = dbtest.Config(t, backend)
		}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := withPage(t)
			stage := n.Raw.Stage()
			n.must(stage.Put(site, md5, n.now, rawfiles.Raw, []byte("body")))
			n.must(stage.Commit(t.Context()))
			_, err := n.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: md5, Data: []byte("{}")}})
			n.must(err)
			n.good(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"url":%q,"status":7,"crawled":1,"processed":1,"tagsCount":1}]]`, site, page))
			n.must(errors.Join(n.Raw.Close(), n.Contents.(interface{ Close() error }).Close()))
			c := Config{DB: n.config, RawDir: n.raw, KeyDir: n.keys, MaxFile: 1 << 20}
			tt.damage(t, &c)
			repo, closeAll, err := Open(t.Context(), c, quiet)
			n.must(err)
			var log bytes.Buffer
			LogFaults(t.Context(), repo, c, slog.New(slog.NewTextHandler(&log, nil)))
			closeAll()
			if (tt.start == "") != (log.Len() == 0) || !strings.Contains(log.String(), tt.start) {
				t.Errorf("log %q, want %q", &log, tt.start)
			}
			var out, report bytes.Buffer
			err = CheckRaw(t.Context(), c, false, &out, &report, quiet)
			if (tt.check == "") != (err == nil) || tt.check != "" && !errors.Is(err, ErrFaults) || !strings.Contains(report.String(), tt.check) {
				t.Errorf("check %v, %q, want %q", err, &report, tt.check)
			}
		})
	}
}
