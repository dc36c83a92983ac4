package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/crawl/visit"
	"hce/dc/internal/wire"
)

// stopCase is a page that is being read when its batch ends.
type stopCase struct {
	name       string
	properties []string
	filters    []wire.SiteFilter
	change     func(*wire.URL) // of the page's row
	path       string
	passes     int64
	depth      int64
	// places name the moments at which the batch ends: "answer" is the end of the page's
	// request, "ask PATH", "answer PATH" and "gate" belong to requests for links, other names
	// are methods of the data owner.
	places []string
}

var stopCases = []stopCase{
	{name: "many links", path: "/links", places: []string{"answer"}},
	{name: "XPath", path: "/links", properties: []string{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": ["//a/@href"]}}`}, places: []string{"answer"}},
	{name: "replaced text", path: "/links", properties: []string{"REPLACE", `[{"WHERE":"RAW","WHAT":"/1","WITH":"/one","CONDITION":"1"}]`}, places: []string{"answer", "Condition"}},
	{
		name: "filter of the content", path: "/links", places: []string{"answer", "Condition"},
		filters: []wire.SiteFilter{{Pattern: "1", Action: 1, Type: 1, OpCode: 7, Subject: "LAST_MODIFIED", State: 1, Stage: 1}},
	},
	{name: "feed", path: "/feed", properties: []string{"PROCESSOR_NAME", "FEED_PARSER"}, places: []string{"answer"}},
	{
		name: "feed with a filter of dates", path: "/feed", properties: []string{"PROCESSOR_NAME", "FEED_PARSER"}, places: []string{"Condition"},
		filters: []wire.SiteFilter{{Pattern: "%PDATE% > '2026-01-01 00:00:00'", OpCode: 7, Action: 1, State: 1}},
	},
	{name: "feed of pages", path: "/feed", properties: []string{"PROCESSOR_NAME", "RSS"}, passes: 2, places: []string{"answer", "KnownURLs"}},
	{name: "sitemap", path: "/sitemap.xml", change: func(u *wire.URL) { u.ContentType = sitemapType }, places: []string{"answer"}},
	{
		name: "unchanged page", path: "/same", properties: []string{"DETECT_MODIFIED", `{"algorithm": 1, "behavior": 2}`}, places: []string{"answer", "HasContents"},
		change: func(u *wire.URL) { u.Crawled, u.ETag, u.Processed, u.ContentType = 3, "v1", 1, "text/html" },
	},
	{name: "types of links", path: "/few", properties: []string{"MIME_TYPE_AUTO_DETECT", "2"}, places: []string{"answer", "ask /1", "ask /3", "answer /2", "answer /5", "gate"}},
	{name: "resolved links", path: "/few", properties: []string{"HTTP_REDIRECT_RESOLVER", `{"METHOD":"SGET"}`}, places: []string{"answer", "ask /1", "ask /3", "answer /2", "answer /5", "gate"}},
	{name: "limits by type", path: "/few", properties: []string{"MIME_TYPE_AUTO_DETECT", "2", "URL_LIMITS", `[{"content-types": ["text/html"], "max": 3}]`}, places: []string{"ask /3"}},
	{name: "chain with types of links", path: "/part?part=1", passes: 3, properties: []string{"URL_CHAIN", chainRule, "MIME_TYPE_AUTO_DETECT", "2"}, places: []string{"answer", "ask /1", "answer /2"}},
	{name: "further pass", path: "/few", passes: 2, depth: 1, places: []string{"answer", "KnownURLs"}},
}

// stopServer serves the pages of stopCases.
func stopServer(t *testing.T) *server {
	links := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `<a href="/%d">x</a>`, i+1)
		}
		return b.String()
	}
	return newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/links":
			page(w, links(900))
		case "/few":
			page(w, links(6))
		case "/part":
			page(w, `<a href="/next?part=2">on</a>`+links(3))
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		case "/feed":
			w.Header().Set("Content-Type", "application/rss+xml")
			fmt.Fprint(w, `<rss version="2.0"><channel><title>t</title>`)
			for i := range 300 {
				fmt.Fprintf(w, "<item><title>%d</title><link>http://%s/%d</link><pubDate>%s</pubDate></item>", i, r.Host, i+1, tuesday)
			}
			fmt.Fprint(w, "</channel></rss>")
		case "/sitemap.xml":
			w.Header().Set("Content-Type", "application/xml")
			fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
			for i := range 300 {
				fmt.Fprintf(w, "<url><loc>http://%s/%d</loc></url>", r.Host, i+1)
			}
			fmt.Fprint(w, "</urlset>")
		default:
			page(w, "a page without links")
		}
	})
}

// interrupter calls end once, at one place.
type interrupter struct {
	visit.Fetcher
	visit.Gates
	place string // "" for none
	page  string
	began func() // called with the answer of the page
	end   func()
	done  atomic.Bool
	gates atomic.Int32
}

func (i *interrupter) at(place string) {
	if place == i.place && i.done.CompareAndSwap(false, true) {
		i.end()
	}
}

func (i *interrupter) Get(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
	path := r.URL[strings.Index(r.URL[8:], "/")+8:]
	if path != i.page {
		i.at("ask " + path)
	}
	response, err := i.Fetcher.Get(ctx, r)
	if path == i.page {
		i.began()
		i.at("answer")
	} else {
		i.at("answer " + path)
	}
	return response, err
}

