package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/task"
	"hce/dc/internal/wire"
)

// refilling is the JSON of a batch that selects two URLs at a time.
func (w *world) refilling(b wire.Batch, ms int64) json.RawMessage {
	w.Helper()
	if b.Items == nil {
		b.Items = []wire.BatchItem{}
	}
	raw, err := json.Marshal(b)
	if err != nil {
		w.Fatal(err)
	}
	status := wire.StatusSelectedCrawling
	if b.CrawlerType == wire.CrawlIncremental {
		status = wire.StatusSelectedIncremental
	}
	more := fmt.Sprintf(`,"refill":{"maxURLs":2,"urlUpdate":{"status":%d,"batchId":%d}},"refillTime":%d}`, status, b.ID, ms)
	return append(raw[:len(raw)-1], more...)
}

func TestRefill(t *testing.T) {
	const links = `<a href="/a">a</a><a href="/b">b</a><a href="/c">c</a>`
	tests := []struct {
		name     string
		ms       int64
		change   func(*world, *wire.Batch)
		fails    error // of URLFetch
		stop     string
		want     string // requests
		refilled int64
	}{
		{"a whole site", 60000, nil, nil, "", "/ /a /b /c", 3},
		{"no time left", 0, nil, nil, "", "/", 0},
		{"told to stop", 60000, nil, nil, "/", "/", 0},
		{"told to stop later", 60000, nil, nil, "/b", "/ /a /b", 2},
		{"the selection fails", 60000, nil, errors.New("no disk"), "", "/", 0},
		{"nothing may be written", 60000, func(_ *world, b *wire.Batch) { b.DBMode = wire.DBRead }, nil, "", "/", 0},
		{"the site is suspended meanwhile", 60000, func(w *world, _ *wire.Batch) {
			w.OnSave = func() { w.Sites["s"].State = wire.SiteSuspended }
		}, nil, "", "/", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s := newServer(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == tt.stop {
					defer cancel()
				}
				page(rw, links)
			})
			w := newWorld(t)
			w.addSite("s")
			first := w.item("s", s.URL+"/")
			b := batchOf(first)
			if tt.change != nil {
				tt.change(w, &b)
			}
			w.Fails["URLFetch"] = tt.fails
			answer, err := w.runRaw(ctx, w.refilling(b, tt.ms))
			if err != nil {
				t.Fatal(err)
			}
			paths := s.paths()
			slices.Sort(paths)
			if got := strings.Join(paths, " "); got != tt.want || answer.Refilled != tt.refilled {
				t.Errorf("requests %s, want %s; refilled %d, want %d", got, tt.want, answer.Refilled, tt.refilled)
			}
			if got := left(answer); len(got) != 1 || got[0] != "/" {
				t.Errorf("answer %v, want the first URLs only", got)
			}
			for _, row := range w.URLs {
				if b.DBMode&wire.DBWrite != 0 && (row.Status == wire.StatusSelectedCrawling || row.Status == wire.StatusCrawling) {
					t.Errorf("%s is in Status %d", row.URL, row.Status)
				}
			}
		})
	}
}

