package storage

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

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

// content sends URL_CONTENT for the page.
func (n *node) content(mask int) wire.URLContentResponse {
	n.t.Helper()
	answer := n.good(fmt.Sprintf(`["URL_CONTENT",[{"siteId":%q,"url":%q,"contentTypeMask":%d}]]`, site, page, mask))
	var pair []json.RawMessage
	n.must(json.Unmarshal([]byte(answer), &pair))
	var list []struct {
		RawContents, ProcessedContents   []json.RawMessage
		Headers, Requests, Meta, Cookies []*wire.Content
	}
	n.must(json.Unmarshal(pair[1], &list))
	r := wire.URLContentResponse{Headers: list[0].Headers, Requests: list[0].Requests, Meta: list[0].Meta, Cookies: list[0].Cookies}
	for _, raw := range list[0].RawContents {
		var c wire.Content
		n.must(json.Unmarshal(raw, &c))
		r.RawContents = append(r.RawContents, c)
	}
	for _, raw := range list[0].ProcessedContents {
		r.ProcessedContents = append(r.ProcessedContents, raw)
	}
	return r
}

// texts formats contents as "type:text".
func texts(t testing.TB, list []wire.Content) string {
	t.Helper()
	var all []string
	for _, c := range list {
		data, err := base64.StdEncoding.DecodeString(c.Buffer)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d:%s", c.TypeID, data))
	}
	return strings.Join(all, " ")
}

// The examples of docs/spec/storage.md 4.24: four versions of a page, two with a tidy
// file, three with headers.
func TestContentMasks(t *testing.T) {
	n := withPage(t)
	stage := n.Raw.Stage()
	for i := range 4 {
		at := n.now.Add(time.Duration(i) * time.Minute)
		n.must(stage.Put(site, md5, at, rawfiles.Raw, []byte(fmt.Sprint("raw", i))))
		if i < 2 {
			n.must(stage.Put(site, md5, at, rawfiles.Tidy, []byte(fmt.Sprint("tidy", i))))
		}
		if i > 0 {
			n.must(stage.Put(site, md5, at, rawfiles.Headers, []byte(fmt.Sprint("headers", i))))
		}
	}
	n.must(stage.Commit())
	const all = "0:raw3 0:raw0 0:raw0 0:raw1 0:raw2 0:raw3"
	for _, c := range []struct {
		mask    int
		want    string
		headers string // "-" for a missing one
	}{
		{1283, "0:raw3 1:tidy1", ""},
		{1295, all + " 1:tidy1 1:tidy0 1:tidy0 1:tidy1", ""},
		{1533, "0:raw0 0:raw0 0:raw1 0:raw2 0:raw3 1:tidy0 1:tidy0 1:tidy1", "- - headers1 headers2 headers3"},
		{1026, "0:raw3", ""},
		{1028, "0:raw0", ""},
		{2, "0:raw3", ""},    // default kind: raw (docs/spec/objects.md 7 #20)
		{258, "1:tidy1", ""}, // only tidy
		{514, "", ""},        // no such file
		{1024, "", ""},       // no version bit
		{16, "", ""},         // no version bit
		{1042, "0:raw3", "headers3"},
		{274, "1:tidy1", ""}, // headers accompany only raw files
	} {
		t.Run(fmt.Sprint(c.mask), func(t *testing.T) {
			got := n.content(c.mask)
			if text := texts(t, got.RawContents); text != c.want {
				t.Errorf("raw contents %s, want %s", text, c.want)
			}
			var headers []string
			for _, h := range got.Headers {
				if h == nil {
					headers = append(headers, "-")
					continue
				}
				headers = append(headers, strings.TrimPrefix(texts(t, []wire.Content{*h}), "2:"))
			}
			if text := strings.Join(headers, " "); text != c.headers {
				t.Errorf("headers %s, want %s", text, c.headers)
			}
			if c.mask == 1533 && (len(got.Requests) != 5 || len(got.Meta) != 5 || len(got.Cookies) != 5 || got.Requests[0] != nil) {
				t.Errorf("%d requests, %d meta, %d cookies", len(got.Requests), len(got.Meta), len(got.Cookies))
			}
		})
	}
}

