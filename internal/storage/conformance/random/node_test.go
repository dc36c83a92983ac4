package random_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hce/dc/internal/storage"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/storage/sqlstore"
)

// backend makes nodes of one kind. open makes a node with only the general site, whose
// dates are the time of the clock.
type backend struct {
	name string
	open func(t testing.TB, c *clock) node
}

// node is one data node under test.
type node interface {
	// run answers a request as Job.Run does; it may panic.
	run(ctx context.Context, request json.RawMessage) (any, error)
	// dump reads all stored data; see type dump.
	dump(ctx context.Context) (dump, error)
	// close ends the node and removes its data. A shrinker opens hundreds of nodes in one
	// test.
	close() error
}

// pair is two backends that must agree.
type pair struct{ a, b backend }

// pairs are the compared backends. SQLite is also compared with itself: a difference there
// is an error of the comparison.
var pairs = []pair{
	{sqlite, mariadb},
	{sqlite, sqlite},
}

func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }

func (p pair) name() string { return p.a.name + " and " + p.b.name }

// clock is the time of both nodes of a pair. It only moves between requests.
type clock struct{ now time.Time }

// begin is the initial time.
var begin = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)

func (c *clock) time() time.Time { return c.now }

var (
	sqlite  = backend{name: "sqlite", open: func(t testing.TB, c *clock) node { return openNode(t, c, sqldb.DriverSQLite) }}
	mariadb = backend{name: "mariadb", open: func(t testing.TB, c *clock) node { return openNode(t, c, sqldb.DriverMySQL) }}
)

// testNode is a node in a folder of the test. Contents are in key-value files with SQLite,
// and in tables with MariaDB.
type testNode struct {
	folder   string
	config   sqldb.Config
	job      storage.Job
	database *sqldb.DB
	files    *rawfiles.Cache
	contents *segments.Store
	closers  []func() error
}

func (n *testNode) raw() string  { return filepath.Join(n.folder, "raw") }
func (n *testNode) keys() string { return filepath.Join(n.folder, "keys") }

func openNode(t testing.TB, c *clock, driver string) node {
	t.Helper()
	folder, err := os.MkdirTemp(t.TempDir(), "node")
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{folder: folder, config: dbtest.Config(t, driver)}
	n.config.Synchronous = "NORMAL"
	if err := n.open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *testNode) open(ctx context.Context, c *clock) error {
	d, err := sqldb.Open(ctx, n.config)
	if err != nil {
		return err
	}
	n.database, n.closers = d, append(n.closers, d.Close)
	if err := n.setDates(ctx, c.now.Format(time.DateTime)); err != nil {
		return err
	}
	files, err := rawfiles.Open(n.raw(), rawfiles.Options{NoSync: true})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, files.Close)
	raw := segments.Open(files, d, segments.Options{Dir: n.raw(), NoSync: true, Now: c.time})
	n.files, n.contents, n.closers = files, raw, append(n.closers, raw.Close)
	contents, err := keyvalue.Open(n.keys(), keyvalue.Options{Now: c.time, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: "NORMAL"})
	}})
	if err != nil {
		return err
	}
	n.closers = append(n.closers, contents.Close)
	repo := &storage.Repository{
		Store: sqlstore.Open(d, sqlstore.Options{Now: c.time}), Raw: raw, Contents: contents, Now: c.time,
		Log: slog.New(slog.DiscardHandler), TrashLock: filepath.Join(n.folder, "trash.lock"), SQLCustom: sqlstore.CustomRead,
	}
	if n.config.Driver == sqldb.DriverMySQL {
		repo.Contents = repo.Store.Contents()
	}
	n.job = storage.Job{Repository: repo}
	return nil
}

// setDates sets the dates of the schema's rows to the fake clock.
func (n *testNode) setDates(ctx context.Context, now string) error {
	return n.database.Update(ctx, func(tx *sqldb.Tx) error {
		for _, table := range []string{"sites", "sites_properties", "sites_filters"} {
			if _, err := tx.Exec("UPDATE "+n.database.Table(sqldb.Sites, table)+" SET CDate = ?", now); err != nil {
				return err
			}
		}
		_, err := tx.Exec("UPDATE "+n.database.Table(sqldb.Sites, "sites")+" SET UDate = ?, TcDate = ?", now, now)
		return err
	})
}

func (n *testNode) run(ctx context.Context, request json.RawMessage) (any, error) {
	return n.job.Run(ctx, request)
}

func (n *testNode) close() error {
	var first error
	for i := len(n.closers) - 1; i >= 0; i-- {
		if err := n.closers[i](); err != nil && first == nil {
			first = err
		}
	}
	if err := os.RemoveAll(n.folder); err != nil && first == nil {
		first = err
	}
	return first
}

// answerOf returns the answer of a node as its client reads it, or the failure: a panic or
// a critical error.
func answerOf(ctx context.Context, n node, request json.RawMessage) (answer []byte, failure string) {
	defer func() {
		if p := recover(); p != nil {
			failure = fmt.Sprintf("panic: %v", p)
		}
	}()
	var line bytes.Buffer // on one line, because a refusal quotes it
	if err := json.Compact(&line, request); err != nil {
		return nil, "not JSON: " + err.Error()
	}
	v, err := n.run(ctx, line.Bytes())
	if storage.Critical(err) {
		return nil, "critical: " + err.Error()
	}
	if err != nil {
		v = storage.ErrorAnswer(line.Bytes(), err)
	}
	answer, err = plainJSON(v)
	if err != nil {
		return nil, "not JSON: " + err.Error()
	}
	return answer, ""
}
