package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/config"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/keyvalue"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/zpack"
)

func TestMain(m *testing.M) {
	clitest.RunIfChild(main)
	os.Exit(mariadbtest.Main(m))
}

const readerPassword = "only for reading"

// service is the databases of an original service and a user with the right to read them.
type service struct {
	*testing.T
	server *mariadbtest.Server
	names  map[string]string
	conn   *sql.Conn
}

func newService(t *testing.T) *service {
	t.Helper()
	s := &service{T: t, server: mariadbtest.Start(t)}
	s.names = s.server.Names(t)
	pool, err := sql.Open("mysql", s.server.DSN(""))
	s.must(err)
	t.Cleanup(func() { pool.Close() })
	s.conn, err = pool.Conn(t.Context())
	s.must(err)
	t.Cleanup(func() { s.conn.Close() })
	s.run("SET SESSION sql_mode = '', time_zone = '+01:00'")
	s.run("CREATE USER IF NOT EXISTS reader@localhost IDENTIFIED BY '" + readerPassword + "'")
	for _, name := range s.names {
		s.run("CREATE DATABASE " + name)
		s.run("GRANT SELECT ON " + name + ".* TO reader@localhost")
	}
	s.run("USE " + s.names[sqldb.Sites])
	s.file("sites.sql", "")
	s.file("general.sql", "0")
	return s
}

func (s *service) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *service) run(text string) {
	s.Helper()
	if _, err := s.conn.ExecContext(context.Background(), text); err != nil {
		s.Fatalf("%.200s: %v", text, err)
	}
}

// file executes a file of testdata for a site.
func (s *service) file(name, site string) {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	s.must(err)
	text := s.fill(strings.ReplaceAll(string(raw), "%SITE%", site))
	for _, part := range strings.Split(text, ";\n") {
		if strings.TrimSpace(part) != "" {
			s.run(part)
		}
	}
}

func (s *service) fill(text string) string {
	for long, name := range s.names {
		text = strings.ReplaceAll(text, "{"+strings.TrimPrefix(long, "dc_")+"}", name)
	}
	return text
}

// options returns the options of dc-import for this service.
func (s *service) options(more ...string) []string {
	var names []string
	for _, long := range slices.Sorted(maps.Keys(s.names)) {
		names = append(names, long+"="+s.names[long])
	}
	return append([]string{"--import-from", "reader@" + s.server.Socket, "--import-databases", strings.Join(names, ","), "--import-zone", "Europe/Berlin"}, more...)
}

// target is the node that receives the data.
type target struct {
	*testing.T
	folder string
	config sqldb.Config
}

var backends = []string{sqldb.DriverSQLite, sqldb.DriverMySQL}

func newTarget(t *testing.T, backend string) *target {
	t.Helper()
	n := &target{T: t, folder: t.TempDir()}
	text := "[Application]\ndata_dir = data\nlog = stderr\nlog_level = error\n[TasksManager]\nraw_sync = 0\ndb_driver = " + backend + "\n"
	n.config = sqldb.Config{Driver: backend, Path: filepath.Join(n.folder, "data", "dc.db")}
	if backend == sqldb.DriverMySQL {
		s := mariadbtest.Start(t)
		n.config.Server, n.config.Names = sqldb.Server{Socket: s.Socket, User: s.User}, s.Names(t)
		text += "db_socket = " + s.Socket + "\ndb_user = " + s.User + "\n"
		for key, long := range map[string]string{"primary_db": sqldb.Sites, "secondary_db": sqldb.URLs, "fourth_db": sqldb.Deleted,
			"fifth_db": sqldb.Contents, "stat_db": sqldb.Freqs, "log_db": sqldb.Logs, "att_db": sqldb.Attributes} {
			text += key + " = " + n.config.Names[long] + "\n"
		}
	}
	if err := os.WriteFile(filepath.Join(n.folder, "db-task.ini"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return n
}

// program prepares dc-import in the target's folder.
func (n *target) program(args ...string) (c *exec.Cmd, out, errs *bytes.Buffer) {
	c = clitest.Command(n, n.folder, append([]string{"-c", "db-task.ini"}, args...)...)
	c.Env = append(c.Env, passwordVariable+"="+readerPassword)
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	c.Stdout, c.Stderr = out, errs
	return c, out, errs
}

type sum struct {
	Sites, Before, Skipped, Orphans int
	Contents, Kept, Proxies         int64
	Rows, Changed                   map[string]int64
	Remaining                       bool
}

func (n *target) imports(args []string) (sum, string) {
	n.Helper()
	c, out, errs := n.program(args...)
	if err := c.Run(); err != nil {
		n.Fatalf("%v: %s %s", err, out, errs)
	}
	var got sum
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		n.Fatalf("%v: %s", err, out)
	}
	return got, errs.String()
}

// ask stores the answer to one request of db-task in into.
func (n *target) ask(request string, into any) {
	n.Helper()
	f, err := config.Load(filepath.Join(n.folder, "db-task.ini"))
	if err != nil {
		n.Fatal(err)
	}
	repo, closeAll, err := storage.Open(n.Context(), storage.ReadConfig(f, filepath.Join(n.folder, "data")), slog.New(slog.DiscardHandler))
	if err != nil {
		n.Fatal(err)
	}
	defer closeAll()
	answer, err := storage.Job{Repository: repo}.Run(n.Context(), json.RawMessage(request))
	if err != nil {
		n.Fatalf("%s: %v", request, err)
	}
	out, err := json.Marshal(answer)
	if err != nil {
		n.Fatal(err)
	}
	if err := json.Unmarshal(out, &[]any{nil, into}); err != nil {
		n.Fatalf("%s: %v: %s", request, err, out)
	}
}

func (n *target) site(id string) (s wire.Site) {
	n.Helper()
	n.ask(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, id), &s)
	return s
}