// docs/spec/storage.md 3.3.
func TestProcessedMasks(t *testing.T) {
	const object = `{"default":{"t":1},"internal":[{"i":0},{"i":1}],"custom":["c0"]}`
	const plain = `{"default":{"t":1},"internal":[{"i":0}],"custom":[]}`
	for _, c := range []struct {
		stored string
		mask   int
		want   string
	}{
		{object, 1, "c0"},
		{plain, 1, `{"default":{"t":1}}`},
		{object, 4096, `{"i":0}`},
		{object, 4096 + 16384, `{"i":0} {"i":1}`},
		{object, 8192, "c0"},
		{object, 4096 + 8192, `[{"i":0} c0] [{"i":1} null]`},
		{object, 1 + 4096, `c0 {"i":0}`},
		{`[1,2]`, 1, "[1,2]"},
		{`[1,2]`, 4096 + 8192, ""},
		{`{"internal":[]}`, 1, ""},
		{`{"internal":{},"custom":7}`, 1 + 4096 + 8192, ""},
		{`no JSON`, 1, ""},
		{`null`, 1, ""},
	} {
		t.Run(fmt.Sprint(c.stored, " ", c.mask), func(t *testing.T) {
			for name, data := range map[string][]byte{"plain": []byte(c.stored), "base64": []byte(base64.StdEncoding.EncodeToString([]byte(c.stored)))} {
				var got []string
				for _, p := range processed(wire.Entry{Data: data}, int64(c.mask)) {
					switch x := p.(type) {
					case wire.Content:
						got = append(got, strings.TrimPrefix(texts(t, []wire.Content{x}), "10:"))
					case []any:
						second := "null"
						if x[1] != nil {
							second = strings.TrimPrefix(texts(t, []wire.Content{x[1].(wire.Content)}), "10:")
						}
						got = append(got, "["+strings.TrimPrefix(texts(t, []wire.Content{x[0].(wire.Content)}), "10:")+" "+second+"]")
					}
				}
				if text := strings.Join(got, " "); text != c.want {
					t.Errorf("%s: %s, want %s", name, text, c.want)
				}
			}
		})
	}
}

func FuzzProcessed(f *testing.F) {
	f.Add([]byte(`{"default":1,"internal":[null],"custom":["x"]}`), int64(0x7fff))
	f.Fuzz(func(t *testing.T, data []byte, mask int64) {
		if _, err := json.Marshal(processed(wire.Entry{Data: data}, mask)); err != nil {
			t.Error(err)
		}
	})
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
		for table, column := range map[string]string{"sites": "Id", "sites_urls": "Site_Id", "sites_filters": "Site_Id", "sites_properties": "Site_Id", "trash": "Site_Id"} {
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
	n.must(stage.Commit())
	_, err := n.Contents.PutAll(n.t.Context(), site, []wire.Entry{{ID: md5, Data: []byte(`{"internal":[],"custom":["x"]}`)}})
	n.must(err)
}

func TestSiteDeleteLeavesNothing(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(`["SITE_NEW",{"id":"other","urls":["http://other.test/"]}]`)
	if rows := n.left(); len(rows) < 3 {
		t.Fatalf("before: rows %v", rows)
	}
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q}]`, site))
	if rows := n.left(); len(rows) != 0 {
		t.Errorf("rows %v", rows)
	}
	for _, name := range append(filesBelow(t, n.raw), filesBelow(t, n.keys)...) {
		if strings.Contains(name, site) {
			t.Errorf("%s is left", name)
		}
	}
	if answer := n.good(`["SITE_STATUS",{"id":"other"}]`); !strings.Contains(answer, `"state":1`) {
		t.Errorf("the other site: %s", answer)
	}
	// A new site with the same id starts empty.
	n.good(fmt.Sprintf(`["SITE_NEW",{"id":%q,"urls":[%q]}]`, site, root))
	if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
		t.Errorf("contents %+v", got)
	}
}

func TestSiteDeleteDelayedKeepsContents(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_DELETE",{"id":%q,"delayedType":0}]`, site))
	if v, ok, err := n.Raw.Newest(site, md5, rawfiles.Raw); err != nil || !ok {
		t.Errorf("raw content %v, %v after a delayed deletion", v, err)
	}
}

