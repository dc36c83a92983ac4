package storage

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
)

// backend is the database of the tests. TestMain runs them on each one.
var backend = sqldb.DriverSQLite

func TestMain(m *testing.M) {
	if config := os.Getenv(killVariable); config != "" {
		fmt.Println("error:", feedForever(config))
		os.Exit(1)
	}
	if renewal := os.Getenv(renewVariable); renewal != "" {
		if err := renewUntilKilled(renewal); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		os.Exit(0)
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
	db        *sqldb.DB
	now       time.Time
}

// SaveCrawl is Repository.SaveCrawl of one site.
func (n *node) SaveCrawl(ctx context.Context, site string, batch int64, results []wire.Fetched) (wire.Saved, error) {
	saved, err := n.Repository.SaveCrawl(ctx, batch, []wire.SiteFetched{{Site: site, Results: results}})
	return saved[0], err
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
	n.db = d
	t.Cleanup(func() { n.must(d.Close()) })
	files, err := rawfiles.Open(n.raw, rawfiles.Options{NoSync: true})
	n.must(err)
	t.Cleanup(func() { n.must(files.Close()) })
	raw := segments.Open(files, d, segments.Options{Dir: n.raw, Size: 1 << 20, NoSync: true, Now: func() time.Time { return n.now }})
	t.Cleanup(func() { n.must(raw.Close()) })
	contents, err := keyvalue.Open(n.keys, keyvalue.Options{Now: func() time.Time { return n.now }, Open: func(path string) (*sql.DB, error) {
		return sqldb.OpenFile(path, sqldb.FileOptions{Synchronous: "NORMAL"})
	}})
	n.must(err)
	t.Cleanup(func() { n.must(contents.Close()) })
	clock := func() time.Time { return n.now }
	n.Repository = &Repository{
		Store: sqlstore.Open(d, sqlstore.Options{Now: clock}), Raw: raw, Contents: contents, Now: clock,
		Log: slog.New(slog.DiscardHandler), TrashLock: filepath.Join(folder, "trash.lock"), SQLCustom: sqlstore.CustomRead,
	}
	n.job = Job{Repository: n.Repository}
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

const (
	root = "http://news.example.test/"
	page = root + "a"
)

var (
	site = wire.Md5(root)
	md5  = wire.Md5(page)
)

// withPage returns a node with one site that has a root URL and one page.
func withPage(t testing.TB) *node {
	n := newNode(t)
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0}]`, site, root))
	n.good(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":%q,"parentMd5":%q}]]`, site, page, site))
	return n
}

// filesBelow lists the relative paths of all files and folders in a folder.
func filesBelow(t testing.TB, folder string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if path != folder && err == nil {
			rel, _ := filepath.Rel(folder, path)
			all = append(all, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// left counts the rows of the site by table.
func (n *node) left() map[string]int {
	n.t.Helper()
	d, err := sqldb.Open(n.t.Context(), n.config)
	n.must(err)
	defer d.Close()
	rows := map[string]int{}
	n.must(d.View(n.t.Context(), func(t *sqldb.Tx) error {
		clear(rows)
		count := func(name, table, column string) error {
			var count int
			_, err := t.Row("SELECT COUNT(*) FROM "+table+" WHERE "+column+" = ?", []any{site}, &count)
			if count > 0 {
				rows[name] = count
			}
			return err
		}
		for table, column := range map[string]string{"sites": "Id", "sites_urls": "Site_Id", "sites_filters": "Site_Id", "sites_properties": "Site_Id", "trash": "Site_Id", "raw_records": "Site_Id"} {
			if err := count("dc_sites."+table, d.Table(sqldb.Sites, table), column); err != nil {
				return err
			}
		}
		for _, database := range sqldb.SiteDatabases {
			has, err := t.HasSite(database, site)
			if err == nil && has {
				err = count(database, d.SiteTable(database, site), "Site_Id")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}))
	return rows
}

// fill stores raw and processed contents of the page.
func (n *node) fill() {
	n.t.Helper()
	stage := n.Raw.Stage()
	n.must(stage.Put(site, md5, n.now, rawfiles.Raw, []byte("raw")))
	n.must(stage.Commit(n.t.Context()))
	_, err := n.Contents.PutAll(n.t.Context(), site, []wire.Entry{{ID: md5, Data: []byte(`{"internal":[],"custom":["x"]}`)}})
	n.must(err)
}