// A batch without items takes its first rows by itself, in each way of selecting. Its answer has the number of its rows only.
func TestBatchTakesItsRows(t *testing.T) {
	tests := []struct {
		name   string
		ms     int64
		change func(*wire.Batch)
		due    int64 // status of the two rows at first
		want   string
		taken  int64
	}{
		{"while it fetches", 60000, nil, wire.StatusNew, "/ /a /x", 3},
		{"between rounds", 60000, func(b *wire.Batch) { b.MaxIterations = 2 }, wire.StatusNew, "/ /a /x", 3},
		{"once", 0, nil, wire.StatusNew, "/ /x", 2},
		{"of pages that may have changed", 0, func(b *wire.Batch) { b.CrawlerType = wire.CrawlIncremental }, wire.StatusProcessed, "/ /x", 2},
		{"nothing is due", 60000, nil, wire.StatusProcessed, "", 0},
		{"nothing is due, once", 0, nil, wire.StatusProcessed, "", 0},
		{"nothing may be written", 60000, func(b *wire.Batch) { b.DBMode = wire.DBRead }, wire.StatusNew, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/" {
					page(rw, `<a href="/a">a</a>`)
					return
				}
				page(rw, "text")
			})
			w := newWorld(t)
			w.addSite("s")
			for _, path := range []string{"/", "/x"} {
				w.item("s", s.URL+path, func(u *wire.URL) { u.Status, u.BatchID = tt.due, 0 })
			}
			b := batchOf()
			if tt.change != nil {
				tt.change(&b)
			}
			answer, err := w.runRaw(context.Background(), w.refilling(b, tt.ms))
			if err != nil {
				t.Fatal(err)
			}
			paths := s.paths()
			slices.Sort(paths)
			if got := strings.Join(paths, " "); got != tt.want || answer.Refilled != tt.taken || len(answer.Items) != 0 {
				t.Errorf("requests %s, want %s; %d rows taken, want %d; %d items in the answer", got, tt.want, answer.Refilled, tt.taken, len(answer.Items))
			}
			for _, row := range w.URLs {
				if row.Status == wire.StatusSelectedCrawling || row.Status == wire.StatusCrawling {
					t.Errorf("%s is in Status %d", row.URL, row.Status)
				}
			}
		})
	}
	for _, ms := range []int64{0, 60000} {
		w := newWorld(t)
		w.Fails["URLFetch"] = errors.New("no disk")
		if _, err := w.runRaw(context.Background(), w.refilling(batchOf(), ms)); !task.IsCritical(err) || !strings.Contains(err.Error(), "select URLs: no disk") {
			t.Errorf("for %d ms, the first selection fails: %v", ms, err)
		}
	}
}

// A host that hands every item back ends the batch: its rows are due, and would be selected again
// and again.
func TestRefillWithoutProgress(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	w := newWorld(t)
	w.addSite("s")
	for i := range 6 {
		it := w.item("s", fmt.Sprintf("%s/%d", s.URL, i))
		row := w.row(it)
		row.Status, row.BatchID = wire.StatusNew, 0
		w.URLs["s "+it.URLID] = row
	}
	b := batchOf(w.item("s", s.URL+"/first"))
	if _, err := w.runRaw(context.Background(), w.refilling(b, time.Minute.Milliseconds())); err != nil {
		t.Fatal(err)
	}
	if n := w.Count("URLFetch"); n > 1 {
		t.Errorf("%d selections", n)
	}
}

func TestRefillIsChecked(t *testing.T) {
	w := newWorld(t)
	raw, err := json.Marshal(batchOf(wire.BatchItem{SiteID: "s", URL: wire.NewURL("s", "http://x.test/")}))
	if err != nil {
		t.Fatal(err)
	}
	for _, refill := range []string{
		`{}`, `{"urlUpdate":{"status":2}}`, `{"urlUpdate":{"status":2,"batchId":9}}`, fmt.Sprintf(`{"urlUpdate":{"status":4,"batchId":%d}}`, batchID),
		fmt.Sprintf(`{"urlUpdate":{"status":2,"batchId":%d},"sitesList":["../x"]}`, batchID),
		fmt.Sprintf(`{"urlUpdate":{"status":2,"batchId":%d},"siteUpdate":{"urls":["http://x.test/"]}}`, batchID), `[]`, `7`,
	} {
		_, err := w.runRaw(context.Background(), append(slices.Clone(raw[:len(raw)-1]), `,"refill":`+refill+`,"refillTime":9}`...))
		if err == nil || !strings.Contains(err.Error(), "Batch.refill") {
			t.Errorf("%s: %v", refill, err)
		}
	}
	if len(w.Calls) > 0 {
		t.Errorf("calls %v", w.Calls)
	}
}