func TestSiteCleanupKeepsTheSite(t *testing.T) {
	n := withPage(t)
	n.fill()
	n.good(fmt.Sprintf(`["SITE_CLEANUP",{"id":%q}]`, site))
	status := n.good(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, site))
	for _, want := range []string{`"state":1`, `"newURLs":1`, `"resources":0`, `"url":"` + root + `"`} {
		if !strings.Contains(status, want) {
			t.Errorf("no %s in %s", want, status)
		}
	}
	if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
		t.Errorf("contents %+v", got)
	}
	for _, name := range filesBelow(t, n.raw) {
		if strings.Contains(name, md5[2:]) {
			t.Errorf("%s is left", name)
		}
	}
	n.fill() // the key-value file can be written again (docs/spec/storage.md 3.1)
}

// A process that is killed between the commit and the removal of files leaves them in the
// trash. The next writer empties the trash first, so that its contents stay.
func TestTrashOfAKilledProcess(t *testing.T) {
	for name, next := range map[string]func(n *node) error{
		"start":    func(n *node) error { return n.EmptyTrash(n.t.Context()) },
		"new site": func(n *node) error { n.good(`["SITE_NEW",{"id":"x","urls":["http://x.test/"]}]`); return nil },
		"batch": func(n *node) error {
			_, err := n.MarkCrawling(n.t.Context(), site, 5, []wire.URL{{SiteID: site, URL: root, URLMd5: site}})
			return err
		},
		"processing": func(n *node) error { _, err := n.MarkProcessing(n.t.Context(), site, 5, []string{site}); return err },
		"deletion":   func(n *node) error { n.good(`["SITE_DELETE",{"id":"unknown"}]`); return nil },
		"concurrent": func(n *node) error { return twice(func() error { return n.EmptyTrash(n.t.Context()) }) },
	} {
		t.Run(name, func(t *testing.T) {
			n := withPage(t)
			n.fill()
			list, err := wire.ReadSiteCleanup(json.RawMessage(fmt.Sprintf(`{"id":%q}`, site)), nil)
			n.must(err)
			_, err = n.Store.SiteCleanup(t.Context(), list) // the process is killed here
			n.must(err)
			if _, ok, _ := n.Raw.Newest(site, md5, rawfiles.Raw); !ok {
				t.Fatal("the files are removed too early")
			}
			n.must(next(n))
			if got := n.content(1 + 1024 + 8); len(got.RawContents) != 0 || len(got.ProcessedContents) != 0 {
				t.Errorf("contents %+v", got)
			}
			n.fill()
			n.must(n.EmptyTrash(t.Context()))
			if got := n.content(1 + 1024 + 8); len(got.RawContents) != 1 || len(got.ProcessedContents) != 1 {
				t.Error("new contents were removed")
			}
		})
	}
}

func twice(do func() error) error {
	var errs [2]error
	var both sync.WaitGroup
	for i := range errs {
		both.Go(func() { errs[i] = do() })
	}
	both.Wait()
	return errors.Join(errs[:]...)
}

// taken marks the page as crawled by batch 7.
func (n *node) taken() {
	n.t.Helper()
	marks, err := n.MarkCrawling(n.t.Context(), site, 7, []wire.URL{{SiteID: site, URL: page, URLMd5: md5}})
	n.must(err)
	if !marks[md5].Known || marks[md5].Busy {
		n.t.Fatalf("mark %+v", marks[md5])
	}
}

func fetched(at time.Time, body string, same bool) []wire.Fetched {
	return []wire.Fetched{{
		URLMd5: md5, Set: wire.Patch{"Status": int64(wire.StatusCrawled), "Size": int64(len(body))}, Crawled: true, Same: same, At: at,
		Files: []wire.File{{Type: wire.ContentRaw, Data: []byte(body)}, {Type: wire.ContentHeaders, Data: []byte("H: " + body)}},
	}}
}

func (n *node) row() wire.URL {
	n.t.Helper()
	rows, err := n.Store.Rows(n.t.Context(), site, []string{md5})
	n.must(err)
	return rows[md5]
}

// saved returns the result of a SaveCrawl that must succeed.
func (n *node) saved(s wire.Saved, err error) wire.Saved {
	n.t.Helper()
	n.must(err)
	return s
}

