package storage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/storage/rawfiles"
	"hce/dc/internal/storage/segments"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// feedEntry is a link with the row and the content of a feed's entry.
func feedEntry(text, body string, at time.Time) wire.Link {
	u := wire.NewURL(site, text)
	u.Status, u.Crawled, u.Type, u.ParentMd5, u.Size = wire.StatusCrawled, 1, wire.TypeFetched, md5, int64(len(body))
	return wire.Link{URL: u, At: at, Files: []wire.File{{Type: wire.ContentRaw, Data: []byte(body)}}}
}

func (n *node) rawText(text string) string {
	n.t.Helper()
	data, err := n.RawContent(n.t.Context(), site, wire.Md5(text), wire.ContentRaw)
	n.must(err)
	return string(data)
}

func (n *node) limit(column string, limit int) {
	n.t.Helper()
	n.good(fmt.Sprintf(`["SITE_UPDATE",{"id":%q,%q:%d}]`, site, column, limit))
}

// The content of a feed's entry is stored only together with a new row.
func TestSaveFeedEntries(t *testing.T) {
	n := withPage(t)
	n.good(fmt.Sprintf(`["URL_NEW",[{"siteId":%q,"url":%q}]]`, site, root+"known"))
	n.limit("maxURLs", 5) // root, page, known and two more
	n.taken()
	result := []wire.Fetched{{URLMd5: md5, Crawled: true, Set: schema.Patch{"Size": int64(1)}, Links: []wire.Link{
		feedEntry(root+"known", "k", n.now), feedEntry(root+"1", "one", n.now), feedEntry(root+"1", "twice", n.now), feedEntry(root+"2", "two", n.now), feedEntry(root+"3", "three", n.now)}}}
	for run, skipped := range []int{1, 1} { // the batch still holds the page
		saved := n.saved(n.SaveCrawl(t.Context(), site, 7, result))
		if saved.Skipped != skipped {
			t.Errorf("run %d: %+v", run, saved)
		}
		for text, want := range map[string]string{"known": "", "1": "one", "2": "two", "3": ""} {
			if got := n.rawText(root + text); got != want {
				t.Errorf("run %d: content of %s is %q, want %q", run, text, got, want)
			}
		}
	}
	// The results of a lost task leave no file.
	n.limit("maxURLs", 0)
	n.saved(n.SaveCrawl(t.Context(), site, 8, []wire.Fetched{{URLMd5: md5, Links: []wire.Link{feedEntry(root+"late", "late", n.now)}}}))
	if got := n.rawText(root + "late"); got != "" {
		t.Errorf("a late entry left %q", got)
	}
}

// The first page of a chain is held until its last part, then gets the list of the parts.
func TestSaveChain(t *testing.T) {
	n := withPage(t)
	n.taken()
	first := fetched(n.now, "body", false)
	delete(first[0].Set, "Status")
	n.saved(n.SaveCrawl(t.Context(), site, 7, first))
	if row := n.row(); row.Status != wire.StatusCrawling || row.Crawled != 1 || row.Size != 4 {
		t.Errorf("held row %+v", row)
	}
	last := []wire.Fetched{{URLMd5: md5, Set: schema.Patch{"Status": int64(wire.StatusCrawled)}, At: n.now, Files: []wire.File{{Type: wire.ContentChain, Data: []byte("a\nb")}}}}
	for range 2 {
		n.saved(n.SaveCrawl(t.Context(), site, 7, last))
		if row := n.row(); row.Status != wire.StatusCrawled || row.Crawled != 1 {
			t.Errorf("row %+v", row)
		}
	}
	page, _, err := n.Raw.Newest(t.Context(), site, md5, rawfiles.Raw)
	n.must(err)
	chain, ok, err := n.Raw.Companion(t.Context(), page, rawfiles.Kind(wire.ContentChain))
	n.must(err)
	if data, err := n.Raw.Read(t.Context(), chain); !ok || err != nil || string(data) != "a\nb" {
		t.Errorf("chain %q, %v, %v", data, ok, err)
	}
}

