package crawlprogram

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/config"
	"hce/dc/internal/crawl"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// node is the job of crawler-task with the shipped ini files and storage in a folder of
// the test, and the operations of db-task on the same storage.
type node struct {
	testing.TB
	data  string
	job   *crawl.Job
	repo  *storage.Repository
	batch int64
}

func newNode(t testing.TB) *node {
	t.Helper()
	n := &node{TB: t, data: t.TempDir()}
	for name, value := range map[string]string{
		"DC_Application_data_dir": n.data, "DC_CrawlerTask_AllowedNetworks": "127.0.0.0/8",
		"DC_TasksManager_db_synchronous": "NORMAL", "DC_TasksManager_raw_sync": "0",
	} {
		t.Setenv(name, value)
	}
	t.Cleanup(n.start())
	return n
}

// start opens the job like a new process; end closes it.
func (n *node) start() (end func()) {
	n.Helper()
	f, err := config.Load(filepath.Join("..", "..", "..", "ini", "crawler-task.ini"))
	n.must(err)
	app := f.Application("crawler-task", "log/crawler-task.log")
	job, end, err := openJob(n.Context(), f, app, slog.New(slog.DiscardHandler), 0)
	n.must(err)
	n.job, n.repo = job, job.Data.(*storage.Repository)
	return end
}

func (n *node) must(err error) {
	n.Helper()
	if err != nil {
		n.Fatal(err)
	}
}

// ask sends one request to db-task and fails the test if db-task refuses it.
func (n *node) ask(format string, args ...any) string {
	n.Helper()
	job := storage.Job{Repository: n.repo}
	answer, err := job.Run(n.Context(), json.RawMessage(fmt.Sprintf(format, args...)))
	n.must(err)
	text, err := json.Marshal(answer)
	n.must(err)
	return string(text)
}

// web is a server with fixed pages by path; other paths answer 404. HOST in a page becomes
// the host of the server.
type web struct {
	*httptest.Server
	mu       sync.Mutex
	pages    map[string]string
	requests []string // path and Cookie header
	more     http.HandlerFunc
}

func newWeb(t testing.TB, pages map[string]string) *web {
	w := &web{pages: pages}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.requests = append(w.requests, strings.TrimSpace(r.URL.RequestURI()+" "+r.Header.Get("Cookie")))
		text, ok := w.pages[r.URL.RequestURI()]
		w.mu.Unlock()
		switch {
		case !ok:
			rw.WriteHeader(http.StatusNotFound)
			return
		case strings.HasSuffix(r.URL.Path, ".xml"):
			rw.Header().Set("Content-Type", "application/xml")
		default:
			rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		}
		if w.more != nil {
			w.more(rw, r)
		}
		fmt.Fprint(rw, strings.ReplaceAll(text, "HOST", r.Host))
	}))
	t.Cleanup(w.Close)
	return w
}

// site creates a site with a root URL; more has further members of the request.
func (n *node) site(root, more string) string {
	n.Helper()
	id := wire.Md5(root)
	answer := n.ask(`["SITE_NEW",{"id":%q,"urls":[%q],"requestDelay":0,"httpTimeout":5000%s}]`, id, root, more)
	if strings.Contains(answer, `"refused":true`) {
		n.Fatal(answer)
	}
	return id
}

// properties returns the member "properties" of SITE_NEW from pairs of name and value.
func properties(pairs ...string) string {
	list := map[string]string{"ROBOTS_MODE": "0"}
	for i := 0; i < len(pairs); i += 2 {
		list[pairs[i]] = pairs[i+1]
	}
	text, _ := json.Marshal(list)
	return `,"properties":` + string(text)
}

// row reads a row and fails the test if it is missing.
func (n *node) row(site, url string) wire.URL {
	n.Helper()
	u, ok := n.rows(site, url)[url]
	if !ok {
		n.Fatalf("no row %s", url)
	}
	return u
}

func (n *node) rows(site string, urls ...string) map[string]wire.URL {
	n.Helper()
	var keys []string
	for _, u := range urls {
		keys = append(keys, wire.Md5(u))
	}
	found, err := n.repo.Rows(n.Context(), site, keys)
	n.must(err)
	byURL := map[string]wire.URL{}
	for _, u := range found {
		byURL[u.URL] = u
	}
	return byURL
}

// crawl runs one batch of URLs of a site.
func (n *node) crawl(site string, change func(*wire.Batch), urls ...string) wire.Batch {
	n.Helper()
	n.batch++
	b := wire.Batch{ID: n.batch, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1}
	for _, u := range urls {
		row := n.row(site, u)
		row.Status, row.RequestDelay = wire.StatusSelectedCrawling, 0
		b.Items = append(b.Items, wire.BatchItem{SiteID: site, URLID: row.URLMd5, URL: row})
	}
	if change != nil {
		change(&b)
	}
	raw, err := json.Marshal(b)
	n.must(err)
	answer, err := n.job.Run(n.Context(), raw)
	n.must(err)
	return answer.(wire.Batch)
}

// counters returns the counters of the site and fails the test if a recount differs.
func (n *node) counters(site string) wire.Site {
	n.Helper()
	read := func() wire.Site {
		s, err := n.repo.Site(n.Context(), site)
		n.must(err)
		return *s
	}
	s := read()
	n.ask(`["FIELD_RECALCULATE",[{"siteId":%q}]]`, site)
	again := read()
	type counted struct {
		resources, contents, collected, fresh, deleted, size, errors, speed, speeds int64
		mask                                                                        errormask.Mask
	}
	of := func(s wire.Site) counted {
		return counted{s.Resources, s.Contents, s.CollectedURLs, s.NewURLs, s.DeletedURLs, s.Size, s.Errors, s.AVGSpeed, s.AVGSpeedCounter, s.ErrorMask}
	}
	if of(s) != of(again) {
		n.Errorf("counters %+v, after a recount %+v", of(s), of(again))
	}
	return s
}