func (n *target) url(site, url string) wire.URL {
	n.Helper()
	var list []wire.URL
	n.ask(fmt.Sprintf(`["URL_STATUS",[{"siteId":%q,"url":%q}]]`, site, url), &list)
	if len(list) != 1 {
		n.Errorf("%s: %d rows", url, len(list))
		return wire.URL{}
	}
	return list[0]
}

// number runs a query on the database; {dc_urls} and the like become tables of a site.
func (n *target) number(site, text string) (count int64) {
	n.Helper()
	d, err := sqldb.Open(n.Context(), n.config)
	if err != nil {
		n.Fatal(err)
	}
	defer d.Close()
	for _, database := range sqldb.SiteDatabases {
		text = strings.ReplaceAll(text, "{"+database+"}", d.SiteTable(database, site))
	}
	err = d.View(n.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Row(text, nil, &count)
		return err
	})
	if err != nil {
		n.Fatalf("%s: %v", text, err)
	}
	return count
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprintf("%#v", got), fmt.Sprintf("%#v", want); g != w {
		t.Errorf("%s = %s, want %s", what, g, w)
	}
}

const (
	news = "http://news.test/"
	self = "5d41402abc4b2a76b9719d911017c592"
)

func awkward(t *testing.T) *service {
	s := newService(t)
	s.file("site.sql", "news")
	s.file("site.sql", self)
	s.run(s.fill("CREATE TABLE {urls}.urls_orphan LIKE {urls}.urls_news"))
	s.file("rows.sql", "")
	return s
}

