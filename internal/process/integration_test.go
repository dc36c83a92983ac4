package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/process"
	"hce/dc/internal/storage"
	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// node is a data node with real storage and the jobs of the three task programs.
type node struct {
	testing.TB
	dir     string
	repo    *storage.Repository
	dbTask  storage.Job
	crawler *crawl.Job
	process *process.Job
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{TB: t, dir: t.TempDir()}
	log := slog.New(slog.DiscardHandler)
	repo, closeStores, err := storage.Open(context.Background(), storage.Config{
		DB: sqldb.Config{Path: filepath.Join(n.dir, "dc.db")}, RawDir: filepath.Join(n.dir, "raw"), KeyDir: filepath.Join(n.dir, "kv"), NoSync: true,
	}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeStores)
	gates, err := hostgate.Open(filepath.Join(n.dir, "hosts"))
	if err != nil {
		t.Fatal(err)
	}
	client := fetch.New(fetch.Config{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	t.Cleanup(func() { client.Close(); gates.Close() })
	n.repo, n.dbTask = repo, storage.Job{Repository: repo}
	n.crawler = &crawl.Job{Data: repo, Fetch: client, Gates: gates, Now: time.Now, Log: log, Config: crawl.Config{
		RobotsAgent: "HCE-DC", MaxResourceSize: 1 << 20, MaxHosts: 8, MaxLinks: 1000, ChunkItems: 3, ChunkTime: 20 * time.Millisecond, RobotsTTL: time.Hour,
	}}
	n.process = &process.Job{Repository: repo, Workers: workers, Now: time.Now, Log: log, Config: process.Config{ChunkItems: 3, MaxContentSize: 1 << 20}}
	return n
}

// ask runs one request and decodes the answer into out.
func (n *node) ask(job interface {
	Run(context.Context, json.RawMessage) (any, error)
}, request string, out any) {
	n.Helper()
	answer, err := job.Run(context.Background(), json.RawMessage(request))
	if err != nil {
		n.Fatal(err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		n.Fatal(err)
	}
	if err := json.Unmarshal(raw, out); err != nil {
		n.Fatalf("%v: %s", err, raw)
	}
}

// crawl selects at most 100 rows for a batch, crawls them and returns their number.
func (n *node) crawl(id int) int {
	n.Helper()
	var batch json.RawMessage
	n.ask(n.dbTask, fmt.Sprintf(`["URL_FETCH", [{"maxURLs":100,"urlsCriterions":{"WHERE":"Status=1 AND State=0","LIMIT":"100"},
		"urlUpdate":{"status":2,"batchId":%d},"asBatch":%d}]]`, id, id), &batch)
	var answer struct{ Items []json.RawMessage }
	n.ask(n.crawler, string(batch), &answer)
	return len(answer.Items)
}

// The jobs crawl and process a small web. Then rows, site, raw files and contents are
// checked in the real storage.
// docs/spec/processing.md 1.2 #12, #21, #22, 6.1 #7 to #11, #13.
func TestJobsOnRealStorage(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed")
		case r.URL.Path == "/":
			w.Header().Set("Content-Type", "text/html")
			for i := range 10 {
				fmt.Fprintf(w, `<a href="/page%d">x</a>`, i)
			}
			fmt.Fprint(w, `<a href="/closed/x">x</a><a href="/missing">x</a><a href="http://other.test/">x</a>`)
		case r.URL.Path == "/missing":
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, strings.ReplaceAll(article, "The title", "Title of "+r.URL.Path), `<a href="/">home</a>`)
		}
	}))
	defer web.Close()
	n := newNode(t)
	var reply []json.RawMessage
	n.ask(n.dbTask, fmt.Sprintf(`["SITE_NEW", {"id":"s","urls":["%s/"],"requestDelay":0,"filters":[{"pattern":"^%s/","action":1}]}]`, web.URL, web.URL), &reply)

	if got := n.crawl(1); got != 1 {
		t.Fatalf("%d items in the first batch: %s", got, reply)
	}
	if got := n.crawl(2); got != 10 {
		t.Fatalf("%d pages in the second batch", got)
	}
	if got := n.crawl(3); got != 1 { // the canonical link of all pages
		t.Errorf("%d pages in a third batch", got)
	}
	if got := n.crawl(5); got != 0 {
		t.Errorf("%d pages in a fourth batch", got)
	}
	var batch json.RawMessage
	n.ask(n.dbTask, `["URL_FETCH", [{"maxURLs":100,"urlsCriterions":{"WHERE":"Status=4 AND State=0","LIMIT":"100"},"urlUpdate":{"status":5,"batchId":4},"asBatch":4}]]`, &batch)
	var processed struct{ Items []struct{ URLObj wire.URL } }
	n.ask(n.process, string(batch), &processed)
	if len(processed.Items) != 12 {
		t.Fatalf("%d items processed", len(processed.Items))
	}
	page := wire.Md5(web.URL + "/page3")
	rows, err := n.repo.Store.Rows(context.Background(), "s", []string{page, wire.Md5(web.URL + "/missing"), wire.Md5(web.URL + "/closed/x"), wire.Md5("http://other.test/")})
	if err != nil {
		t.Fatal(err)
	}
	if row := rows[page]; row.Status != wire.StatusProcessed || row.Crawled != 1 || row.Processed != 1 || row.ErrorMask != 0 || row.Depth != 1 ||
		row.ParentMd5 != wire.Md5(web.URL+"/") || row.TagsCount == 0 || row.PDate != "2026-01-02 03:04:05" {
		t.Errorf("page %+v", row)
	}
	if row := rows[wire.Md5(web.URL+"/missing")]; row.Status != wire.StatusCrawled || row.State != wire.URLError || row.ErrorMask != errormask.HTTP || row.HTTPCode != 404 {
		t.Errorf("missing %+v", row)
	}
	if row := rows[wire.Md5(web.URL+"/closed/x")]; row.Crawled != 0 || row.ErrorMask != errormask.Robots {
		t.Errorf("forbidden by robots.txt %+v", row)
	}
	if len(rows) != 3 {
		t.Errorf("%d rows: URLs refused by filters are stored", len(rows))
	}
	site, err := n.repo.Site(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if site.Contents != 12 || site.Errors != 1 || site.NewURLs != 0 || site.ErrorMask&errormask.HTTP == 0 {
		t.Errorf("site: contents %d, errors %d, new %d, %v", site.Contents, site.Errors, site.NewURLs, site.ErrorMask.Names())
	}
	var contents []json.RawMessage
	n.ask(n.dbTask, fmt.Sprintf(`["URL_CONTENT", [{"siteId":"s","urlMd5":"%s"}]]`, page), &contents)
	if len(contents) != 2 || !strings.Contains(string(contents[1]), `"processedContents":[{`) {
		t.Errorf("content %.300s", contents)
	}
	n.ask(n.dbTask, fmt.Sprintf(`["URL_CONTENT", [{"siteId":"s","urlMd5":"%s","contentTypeMask":%d}]]`, page, wire.MaskRaw|wire.MaskRawAll|wire.MaskHeaders|wire.MaskRequests), &contents)
	for _, list := range []string{"rawContents", "headers", "requests"} {
		if n := strings.Count(string(contents[1]), `"`+list+`":[{"buffer":"`); n != 1 {
			t.Errorf("%d times %s in %.300s", n, list, contents)
		}
	}
}

// BenchmarkStorage crawls and stores pages of one host in real storage, without syncing
// files. One operation is one page.
func BenchmarkStorage(b *testing.B) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, article)
	}))
	defer web.Close()
	n := newNode(b)
	n.crawler.Config.ChunkItems = 64
	var reply json.RawMessage
	n.ask(n.dbTask, `["SITE_NEW", {"id":"s","urls":[],"properties":{"ROBOTS_MODE":"0"}}]`, &reply)
	batch := wire.Batch{ID: 1, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite}
	for i := range b.N {
		u := wire.NewURL("s", fmt.Sprint(web.URL, "/", i))
		u.RequestDelay = 0
		batch.Items = append(batch.Items, wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u})
	}
	raw, err := json.Marshal(batch)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	answer, err := n.crawler.Run(context.Background(), raw)
	b.StopTimer()
	if err != nil || len(answer.(wire.Batch).Items) != b.N {
		b.Fatalf("%v %s", err, reply)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