// Rows that are removed to make room lose their files.
func TestAutoRemovedFiles(t *testing.T) {
	n := withPage(t)
	n.taken()
	n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "old", false)))
	n.limit("maxURLs", 2)
	_, err := n.MarkCrawling(t.Context(), site, 8, []wire.URL{{SiteID: site, URL: root, URLMd5: site}})
	n.must(err)
	link := wire.NewURL(site, root+"new")
	link.ParentMd5 = site
	rules := wire.DefaultLinkRules()
	rules.RemoveMost, rules.RemoveWhere, rules.RemoveBy = 5, "ParentMd5<>''", "CDate"
	saved := n.saved(n.SaveCrawl(t.Context(), site, 8, []wire.Fetched{{URLMd5: site, Crawled: true, Set: schema.Patch{"Status": int64(4)}, Links: []wire.Link{{URL: link}}, Rules: rules}}))
	if saved.Removed != 1 || saved.Skipped != 0 || n.row().URL != "" {
		t.Errorf("saved %+v, row %+v", saved, n.row())
	}
	if left, err := n.Raw.List(t.Context(), site, md5); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestPutRawAndContents(t *testing.T) {
	n := withPage(t)
	n.must(n.PutRaw(t.Context(), "", map[string][]wire.File{md5: {{Type: wire.ContentRaw, Data: []byte("x")}, {Type: wire.ContentHeaders, Data: []byte("H: 1")}}}, n.now))
	if data, err := n.RawContent(t.Context(), "0", md5, wire.ContentRaw); err != nil || string(data) != "x" {
		t.Errorf("%q, %v", data, err)
	}
	if err := n.PutRaw(t.Context(), "../x", map[string][]wire.File{md5: {{Data: []byte("x")}}}, n.now); err == nil {
		t.Error("a site id with .. is accepted")
	}
	_, err := n.Contents.PutAll(t.Context(), site, []wire.Entry{{ID: md5, Data: []byte("{}")}})
	n.must(err)
	has, err := n.HasContents(t.Context(), site, []string{md5, site})
	if err != nil || len(has) != 1 || !has[md5] {
		t.Errorf("%v, %v", has, err)
	}
	for sql, want := range map[string]bool{"Status=1": true, "Status=2": false} {
		if got, err := n.Condition(t.Context(), site, md5, sql); err != nil || got.Err != nil || got.True != want {
			t.Errorf("%s: %v, %v", sql, got, err)
		}
	}
	if got, err := n.Condition(t.Context(), site, md5, "SLEEP(1)"); err != nil || got.Err == nil {
		t.Error("an unknown function is accepted")
	}
}

// killVariable holds the Config of the process that TestKilledWhileItSavesFeeds kills;
// see TestMain.
const killVariable = "STORAGE_TEST_STORES"

// feedForever saves feeds with new entries and prints the number of each stored feed.
func feedForever(config string) error {
	var c Config
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return err
	}
	ctx := context.Background()
	repo, _, err := Open(ctx, c, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	for feed := 0; ; feed++ {
		if _, err := repo.MarkCrawling(ctx, site, 7, []wire.URL{{SiteID: site, URL: page, URLMd5: md5}}); err != nil {
			return err
		}
		var links []wire.Link
		for i := range 5 {
			links = append(links, feedEntry(fmt.Sprintf("%s%d/%d/%d", root, os.Getpid(), feed, i), "body", time.Now()))
		}
		if _, err := repo.SaveCrawl(ctx, 7, []wire.SiteFetched{{Site: site, Results: []wire.Fetched{{URLMd5: md5, Links: links}}}}); err != nil {
			return err
		}
		fmt.Println(feed)
	}
}