func TestImport(t *testing.T) {
	source := awkward(t)
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			n := newTarget(t, backend)
			var answer wire.GeneralResponse
			n.ask(`["SITE_NEW",{"id":"mine","description":"exists","urls":["http://mine.test/"]}]`, &answer)
			got, progress := n.imports(source.options())
			equal(t, "counts", []any{got.Sites, got.Before, got.Skipped, got.Orphans, got.Contents, got.Kept, got.Remaining}, []any{4, 0, 2, 1, int64(1), int64(0), false})
			equal(t, "rows", got.Rows, map[string]int64{"attributes": 3, "deleted": 3, "freqs": 1, "roots": 2, "urls": 13})
			equal(t, "changed", got.Changed, map[string]int64{
				"sites.MaxResourceSize: limited":                                    1,
				"sites.UDate: no date":                                              1,
				"sites_properties: of no URL, left out":                             1,
				"sites_properties: of other sites under the general site, left out": 3,
				"sites_properties: given back to sites that the service made":       5,
				"sites_urls.URLMd5: made from the URL":                              1,
				"urls.URLMd5: made from the URL":                                    1,
				"urls.URL: longer than 4096 bytes, left out":                        1,
				"urls.Size: limited":                                                1,
				"urls.CDate: no date":                                               1,
				"urls.UDate: no date":                                               1,
				"urls.TcDate: no date":                                              1,
				"urls.ErrorMask: bits moved":                                        1,
				"urls.Status: was in a batch, returned":                             5,
				"urls.Status: unknown, now 1":                                       1,
				"deleted: neither key nor URL, left out":                            1,
				"deleted.Status: was in a batch, returned":                          1,
				"attributes: of no URL, left out":                                   1,
				"freqs: of no URL, left out":                                        1,
				"freqs.FCrawled: limited":                                           1,
				"proxies.UDate: no date":                                            1,
				"proxies: there twice, left out":                                    1,
				"proxies: of no site or without host, left out":                     1,
				"contents: of no URL, left out":                                     1,
			})
			for _, want := range []string{`"bad/../id"`, "site mine: exists here", "urls_orphan", "site locked: State is 4"} {
				if !strings.Contains(progress, want) {
					t.Errorf("%q is missing in\n%s", want, progress)
				}
			}
			equal(t, "proxies", got.Proxies, int64(2))
			var proxies []wire.Proxy
			n.ask(`["PROXY_STATUS",[{"siteId":"news","host":"proxy:3128"}]]`, &proxies)
			equal(t, "proxies of news", []any{len(proxies), proxies[0].Host, proxies[0].CityName, proxies[0].UDate}, []any{1, "proxy:3128", "Köln", schema.Date("")})
			checkSites(t, n)
			checkRows(t, n)

			again, _ := n.imports(source.options())
			equal(t, "second run", []any{again.Sites, again.Before, again.Skipped, again.Contents, len(again.Rows), len(again.Changed)}, []any{0, 4, 2, int64(0), 0, 0})
			equal(t, "deleted rows after the second run", n.number("news", "SELECT COUNT(*) FROM {dc_urls_deleted} WHERE Site_Id = 'news'"), int64(3))
			equal(t, "properties after the second run", len(n.site("news").Properties), 3)

			log, _ := n.imports(source.options("--import-log"))
			equal(t, "run for the journal", []any{log.Sites, log.Before, log.Rows}, []any{4, 0, map[string]int64{"log": 3}})
			equal(t, "journal", n.number("news", "SELECT COUNT(*) FROM {dc_stat_logs} WHERE Site_Id = 'news' AND URLMd5 = '"+wire.Md5(news)+"'"), int64(2))

			n.ask(`["SITE_DELETE",{"id":"locked"}]`, &answer)
			back, _ := n.imports(source.options())
			equal(t, "run after a deletion", []any{back.Sites, back.Before}, []any{1, 3})
		})
	}
}

func checkSites(t *testing.T, n *target) {
	t.Helper()
	s := n.site("news")
	equal(t, "news", []any{s.Description, s.CDate, s.UDate, s.State, s.Priority, s.MaxResourceSize},
		[]any{"Zeitung für München", schema.Date("2014-01-05 10:00:00"), schema.Date("2014-01-06 10:00:00"), int64(1), int64(7), int64(1 << 40)})
	equal(t, "counters", []any{s.Resources, s.Contents, s.NewURLs, s.DeletedURLs, s.CollectedURLs, s.Size, s.Errors, s.AVGSpeed, s.ErrorMask},
		[]any{int64(3), int64(1), int64(5), int64(3), int64(9), int64(1<<40 + 2710), int64(1), int64(2000), errormask.HTTP | errormask.Macro | errormask.Synchronize | errormask.FiltersBreak | errormask.Database})
	equal(t, "filters", []any{len(s.Filters), s.Filters[0].Pattern, s.Filters[0].Action, s.Filters[0].UDate}, []any{1, "ü(.*)", int64(-1), schema.Date("2014-01-05 10:00:00")})
	var values []string
	for _, p := range s.Properties {
		values = append(values, p.Name+"="+p.Value)
	}
	equal(t, "properties", values, []string{"PROCESS_CTYPES=text/html", "HTTP_HEADERS=a", "HTTP_HEADERS=b"})
	equal(t, "roots", []any{len(s.URLs), s.URLs[0].URL.URL, s.URLs[0].UserID, s.URLs[1].URLMd5}, []any{2, news, int64(3), wire.Md5(news + "late")})

	made := n.site(self)
	equal(t, "made by itself", []any{made.State, made.NewURLs, len(made.Properties)}, []any{int64(3), int64(1), 5})
	general := n.site("0")
	equal(t, "general", []any{general.CDate, len(general.Filters), general.NewURLs}, []any{schema.Date("2014-01-01 10:00:00"), 1, int64(1)})
	equal(t, "general properties", []any{len(general.Properties), general.Properties[0].Value}, []any{2, "text/html,text/xml"})
	locked := n.site("locked")
	equal(t, "locked", []any{locked.State, locked.UDate}, []any{int64(4), schema.Date("")})
	equal(t, "mine", n.site("mine").Description, "exists")
	equal(t, "no id", n.site("orphan").State, int64(wire.SiteNotFound))
}

