package storage

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/storage/sqlstore"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// backend is the database of the tests. TestMain runs them on each one.
var backend = sqldb.DriverSQLite

func TestMain(m *testing.M) {
	if config := os.Getenv(killVariable); config != "" {
		fmt.Println("error:", feedForever(config))
		os.Exit(1)
	}
	code := m.Run()
	backend = sqldb.DriverMySQL
	os.Exit(max(code, mariadbtest.Main(m)))
}

// node is a data node in a temporary folder. Its clock returns now.
type node struct {
	*Repository
	t         testing.TB
	job       Job
	raw, keys string
	config    sqldb.Config
	now       time.Time
}

func newNode(t testing.TB) *node {
	t.Helper()
	t.Log("backend", backend)
	return newNodeOn(t, dbtest.Config(t, backend))
}

func newNodeOn(t testing.TB, config sqldb.Config) *node {
	t.Helper()
	folder := t.TempDir()
	n := &node{
		t: t, raw: filepath.Join(folder, "raw"), keys: filepath.Join(folder, "keys"), config: config,
		now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC),
	}
	d, err := sqldb.Open(t.Context(), n.config)
	n.must(err)
	t.Cleanup(func() { n.must(d.Close()) })
	files, err := rawfiles.Open(n.raw, rawfiles.Options{NoSync: true})
	n.must(err)
	t.Cleanup(func() { n.must(files.Close()) })
	contents, err := keyvalue.Open(n.keys, keyvalue.Options{Now: func() time.Time { return n.now }, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: "NORMAL"})
	}})
	n.must(err)
	t.Cleanup(func() { n.must(contents.Close()) })
	clock := func() time.Time { return n.now }
	n.Repository = &Repository{
		Store: sqlstore.Open(d, sqlstore.Options{Now: clock}), Raw: files, Contents: contents, Now: clock,
		Log: slog.New(slog.DiscardHandler), TrashLock: filepath.Join(folder, "trash.lock"), SQLCustom: sqlstore.CustomRead,
	}
	n.job = Job{Repository: n.Repository, Critical: Critical}
	return n
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// run returns the answer to one request as db-task prints it.
func (n *node) run(request string) string {
	n.t.Helper()
	var line bytes.Buffer // one line: a refusal quotes the request
	n.must(json.Compact(&line, []byte(request)))
	request = line.String()
	answer, err := n.job.Run(context.Background(), json.RawMessage(request))
	if err != nil {
		answer = ErrorAnswer(json.RawMessage(request), err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	n.must(e.Encode(answer))
	return strings.TrimSpace(out.String())
}

// good is run for a request that must succeed.
func (n *node) good(request string) string {
	n.t.Helper()
	answer := n.run(request)
	if strings.Contains(answer, `"refused":true`) {
		n.t.Fatalf("%s\nrefused: %s", request, answer)
	}
	return answer
}

// golden is one file of testdata: preparing requests, a request and its answer. The
// answers are the contract with clients.
type golden struct {
	Before  []json.RawMessage `json:"before,omitempty"`
	Request json.RawMessage   `json:"request"`
	Answer  json.RawMessage   `json:"answer"`
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(raw, &g); err != nil {
				t.Fatal(err)
			}
			n := newNode(t)
			for _, request := range g.Before {
				n.good(string(request))
			}
			got := indented(t, []byte(n.run(string(g.Request))))
			if *update {
				g.Answer = json.RawMessage(got)
				var out bytes.Buffer
				e := json.NewEncoder(&out)
				e.SetEscapeHTML(false)
				e.SetIndent("", "  ")
				n.must(e.Encode(g))
				n.must(os.WriteFile(file, out.Bytes(), 0o644))
				return
			}
			if want := indented(t, g.Answer); got != want {
				t.Errorf("answer\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// indented returns JSON with sorted keys and one indentation.
func indented(t *testing.T, raw []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
