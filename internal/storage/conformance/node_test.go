package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/expr"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/storage/sqlstore"
)

// backend is one way to keep the data of a node.
type backend struct {
	driver   string // db_driver
	contents string // content_storage_type
}

func (b backend) String() string { return b.driver + "-" + b.contents }

// backends combine both databases with both stores of contents. Every test runs on each.
var backends = []backend{{sqldb.DriverSQLite, "0"}, {sqldb.DriverMySQL, "1"}}

func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }

// Node is a fresh data node in temporary folders, with a clock that the test
// moves.
type Node struct {
	t     testing.TB
	job   storage.Job
	home  string // the node's data folder and a file that the node must not change
	raw   string // of raw files
	rows  *sqldb.DB
	mu    sync.Mutex
	clock time.Time
}

// start is the initial time of each node.
var start = time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)

// forEachBackend runs a test on a fresh node of each backend.
func forEachBackend(t *testing.T, test func(t *testing.T, n *Node)) {
	forEachBackendWith(t, nil, test)
}

// forEachBackendWith is forEachBackend with keys of [TasksManager].
func forEachBackendWith(t *testing.T, keys map[string]string, test func(t *testing.T, n *Node)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.String(), func(t *testing.T) {
			t.Parallel()
			test(t, openNode(t, b, keys))
		})
	}
}

// openNode opens a node of a backend. Keys are settings of [TasksManager] that differ from
// the shipped ones.
func openNode(t testing.TB, b backend, keys map[string]string) *Node {
	t.Helper()
	home := t.TempDir()
	n := &Node{t: t, home: home, raw: filepath.Join(home, "data", "raw"), clock: start}
	n.must(os.MkdirAll(filepath.Join(home, "data"), 0o755))
	n.must(os.WriteFile(filepath.Join(home, "neighbour.txt"), []byte("not the node's"), 0o644))
	var ini strings.Builder
	ini.WriteString("[TasksManager]\nraw_data_dir = raw\nkey_value_storage_dir = keys\ndb_path = dc.db\nraw_sync = 0\n")
	fmt.Fprintf(&ini, "db_driver = %s\ncontent_storage_type = %s\n", b.driver, b.contents)
	if server := dbtest.Config(t, b.driver); b.driver == sqldb.DriverMySQL {
		fmt.Fprintf(&ini, "db_socket = %s\ndb_user = %s\ndb_connections = 2\n", server.Server.Socket, server.Server.User)
		for key, database := range storage.DatabaseKeys {
			if _, given := keys[key]; !given {
				fmt.Fprintf(&ini, "%s = %s\n", key, server.Names[database])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(&ini, "%s = %s\n", key, keys[key])
	}
	file, err := config.Parse(filepath.Join(home, "db-task.ini"), []byte(ini.String()))
	n.must(err)
	c := storage.ReadConfig(file, filepath.Join(home, "data"))
	c.DB.Synchronous = "OFF" // other tests cover power failures

	database, err := sqldb.Open(t.Context(), c.DB)
	n.must(err)
	t.Cleanup(func() { n.must(database.Close()) })
	files, err := rawfiles.Open(c.RawDir, rawfiles.Options{NoSync: c.NoSync, MaxFile: c.MaxFile})
	n.must(err)
	t.Cleanup(func() { n.must(files.Close()) })
	raw := segments.Open(files, database, segments.Options{Dir: c.RawDir, Files: c.RawFiles, NoSync: c.NoSync, MaxFile: c.MaxFile, Now: n.now})
	t.Cleanup(func() { n.must(raw.Close()) })
	values, err := keyvalue.Open(c.KeyDir, keyvalue.Options{Now: n.now, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: c.DB.Synchronous, Busy: c.DB.Busy})
	}})
	n.must(err)
	t.Cleanup(func() { n.must(values.Close()) })
	log := slog.New(slog.DiscardHandler)
	repo := &storage.Repository{
		Store: sqlstore.Open(database, sqlstore.Options{Log: log, Now: n.now, StatsFreq: c.StatFreq, StatsLog: c.StatLog}),
		Raw:   raw, Contents: values, Now: n.now, Log: log, TrashLock: filepath.Join(home, "data", "trash.lock"), SQLCustom: c.Custom,
	}
	if c.InSQL {
		repo.Contents = repo.Store.Contents()
	}
	n.job = storage.Job{Repository: repo}
	n.rows = database
	return n
}

func (n *Node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *Node) now() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clock
}

// at sets the clock.
func (n *Node) at(moment time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock = moment
}

// later moves the clock.
func (n *Node) later(d time.Duration) { n.at(n.now().Add(d)) }

// call runs an operation and returns the object of its answer as written to stdout. An
// error of the task fails the test.
func (n *Node) call(op, object string) string {
	n.t.Helper()
	answer, err := n.ask(context.Background(), op, object)
	if err != nil {
		n.t.Fatalf("%s %s\nends the task: %v", op, object, err)
	}
	return answer
}