func checkRows(t *testing.T, n *target) {
	t.Helper()
	for url, want := range map[string][]any{ // Status, Crawled, State, Batch_Id
		"":           {4, 1, 0},
		"crawling":   {1, 0, 0},
		"chosen":     {1, 0, 0},
		"again":      {1, 2, 0},
		"processing": {4, 1, 0},
		"to-process": {4, 1, 0},
		"done":       {7, 1, 0},
		"macro":      {4, 1, 2},
		"other-node": {4, 0, 0},
		"no-key":     {1, 0, 0},
		"huge":       {1, 0, 0},
	} {
		u := n.url("news", news+url)
		equal(t, url, []any{int(u.Status), int(u.Crawled), int(u.State)}, want)
		equal(t, url+" batch", u.BatchID, int64(0))
	}
	u := n.url("news", news)
	equal(t, "dates", []any{u.UDate, u.TcDate, u.CDate}, []any{schema.Date("2014-01-05 10:00:00"), schema.Date("2014-01-05 10:00:00"), schema.Date("2014-01-05 10:00:00")})
	equal(t, "moved bits", n.url("news", news+"macro").ErrorMask, errormask.HTTP|errormask.Macro|errormask.Synchronize|errormask.FiltersBreak|errormask.Database)

	var contents []struct {
		ProcessedContents []wire.Content
		Attributes        []wire.Attribute
	}
	n.ask(fmt.Sprintf(`["URL_CONTENT",[{"siteId":"news","url":%q,"contentTypeMask":1}]]`, news+"done"), &contents)
	text, err := base64.StdEncoding.DecodeString(contents[0].ProcessedContents[0].Buffer)
	if err != nil || !strings.Contains(string(text), `"Page"`) {
		t.Errorf("content %s: %v", text, err)
	}
	equal(t, "date of the content", contents[0].ProcessedContents[0].CDate, schema.Date("2014-01-05 10:00:00"))
	for text, want := range map[string]int64{
		"SELECT COUNT(*) FROM {dc_urls_deleted} WHERE Site_Id = 'news' AND URLMd5 = '" + wire.Md5(news+"gone") + "'": 2,
		"SELECT LENGTH(Value) FROM {dc_attributes} WHERE Site_Id = 'news' AND URLMd5 = '" + wire.Md5(news) + "'":     4,
		"SELECT COUNT(*) FROM {dc_attributes} WHERE Site_Id = 'news' AND URLMd5 = '' AND CDate IS NOT NULL":          1,
		"SELECT COUNT(*) FROM {dc_stat_freqs} WHERE Site_Id = 'news' AND FIns = 1 AND MDate = '2014-01-05 10:00:00'": 1,
		"SELECT COUNT(*) FROM {dc_urls} WHERE Site_Id = 'news'":                                                      11,
	} {
		equal(t, text, n.number("news", text), want)
	}
	equal(t, "attribute of the general site", n.number("0", "SELECT COUNT(*) FROM {dc_attributes} WHERE Site_Id = '0' AND Name = 'color'"), int64(1))
}