func TestSaveCrawl(t *testing.T) {
	n := withPage(t)
	n.good(`["SITE_NEW",{"id":"two","urls":["http://two.test/"],"properties":{"RAW_VERSIONS_MAX":"2"}}]`)
	for i, body := range []string{"one", "two", "two", "three"} {
		n.now = n.now.Add(time.Minute)
		n.good(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"url":%q,"status":1,"batchId":0}]]`, site, page))
		n.taken()
		n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, body, i == 2)))
	}
	if row := n.row(); row.Status != wire.StatusCrawled || row.Crawled != 4 || row.Size != 5 {
		t.Errorf("row %+v", row)
	}
	if got := texts(t, n.content(1024+8).RawContents); got != "0:one 0:two 0:three" {
		t.Errorf("versions %s: an unchanged body makes no version", got)
	}
	data, err := n.RawContent(t.Context(), site, md5)
	if err != nil || string(data) != "three" {
		t.Errorf("%s %v", data, err)
	}
	// Late results of a lost task are dropped.
	n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "late", false)))
	if row := n.row(); row.Crawled != 4 {
		t.Errorf("row %+v", row)
	}
	if data, err := n.RawContent(t.Context(), site, wire.Md5("unknown")); data != nil || err != nil {
		t.Errorf("%q %v of a URL without content", data, err)
	}
}

// asNobody is set in the process that runs the test without the rights of root.
const asNobody = "STORAGE_TEST_AS_NOBODY"

// A write error of a raw file is critical and leaves no row and no file.
func TestSaveCrawlInReadOnlyFolder(t *testing.T) {
	if os.Geteuid() == 0 {
		folder, err := os.MkdirTemp("", "storage-test")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(folder)
		program := filepath.Join(folder, "storage.test")
		binary, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(program, binary, 0o755)
		}
		if err == nil {
			err = os.Chmod(folder, 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), program, "-test.run=^TestSaveCrawlInReadOnlyFolder$", "-test.v")
		c.Dir, c.Env = folder, []string{asNobody + "=1", "TMPDIR=" + folder, "PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	n := withPage(t)
	n.taken()
	n.must(os.Chmod(n.raw, 0o555))
	t.Cleanup(func() { n.must(os.Chmod(n.raw, 0o755)) })
	_, err := n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "body", false))
	if !Critical(err) {
		t.Errorf("error %v is not critical", err)
	}
	if row := n.row(); row.Status != wire.StatusCrawling || row.Crawled != 0 {
		t.Errorf("row %+v", row)
	}
	if list := filesBelow(t, n.raw); len(list) != 0 {
		t.Errorf("files %v", list)
	}
	n.must(os.Chmod(n.raw, 0o755))
	n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "body", false)))
}

func TestCritical(t *testing.T) {
	for _, err := range []error{syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EIO, syscall.EDQUOT, fs.ErrPermission} {
		if !Critical(fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "x", Err: err})) {
			t.Errorf("%v is not critical", err)
		}
	}
	for _, err := range []error{nil, fs.ErrNotExist, errors.New("refused"), &wire.FieldError{Object: "x"}} {
		if Critical(err) {
			t.Errorf("%v is critical", err)
		}
	}
}

// A second run of a processing batch overwrites the content and counts once.
func TestSaveProcessTwice(t *testing.T) {
	n := withPage(t)
	n.good(fmt.Sprintf(`["URL_UPDATE",[{"siteId":%q,"url":%q,"status":4}]]`, site, page))
	for _, text := range []string{"first", "second"} {
		rows, err := n.MarkProcessing(t.Context(), site, 9, []string{md5})
		n.must(err)
		if (len(rows) == 1) != (text == "first") {
			t.Errorf("%s run: %d rows taken", text, len(rows))
		}
		n.must(n.SaveProcess(t.Context(), site, 9, []wire.Extracted{{
			URLMd5: md5, Set: wire.Patch{"Status": int64(wire.StatusProcessed)}, Processed: true,
			Content: []byte(`{"internal":[],"custom":["` + text + `"]}`),
		}}))
	}
	if row := n.row(); row.Status != wire.StatusProcessed || row.Processed != 1 {
		t.Errorf("row %+v", row)
	}
	if list := n.content(1).ProcessedContents; len(list) != 1 {
		t.Errorf("%d contents", len(list))
	}
}

// Results for rows that were deleted meanwhile leave nothing.
func TestSaveAfterDeletion(t *testing.T) {
	for _, tt := range []struct {
		request string
		code    int
	}{
		{`["SITE_DELETE",{"id":%q}]`, wire.CodeNotFound},
		{`["SITE_CLEANUP",{"id":%q}]`, wire.CodeOK},
	} {
		t.Run(tt.request[2:14], func(t *testing.T) {
			n := withPage(t)
			n.taken()
			n.good(fmt.Sprintf(tt.request, site))
			if _, err := n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "late", false)); wire.CodeOf(err) != tt.code {
				t.Errorf("crawl: %v, want code %d", err, tt.code)
			}
			if _, stored, err := n.Raw.Newest(site, md5, rawfiles.Raw); stored || err != nil {
				t.Errorf("raw content: %v %v", stored, err)
			}
			err := n.SaveProcess(t.Context(), site, 7, []wire.Extracted{{URLMd5: md5, Set: wire.Patch{}, Processed: true, Content: []byte("{}")}})
			if wire.CodeOf(err) != tt.code {
				t.Errorf("process: %v, want code %d", err, tt.code)
			}
			if e, found, err := n.Contents.Get(t.Context(), site, md5); found || err != nil {
				t.Errorf("contents: %v %v", e, err)
			}
		})
	}
}

// URL_RETURN frees only the rows of the batch and counts attempts.
func TestURLReturn(t *testing.T) {
	n := withPage(t)
	for i := range 2 {
		n.taken()
		answer := n.good(fmt.Sprintf(`[60,{"batchId":7,"sites":[%q],"statuses":[2,3,8],"maxAttempts":2,"fault":true}]`, site))
		if !strings.Contains(answer, `"statuses":[1]`) {
			t.Fatalf("return %d: %s", i, answer)
		}
	}
	if row := n.row(); row.State != wire.URLError || row.ErrorMask&wire.ErrMaxExecutionTime == 0 {
		t.Errorf("row %+v", row)
	}
	for _, wrong := range []string{`"sites":["../x"]`, `"age":-1`, `"maxURLs":-1`, `"maxAttempts":-1`} {
		if answer := n.run(`[60,{"batchId":1,` + wrong + `}]`); !strings.Contains(answer, `"refused":true`) {
			t.Errorf("%s: %s", wrong, answer)
		}
	}
}

// A refused urlPut changes nothing.
func TestRefusedPutTouchesNothing(t *testing.T) {
	n := withPage(t)
	answer := n.run(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":"http://news.example.test/b"},{"siteId":%q,"url":"http://news.example.test/c","urlPut":{"siteId":"..","putDict":{"data":"x"}}}]]`, site, site))
	if !strings.Contains(answer, `"refused":true`) {
		t.Fatal(answer)
	}
	if answer := n.good(fmt.Sprintf(`["URL_STATUS",[{"siteId":%q,"url":"http://news.example.test/b"}]]`, site)); answer != `["URL_STATUS",[]]` {
		t.Errorf("the first URL is stored: %s", answer)
	}
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	c := Config{
		DB: sqldb.Config{Driver: sqldb.DriverSQLite, Path: filepath.Join(folder, "dc.db"), Names: map[string]string{}}, RawDir: filepath.Join(folder, "raw"),
		KeyDir: filepath.Join(folder, "keys"), MaxFile: 1 << 20,
	}
	repo, closeAll, err := Open(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if repo.TrashLock == "" {
		t.Error("TrashLock is empty")
	}
	closeAll()
	c.KeyDir = filepath.Join(folder, "dc.db") // a file
	if _, _, err := Open(t.Context(), c, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("opened with a file as KeyDir")
	}
}

// Requests in all spellings of clients are accepted.
func TestSampleRequests(t *testing.T) {
	folder := filepath.Join("..", "wire", "testdata", "requests")
	for _, op := range []wire.Op{wire.SiteNew, wire.SiteUpdate, wire.SiteStatus, wire.SiteFind, wire.SiteDelete, wire.SiteCleanup, wire.URLNew, wire.URLStatus, wire.URLUpdate, wire.URLFetch, wire.URLContent} {
		samples, err := filepath.Glob(filepath.Join(folder, op.String(), "*.json"))
		if err != nil || len(samples) == 0 {
			t.Fatalf("no samples of %s: %v", op, err)
		}
		for _, sample := range samples {
			t.Run(op.String()+"/"+filepath.Base(sample), func(t *testing.T) {
				raw, err := os.ReadFile(sample)
				if err != nil {
					t.Fatal(err)
				}
				raw = []byte(strings.TrimPrefix(string(raw), "\xef\xbb\xbf"))
				n := newNode(t)
				n.good(fmt.Sprintf("[%d,%s]", int(op), raw))
			})
		}
	}
}