// Acquire ends the batch at the gate of the second request for a link.
func (i *interrupter) Acquire(ctx context.Context, host string, delay time.Duration, n int) (*hostgate.Pass, error) {
	if i.gates.Add(1) == 3 {
		i.at("gate")
	}
	return i.Gates.Acquire(ctx, host, delay, n)
}

// stopWorld is a world with the case's site and page, whose batch ends at place.
func stopWorld(t *testing.T, s *server, c stopCase, place string) (*world, wire.Batch, *interrupter) {
	w := newWorld(t)
	site := w.addSite("s", c.properties...)
	site.Filters = append(site.Filters, c.filters...)
	root := w.item("s", s.URL+c.path, func(u *wire.URL) {
		if c.change != nil {
			c.change(u)
		}
	})
	root.Depth = c.depth
	i := &interrupter{Fetcher: w.job.Fetch, Gates: w.job.Gates, place: place, page: c.path, began: func() {}, end: func() {}}
	w.job.Fetch, w.job.Gates, w.OnCall = i, i, i.at
	b := batchOf(root)
	b.MaxIterations = max(c.passes, 1)
	return w, b, i
}

// stored is what a test compares of the rows: without times, and of each row that is not
// the page's only that it exists, as later passes may or may not have crawled it.
func stored(w *world, root wire.BatchItem) (row wire.URL, others []string, files string) {
	row = w.row(root)
	row.CDate, row.UDate, row.TcDate, row.LastModified, row.PDate = "", "", "", "", ""
	row.CrawlingTime, row.TotalTime, row.MRate = 0, 0, 0
	for key := range maps.Keys(w.URLs) {
		if key != "s "+root.URLID {
			others = append(others, key)
		}
	}
	slices.Sort(others)
	for _, f := range w.Files["s "+root.URLID] {
		if f.Type == wire.ContentRaw {
			files += string(f.Data)
		}
	}
	return row, others, files
}

// stopWays are the ways in which a batch ends, by name: a stop of the task; a failure of the
// data owner; the end of its time, while reading the page took most of it or little of it.
var stopWays = map[string]func(w *world, i *interrupter, cancel func(), clock *atomic.Int64){
	"stop": func(_ *world, i *interrupter, cancel func(), _ *atomic.Int64) { i.end = cancel },
	"failure": func(w *world, i *interrupter, _ func(), _ *atomic.Int64) {
		i.end = func() { w.Fails[i.place] = errors.New("the disk is gone") }
	},
	"time over, slow page": func(_ *world, i *interrupter, _ func(), clock *atomic.Int64) {
		i.end = func() { clock.Store(int64(time.Hour)) }
	},
	"time over, slow batch": func(_ *world, i *interrupter, _ func(), clock *atomic.Int64) {
		i.began = func() { clock.Store(int64(50 * time.Minute)) }
		i.end = func() { clock.Store(int64(time.Hour)) }
	},
}

// TestEndWhileAPageIsRead ends a batch at each place between an answer and its save that
// waits or asks: the page is stored whole, or handed back without a trace; a second batch
// then brings what an undisturbed one brings.
func TestEndWhileAPageIsRead(t *testing.T) {
	s := stopServer(t)
	for _, c := range stopCases {
		whole, b, _ := stopWorld(t, s, c, "")
		whole.run(b)
		wantRow, wantOthers, wantFiles := stored(whole, b.Items[0])
		if wantRow.Status == wire.StatusNew || len(wantOthers) < 3 && c.path != "/same" {
			t.Fatalf("%s: the undisturbed batch brings %d rows, the page in status %d", c.name, len(wantOthers), wantRow.Status)
		}
		for _, place := range c.places {
			ofData := slices.Contains([]string{"Condition", "HasContents", "KnownURLs"}, place)
			for name, way := range stopWays {
				if name == "failure" && !ofData {
					continue // nothing of the data owner is at this place
				}
				t.Run(c.name+"/"+place+"/"+name, func(t *testing.T) {
					w, b, i := stopWorld(t, s, c, place)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var clock atomic.Int64 // how much later it is than on the real clock
					w.job.Now = func() time.Time { return time.Now().Add(time.Duration(clock.Load())) }
					b.MaxExecutionTime = 3600
					way(w, i, cancel, &clock)
					if _, err := w.try(ctx, b); (err != nil) != (name == "failure") {
						t.Fatal(err)
					}
					if !i.done.Load() {
						t.Fatal("the batch never came to the place")
					}
					root := b.Items[0]
					row, others, files := stored(w, root)
					if row.Status == wire.StatusNew {
						if len(others) > 0 || files != "" {
							t.Errorf("the page is handed back, but %d rows and files %.40q are there", len(others), files)
						}
						again, b, _ := stopWorld(t, s, c, "")
						again.URLs, again.Files = w.URLs, w.Files
						selected := w.row(root)
						selected.Status, selected.BatchID = wire.StatusSelectedCrawling, batchID
						w.URLs["s "+root.URLID] = selected
						b.Items[0].URL = selected
						again.run(b)
						row, others, files = stored(again, root)
					}
					row.Crawled, row.ContentDate = wantRow.Crawled, wantRow.ContentDate
					if got, want := fmt.Sprintf("%+v", row), fmt.Sprintf("%+v", wantRow); got != want {
						t.Errorf("row  %s\nwant %s", got, want)
					}
					if !slices.Equal(others, wantOthers) {
						t.Errorf("%d other rows, want %d", len(others), len(wantOthers))
					}
					if files != wantFiles {
						t.Errorf("files %.80q, want %.80q", files, wantFiles)
					}
				})
			}
		}
	}
}