// The key-value files of the original lack an index of ours. Newer contents stay.
func TestImportKeyFiles(t *testing.T) {
	source := awkward(t)
	folder := t.TempDir()
	file, err := sql.Open("sqlite3", filepath.Join(folder, "news.db"))
	source.must(err)
	_, err = file.Exec(`CREATE TABLE articles (id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
		CREATE UNIQUE INDEX articles_id ON articles (id);
		INSERT INTO articles VALUES ('` + wire.Md5(news+"done") + `', 'old', '2013-01-01 00:00:00'), ('` + wire.Md5(news) + `', 'front', '2014-02-01 00:00:00')`)
	source.must(err)
	source.must(file.Close())
	n := newTarget(t, sqldb.DriverSQLite)
	got, _ := n.imports(source.options("--import-key-files", folder))
	equal(t, "contents", []int64{got.Contents, got.Kept}, []int64{2, 1})
	store, err := keyvalue.Open(filepath.Join(n.folder, "data", "dc_dbdata"), keyvalue.Options{Open: func(path string) (*sql.DB, error) { return sqldb.OpenFile(path, sqldb.FileOptions{}) }})
	source.must(err)
	defer store.Close()
	e, _, err := store.Get(t.Context(), "news", wire.Md5(news))
	source.must(err)
	equal(t, "entry", []any{string(e.Data), e.CDate.Format(schema.DateLayout)}, []any{"front", "2014-02-01 00:00:00"})

	c, _, errs := n.program(source.options("--import-key-files", filepath.Join("data", "dc_dbdata"))...)
	if err := c.Run(); err == nil || !strings.Contains(errs.String(), "is key_value_storage_dir itself") {
		t.Errorf("%v: %s", err, errs)
	}
}

// A damaged content is skipped, named and counted, and the exit status is 1. A second run does not come back to it.
func TestImportDamagedContents(t *testing.T) {
	source := awkward(t)
	folder := t.TempDir()
	file, err := sql.Open("sqlite3", filepath.Join(folder, "news.db"))
	source.must(err)
	date := time.Date(2014, 2, 1, 0, 0, 0, 0, time.UTC)
	damaged := zpack.Seal(wire.Md5(news+"done"), date, []byte("done"))
	damaged[len(damaged)-1] ^= 1
	_, err = file.Exec(`CREATE TABLE articles (id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME DEFAULT CURRENT_TIMESTAMP);
		INSERT INTO articles VALUES (?, ?, '2014-02-01 00:00:00'), (?, 'front', '2014-02-01 00:00:00')`, wire.Md5(news+"done"), damaged, wire.Md5(news))
	source.must(err)
	source.must(file.Close())
	n := newTarget(t, sqldb.DriverSQLite)
	c, out, errs := n.program(source.options("--import-key-files", folder)...)
	_ = c.Run() // its status is looked at
	var got struct{ Contents, Damaged int64 }
	source.must(json.Unmarshal(out.Bytes(), &got))
	equal(t, "first run", []any{c.ProcessState.ExitCode(), got.Damaged}, []any{1, int64(1)})
	if text := errs.String(); !strings.Contains(text, "site news: not imported: "+wire.DamagedProcessed) || !strings.Contains(text, wire.Md5(news+"done")) {
		t.Error(text)
	}
	again, _ := n.imports(source.options("--import-key-files", folder))
	equal(t, "second run", again.Contents, int64(0))
}

func TestImportRefuses(t *testing.T) {
	source := newService(t)
	mysql := newTarget(t, sqldb.DriverMySQL)
	mysql.site("0") // creates the databases
	var own []string
	for _, long := range slices.Sorted(maps.Keys(mysql.config.Names)) {
		own = append(own, long+"="+mysql.config.Names[long])
	}
	for name, c := range map[string]struct {
		args []string
		want string // on stderr
	}{
		"option is missing":            {nil, "--import-from is missing"},
		"password on the command line": {[]string{"--import-from", "a:b@host"}, passwordVariable},
		"no user":                      {[]string{"--import-from", "host"}, "USER@HOST"},
		"invalid port":                 {[]string{"--import-from", "a@host:x"}, "not a port"},
		"unknown zone":                 {source.options("--import-zone", "Berlin"), "Europe/Berlin"},
		"unknown database":             {source.options("--import-databases", "sites=x"), "dc_sites"},
		"no such database":             {source.options("--import-databases", "dc_sites=missing"), "no table sites in the database missing"},
		"our own databases":            {[]string{"--import-from", "root@" + source.server.Socket, "--import-databases", strings.Join(own, ",")}, "not of the original"},
		"wrong user":                   {[]string{"--import-from", "nobody@" + source.server.Socket}, "Access denied"},
		"no server":                    {[]string{"--import-from", "a@127.0.0.1:1"}, "127.0.0.1:1"},
		"missing folder":               {source.options("--import-key-files", "none"), "none"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTarget(t, sqldb.DriverSQLite)
			p, out, errs := n.program(c.args...)
			if c.want == "not of the original" {
				p.Env = append(p.Env, passwordVariable+"=")
			}
			err := p.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 || out.Len() != 0 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), c.want) {
				t.Errorf("%v: %s %s", err, out, errs)
			}
		})
	}
}