// ask is call for goroutines: it returns an error of the task.
func (n *Node) ask(ctx context.Context, op, object string) (string, error) {
	var request bytes.Buffer
	if err := json.Compact(&request, fmt.Appendf(nil, "[%q,%s]", op, object)); err != nil {
		return "", fmt.Errorf("%s %s: %w", op, object, err)
	}
	answer, err := n.job.Run(ctx, json.RawMessage(request.Bytes()))
	if err != nil {
		return "", err
	}
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return "", err
	}
	var pair []json.RawMessage
	if err := json.Unmarshal(line.Bytes(), &pair); err != nil || len(pair) != 2 || string(pair[0]) != fmt.Sprintf("%q", op) {
		return "", fmt.Errorf("the answer to %s is not a pair with its name: %.300s", op, line.String())
	}
	return string(pair[1]), nil
}

// refusal is how db-task refuses a request as a whole.
type refusal struct {
	Refused      bool   `json:"refused"`
	ErrorCode    int    `json:"errorCode"`
	ErrorMessage string `json:"errorMessage"`
}

// refused returns the refusal in an answer, if it is one.
func refused(answer string) (refusal, bool) {
	var r refusal
	if err := json.Unmarshal([]byte(answer), &r); err != nil {
		return r, false // a list
	}
	return r, r.Refused
}

// good is call for a request that must succeed.
func (n *Node) good(op, object string) string {
	n.t.Helper()
	answer := n.call(op, object)
	var r refusal
	if json.Unmarshal([]byte(answer), &r) == nil && (r.Refused || r.ErrorCode != 0) {
		n.t.Fatalf("%s %s\nfailed: %s", op, object, answer)
	}
	return answer
}

// print has a digest of each table and each file of a node, by name.
type print map[string]string

// fingerprint computes the print of all tables and folders.
func (n *Node) fingerprint() print {
	n.t.Helper()
	p := print{}
	for name, tables := range n.tables() {
		p["table "+name] = n.digest(tables)
	}
	n.must(filepath.WalkDir(n.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == n.home {
			return err
		}
		name, err := filepath.Rel(n.home, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			p["folder "+name] = ""
		case strings.HasSuffix(name, "-wal"), strings.HasSuffix(name, "-shm"), filepath.Base(name) == "trash.lock":
		case strings.HasSuffix(name, ".db"):
			p["file "+name] = "database"
		default:
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			p["file "+name] = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		return nil
	}))
	return p
}

// changes lists the differences between two prints, sorted.
func (p print) changes(q print) []string {
	var list []string
	for name, digest := range p {
		if now, ok := q[name]; !ok {
			list = append(list, name+" is gone")
		} else if now != digest {
			list = append(list, name+" is changed")
		}
	}
	for name := range q {
		if _, ok := p[name]; !ok {
			list = append(list, name+" is new")
		}
	}
	slices.Sort(list)
	return list
}

// tables returns the quoted names of all tables by their name on SQLite, where one table
// has the rows of all sites.
func (n *Node) tables() map[string][]string {
	n.t.Helper()
	tables := map[string][]string{}
	n.must(n.rows.View(n.t.Context(), func(t *sqldb.Tx) error {
		clear(tables)
		if n.rows.Dialect() == expr.SQLite {
			return t.Each("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", nil, func(scan func(...any) error) error {
				var name string
				err := scan(&name)
				tables[name] = []string{`"` + name + `"`}
				return err
			})
		}
		for _, database := range append([]string{sqldb.Sites}, sqldb.SiteDatabases...) {
			err := t.Each("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME", []any{n.rows.Name(database)}, func(scan func(...any) error) error {
				var table string
				err := scan(&table)
				name := database + "." + table
				if database != sqldb.Sites {
					base, _, _ := strings.Cut(table, "_")
					name = database + "." + base
				}
				tables[name] = append(tables[name], n.rows.Table(database, table))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return tables
}

// digest computes a digest of the rows of tables, independent of their order.
func (n *Node) digest(tables []string) string {
	n.t.Helper()
	var lines []string
	n.must(n.rows.View(n.t.Context(), func(t *sqldb.Tx) error {
		lines = nil
		for _, table := range tables {
			var columns int
			names := func(list, _ []string) { columns = len(list) }
			err := t.Rows("SELECT * FROM "+table, nil, names, func(scan func(...any) error) error {
				cells := make([]sql.RawBytes, columns)
				into := make([]any, columns)
				for i := range cells {
					into[i] = &cells[i]
				}
				if err := scan(into...); err != nil {
					return err
				}
				line := table + ":"
				for _, c := range cells {
					line += fmt.Sprintf("%t%q,", c == nil, []byte(c))
				}
				lines = append(lines, line)
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
	slices.Sort(lines)
	return fmt.Sprintf("%d rows %x", len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))
}