// After a kill at any time, each entry with a row has its content, and the counters match
// the rows.
func TestKilledWhileItSavesFeeds(t *testing.T) {
	n := withPage(t)
	config, err := json.Marshal(Config{DB: n.config, RawDir: n.raw, KeyDir: filepath.Join(t.TempDir(), "keys"), MaxFile: 1 << 20, NoSync: true})
	n.must(err)
	for _, lines := range []int{1, 4, 15} {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), killVariable+"="+string(config))
		out, err := c.StdoutPipe()
		n.must(err)
		n.must(c.Start())
		printed := bufio.NewScanner(out)
		for i := 0; i < lines && printed.Scan(); i++ {
			if strings.HasPrefix(printed.Text(), "error") {
				t.Error(printed.Text())
			}
		}
		n.must(c.Process.Signal(syscall.SIGKILL))
		_ = c.Wait()
	}
	keys, err := n.Store.Select("feed", site, wire.Criterion{Where: "Type=4"}).Next(t.Context())
	n.must(err)
	list, err := n.Store.Rows(t.Context(), site, keys)
	n.must(err)
	if len(list) < 100 || len(list)%5 != 0 {
		t.Errorf("%d entries", len(list))
	}
	var size int64
	for _, u := range list {
		size += u.Size
		if n.rawText(u.URL) != "body" {
			t.Errorf("%s has a row and no content", u.URL)
		}
	}
	s, err := n.Site(t.Context(), site)
	n.must(err)
	if s.Size != size || s.CollectedURLs != int64(len(list)+1) {
		t.Errorf("counters: size %d, collected %d; rows: %d, %d", s.Size, s.CollectedURLs, size, len(list)+1)
	}
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
		URLMd5: md5, Set: schema.Patch{"Status": int64(wire.StatusCrawled), "Size": int64(len(body))}, Crawled: true, Same: same, At: at,
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
	data, err := n.RawContent(t.Context(), site, md5, wire.ContentRaw)
	if err != nil || string(data) != "three" {
		t.Errorf("%s %v", data, err)
	}
	// Late results of a lost task are dropped.
	n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, "late", false)))
	if row := n.row(); row.Crawled != 4 {
		t.Errorf("row %+v", row)
	}
	if data, err := n.RawContent(t.Context(), site, wire.Md5("unknown"), wire.ContentRaw); data != nil || err != nil {
		t.Errorf("%q %v of a URL without content", data, err)
	}
}

// With raw_store = files, a kill between the files and the transaction leaves a version without a row. The
// next crawl with the same body completes that version. Another body makes a version of its own.
func TestVersionOfAKilledProcess(t *testing.T) {
	for _, tt := range []struct {
		name, body, versions string
		others               int // headers and the like of the first version
	}{
		{"same body", "left", "0:left", 1},
		{"other body of that size", "next", "0:left 0:next", 0},
		{"other body", "another", "0:left 0:another", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := withPage(t)
			files, err := rawfiles.Open(n.raw, rawfiles.Options{NoSync: true})
			n.must(err)
			t.Cleanup(func() { n.must(files.Close()) })
			n.Raw = segments.Open(files, n.db, segments.Options{Dir: n.raw, Files: true, NoSync: true})
			left := files.Stage()
			n.must(left.Put(site, md5, n.now, rawfiles.Raw, []byte("left")))
			n.must(left.Commit())
			n.now = n.now.Add(time.Minute)
			n.taken()
			n.saved(n.SaveCrawl(t.Context(), site, 7, fetched(n.now, tt.body, false)))
			if got := texts(t, n.content(1024+8).RawContents); got != tt.versions {
				t.Errorf("versions %s, want %s", got, tt.versions)
			}
			list, err := files.List(site, md5)
			n.must(err)
			if others := len(slices.DeleteFunc(list, func(v rawfiles.Version) bool {
				return v.Kind == rawfiles.Raw || v.Name != rawfiles.TimeName(n.now.Add(-time.Minute))
			})); others != tt.others {
				t.Errorf("the first version has %d other files, want %d", others, tt.others)
			}
		})
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
			if _, stored, err := n.Raw.Newest(t.Context(), site, md5, rawfiles.Raw); stored || err != nil {
				t.Errorf("raw content: %v %v", stored, err)
			}
			err := n.SaveProcess(t.Context(), site, 7, []wire.Extracted{{URLMd5: md5, Set: schema.Patch{}, Processed: true, Content: []byte("{}")}})
			if wire.CodeOf(err) != tt.code {
				t.Errorf("process: %v, want code %d", err, tt.code)
			}
			if e, found, err := n.Contents.Get(t.Context(), site, md5); found || err != nil {
				t.Errorf("contents: %v %v", e, err)
			}
		})
	}
}