// Rows of the source of TestImportKilled.
const (
	manyURLs    = 6000
	manyDeleted = 2500 // copies of few URLs
)

// An import that is killed many times ends with the same data as one that is not: each
// row once, and exact counters.
func TestImportKilled(t *testing.T) {
	source := newService(t)
	for _, site := range []string{"a", "b"} {
		source.file("site.sql", site)
		source.run(source.fill("INSERT INTO {sites}.sites (Id, Description) VALUES ('" + site + "', '')"))
		source.run(source.fill(fmt.Sprintf("INSERT INTO {urls}.urls_%s (Site_Id, URL, URLMd5, ParentMd5, Size) SELECT '%[1]s', CONCAT('http://x/', seq), MD5(CONCAT('http://x/', seq)), 'p', 3 FROM seq_1_to_%d", site, manyURLs)))
		source.run(source.fill(fmt.Sprintf("INSERT INTO {urls_deleted}.urls_%s (Site_Id, URL, URLMd5) SELECT '%[1]s', CONCAT('http://x/', seq %% 2), MD5(CONCAT('http://x/', seq %% 2)) FROM seq_1_to_%d", site, manyDeleted)))
		source.run(source.fill(fmt.Sprintf("INSERT INTO {attributes}.att_%s (Name, URLMd5, Value) SELECT 'n', MD5(seq), seq FROM seq_1_to_700", site)))
		source.run(source.fill(fmt.Sprintf("INSERT INTO {contents}.contents_%s (id, data) SELECT MD5(seq), seq FROM seq_1_to_700", site)))
		source.run(source.fill(fmt.Sprintf("INSERT INTO {stat_logs}.log_%s (URLMd5, Object) SELECT MD5(seq %% 2), '{}' FROM seq_1_to_1500", site)))
	}
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			n := newTarget(t, backend)
			r := rand.New(rand.NewPCG(3, 3))
			kills, within := 0, 0
			// Kills come later and later until the import gets on, whatever the machine's speed.
			window, before := 240*time.Millisecond, int64(-1)
			for done := false; !done; {
				c, _, errs := n.program(source.options("--import-log")...)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				kill := time.AfterFunc(60*time.Millisecond+time.Duration(r.Int64N(int64(window))), func() { _ = c.Process.Signal(syscall.SIGKILL) })
				err := c.Wait()
				kill.Stop()
				var exit *exec.ExitError
				switch {
				case err == nil:
					done = true
				case !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled():
					t.Fatalf("%v: %s", err, errs)
				default:
					if kills++; kills > 300 {
						t.Fatal("300 kills and no end")
					}
					parts := n.parts()
					if parts > 0 && parts < 3*8 {
						within++
					}
					if parts == before {
						window += window / 4
					}
					before = parts
				}
			}
			t.Logf("%d kills, %d of them during the import", kills, within)
			if within == 0 {
				t.Error("no kill hit the import")
			}
			for _, site := range []string{"a", "b"} {
				for table, want := range map[string]int64{sqldb.URLs: manyURLs, sqldb.Deleted: manyDeleted, sqldb.Attributes: 700, sqldb.Logs: 1500} {
					equal(t, table, n.number(site, "SELECT COUNT(*) FROM {"+table+"} WHERE Site_Id = '"+site+"'"), want)
				}
				s := n.site(site)
				equal(t, "counters", []int64{s.NewURLs, s.CollectedURLs, s.DeletedURLs, s.Size}, []int64{manyURLs, manyURLs, manyDeleted, 3 * manyURLs})
				var contents []json.RawMessage
				n.ask(fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"url":"http://x/1","contentTypeMask":1}]]`, site), &contents)
			}
			again, _ := n.imports(source.options("--import-log"))
			equal(t, "run after the end", []any{again.Sites, again.Before, len(again.Rows), again.Contents}, []any{0, 2, 0, int64(0)})
		})
	}
}

// parts counts the completely imported parts of all sites.
func (n *target) parts() int64 {
	d, err := sqldb.Open(n.Context(), n.config)
	if err != nil {
		n.Fatal(err)
	}
	defer d.Close()
	var done int64
	err = d.View(n.Context(), func(tx *sqldb.Tx) error {
		_, err := tx.Row("SELECT COUNT(*) FROM "+d.Table(sqldb.Sites, "imports")+" WHERE Done = 1", nil, &done)
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
	return done
}
