package crawl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/task"
	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

func ok(w http.ResponseWriter, _ *http.Request) { page(w, "<p>x") }

func TestReadsOnlyBatches(t *testing.T) {
	w := newWorld(t)
	for _, raw := range []string{`[]`, `"x"`, `{"items": 1}`, `{"items": [{"siteId": "../x", "urlObj": {"url": "http://x/"}}]}`} {
		if _, err := w.job.Run(context.Background(), json.RawMessage(raw)); err == nil || task.IsCritical(err) {
			t.Errorf("%s: error %v", raw, err)
		}
	}
	if answer := w.run(batchOf()); len(answer.Items) != 0 || answer.ErrorMask != 0 {
		t.Errorf("empty batch: %+v", answer)
	}
}

func TestSites(t *testing.T) {
	tests := []struct {
		name   string
		change func(*wire.Site)
		status int64          // of the row
		bits   errormask.Mask // of the item and the batch
		left   int
		limits errormask.Mask // reason of the suspension
	}{
		{"active", func(*wire.Site) {}, wire.StatusCrawled, 0, 1, 0},
		{"disabled", func(s *wire.Site) { s.State = wire.SiteDisabled }, wire.StatusNew, errormask.SiteState, 1, 0},
		{"suspended", func(s *wire.Site) { s.State = wire.SiteSuspended }, wire.StatusNew, errormask.SiteState, 1, 0},
		{"suspended, over its limit", func(s *wire.Site) { s.State, s.Errors, s.MaxErrors = wire.SiteSuspended, 9, 8 }, wire.StatusNew, errormask.SiteState, 1, 0},
		{"no limits", func(s *wire.Site) { s.Errors, s.Resources = 1000, 1000 }, wire.StatusCrawled, 0, 1, 0},
		{"at its limits", func(s *wire.Site) { s.Errors, s.Resources, s.MaxErrors, s.MaxResources = 5, 5, 5, 5 }, wire.StatusCrawled, 0, 1, 0},
		{"too many errors", func(s *wire.Site) { s.Errors, s.MaxErrors = 6, 5 }, wire.StatusNew, errormask.SiteMaxErrors, 1, errormask.SiteMaxErrors},
		{"too many resources", func(s *wire.Site) { s.Resources, s.MaxResources = 6, 5 }, wire.StatusNew, errormask.SiteMaxResources, 1, errormask.SiteMaxResources},
		{"unknown", nil, wire.StatusSelectedCrawling, errormask.Synchronize, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := newServer(t, ok), newWorld(t)
			site := w.addSite("s")
			it := w.item("s", s.URL+"/", func(u *wire.URL) { u.ErrorMask = errormask.Timeout })
			if tt.change != nil {
				tt.change(site)
			} else {
				delete(w.Sites, "s")
			}
			errorsBefore := site.Errors
			answer := w.run(batchOf(it))
			row := w.row(it)
			if row.Status != tt.status || len(answer.Items) != tt.left || answer.ErrorMask&^errormask.Timeout != tt.bits {
				t.Errorf("status %d, %d left, batch %s", row.Status, len(answer.Items), bitNames(answer.ErrorMask))
			}
			if tt.left == 1 && (answer.Items[0].URL.Status != tt.status || answer.Items[0].URL.ErrorMask&tt.bits != tt.bits) {
				t.Errorf("answered %+v", answer.Items[0].URL)
			}
			if tt.status == wire.StatusNew && row.ErrorMask != errormask.Timeout {
				t.Errorf("the row of an item that was skipped has %s", bitNames(row.ErrorMask))
			}
			if visited := len(s.paths()) > 0; visited != (tt.status == wire.StatusCrawled) {
				t.Errorf("visited: %v", visited)
			}
			if w.Suspended != tt.limits || tt.limits != 0 && (site.State != wire.SiteSuspended || site.Errors != errorsBefore+1) {
				t.Errorf("suspended for %s: state %d, errors %d", bitNames(w.Suspended), site.State, site.Errors)
			}
		})
	}
}

// TestOverlay: siteObj of an item changes the site for that item only.
func TestOverlay(t *testing.T) {
	seen := make(chan string, 10)
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.URL.Path + " " + r.Header.Get("Cookie")
		page(w, `<a href="/a">1</a><a href="/b">2</a>`)
	})
	w := newWorld(t)
	w.addSite("s", "HTTP_COOKIE", "c=site")
	plain, one, two, off := w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"), w.item("s", s.URL+"/3"), w.item("s", s.URL+"/4")
	raw, err := json.Marshal(batchOf(plain, one, two, off))
	if err != nil {
		t.Fatal(err)
	}
	overlays := []string{
		`"siteObj":null`,
		`"siteObj":{"properties":{"HTTP_COOKIE":"c=one"},"filters":[{"pattern":"/b","action":-1,"stage":5}]}`,
		`"siteObj":{"properties":{"HTTP_COOKIE":"c=two"},"maxURLsFromPage":1}`,
		`"siteObj":{"state":2}`,
	}
	parts := strings.Split(string(raw), `"siteObj":null`)
	text := parts[0]
	for i, part := range parts[1:] {
		text += overlays[i] + part
	}
	answer, err := w.job.Run(context.Background(), json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	close(seen)
	var got []string
	for line := range seen {
		got = append(got, line)
	}
	slices.Sort(got)
	if want := []string{"/1 c=site", "/2 c=one", "/3 c=two"}; !slices.Equal(got, want) {
		t.Errorf("requests %v, want %v", got, want)
	}
	if row := w.row(off); row.Status != wire.StatusNew || len(answer.(wire.Batch).Items) != 4 {
		t.Errorf("the item of a site that is off has status %d", row.Status)
	}
	if _, kept := w.URLs["s "+wire.Md5(s.URL+"/b")]; !kept {
		t.Error("a filter of one item kept the links of another out")
	}
	if len(w.Sites["s"].Filters) != 1 {
		t.Errorf("the site has %d filters now", len(w.Sites["s"].Filters))
	}
}

func TestRowsThatAreNotTaken(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.addSite("s")
	missing := w.item("s", s.URL+"/missing")
	delete(w.URLs, "s "+missing.URLID)
	busy := w.item("s", s.URL+"/busy", func(u *wire.URL) { u.BatchID, u.Status = 99, wire.StatusCrawling })
	processed := w.item("s", s.URL+"/processed", func(u *wire.URL) { u.Status = wire.StatusProcessed })
	incremental := w.item("s", s.URL+"/incremental", func(u *wire.URL) { u.Status = wire.StatusSelectedIncremental })
	answer := w.run(batchOf(missing, busy, processed, incremental))
	if got := s.paths(); !slices.Equal(got, []string{"/missing", "/incremental"}) {
		t.Errorf("visited %v", got)
	}
	if got := left(answer); !slices.Equal(got, []string{"/missing", "/busy", "/processed", "/incremental"}) {
		t.Errorf("left %v", got)
	}
	if row := w.row(missing); row.Status != wire.StatusCrawled || row.BatchID != batchID {
		t.Errorf("the missing row: %+v", row)
	}
	if row := w.row(busy); row.BatchID != 99 || row.Status != wire.StatusCrawling {
		t.Errorf("the busy row: %+v", row)
	}
}

// TestSecondRun: a second run of the same batch does nothing.
func TestSecondRun(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.addSite("s")
	b := batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"))
	first := w.run(b)
	rows := fmt.Sprint(w.URLs)
	second := w.run(b)
	if len(s.paths()) != 2 || fmt.Sprint(w.URLs) != rows {
		t.Errorf("visited %v", s.paths())
	}
	if len(first.Items) != 2 || len(second.Items) != 2 || second.Items[0].URL.Status != wire.StatusCrawled {
		t.Errorf("answers %+v\n%+v", first, second)
	}
}

// TestReadOnly: without the write bit no row is stored in any way.
func TestReadOnly(t *testing.T) {
	s, w := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/404" {
			http.NotFound(w, r)
			return
		}
		page(w, `<a href="/a">x</a>`)
	}), newWorld(t)
	w.addSite("s")
	w.addSite("full").Errors = 5
	w.Sites["full"].MaxErrors = 1
	w.addSite("off").State = wire.SiteDisabled
	b := batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/404"), w.item("full", s.URL+"/2"), w.item("off", s.URL+"/3"))
	b.DBMode = wire.DBRead
	rows := fmt.Sprint(w.URLs)
	answer := w.run(b)
	for _, call := range w.Calls {
		if call != "Site" && call != "PutRaw" {
			t.Errorf("%s was called", call)
		}
	}
	if fmt.Sprint(w.URLs) != rows {
		t.Error("a row is stored")
	}
	if w.file(b.Items[0], wire.ContentRaw) == "" || w.file(b.Items[1], wire.ContentHeaders) == "" {
		t.Errorf("files %v", w.Files) // the client of the batch reads them
	}
	if got := left(answer); !slices.Equal(got, []string{"/1", "/2", "/3"}) || answer.Items[0].URL.Status != wire.StatusCrawled {
		t.Errorf("left %v", got)
	}
}

func TestTimeLimit(t *testing.T) {
	for _, remove := range []bool{false, true} {
		t.Run(fmt.Sprint("removeUnprocessed ", remove), func(t *testing.T) {
			start := time.Now()
			var later atomic.Int64
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/2" {
					later.Store(int64(time.Hour)) // the batch's time ends while this request runs
				}
				page(w, "<p>x")
			})
			w := newWorld(t)
			w.job.Now = func() time.Time { return start.Add(time.Duration(later.Load())) }
			w.addSite("s")
			b := batchOf()
			for i := range 5 {
				b.Items = append(b.Items, w.item("s", fmt.Sprint(s.URL, "/", i+1), func(u *wire.URL) { u.ErrorMask = errormask.HTTP }))
			}
			b.MaxExecutionTime, b.RemoveUnprocessed = 60, remove
			answer := w.run(b)
			if got := s.paths(); !slices.Equal(got, []string{"/1", "/2"}) {
				t.Errorf("visited %v", got)
			}
			for i, it := range b.Items {
				row := w.row(it)
				want, bits := int64(wire.StatusCrawled), errormask.Mask(0)
				if i >= 2 {
					want, bits = wire.StatusNew, errormask.HTTP
				}
				if row.Status != want || row.ErrorMask != bits || w.Saves["s "+it.URLID] != 1 {
					t.Errorf("item %d: status %d, %s, saved %d times", i, row.Status, bitNames(row.ErrorMask), w.Saves["s "+it.URLID])
				}
			}
			wantLeft := 5
			if remove {
				wantLeft = 2
			}
			if len(answer.Items) != wantLeft || answer.ErrorMask != errormask.MaxExecutionTime {
				t.Errorf("left %v, batch %s", left(answer), bitNames(answer.ErrorMask))
			}
			if !remove && (answer.Items[4].URL.Status != wire.StatusNew || answer.Items[4].URL.ErrorMask&errormask.MaxExecutionTime != 0) {
				t.Errorf("handed back: %+v", answer.Items[4].URL)
			}
		})
	}
}

// TestLimitOfTheIni: the ini's limit applies to a batch without one. An item that waits for its gate
// at the end is handed back.
func TestLimitOfTheIni(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.job.Config.MaxExecutionTime = 300 * time.Millisecond
	w.addSite("s")
	day := func(u *wire.URL) { u.RequestDelay = 24 * 60 * 60 * 1000 }
	one, two := w.item("s", s.URL+"/1", day), w.item("s", s.URL+"/2", day)
	w.run(batchOf(one, two))
	if a, b := w.row(one), w.row(two); a.Status != wire.StatusCrawled || b.Status != wire.StatusNew || b.Crawled != 0 {
		t.Errorf("status %d and %d, crawled %d", a.Status, b.Status, b.Crawled)
	}
}

// TestStop: when the task is told to stop, no request begins, a running one is taken whole with its
// redirects if it ends soon, fetched pages are stored, and all others are handed back.
func TestStop(t *testing.T) {
	for _, name := range []string{"soon", "never"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStop(t, name)
		})
	}
}

func testStop(t *testing.T, name string) {
	ctx, stop := context.WithCancel(context.Background())
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/2" {
			stop()
			if name == "never" {
				<-r.Context().Done()
			}
			http.Redirect(w, r, "/2soon", http.StatusFound)
			return
		}
		page(w, "<p>x")
	})
	w := newWorld(t)
	w.addSite("s")
	b := batchOf()
	for i := range 4 {
		b.Items = append(b.Items, w.item("s", fmt.Sprint(s.URL, "/", i+1)))
	}
	answer, err := w.try(ctx, b)
	if err != nil {
		t.Fatal(err)
	}
	for i, it := range b.Items {
		want := int64(wire.StatusNew)
		if i == 0 || i == 1 && name == "soon" {
			want = wire.StatusCrawled
		}
		if row := w.row(it); row.Status != want || answer.Items[i].URL.Status != want {
			t.Errorf("item %d: status %d, answered %d", i, row.Status, answer.Items[i].URL.Status)
		}
	}
	if got := s.paths(); slices.Contains(got, "/3") || slices.Contains(got, "/4") || slices.Contains(got, "/2soon") != (name == "soon") {
		t.Errorf("requests %v", got)
	}
	// A job that is stopped before it begins hands everything back.
	b = batchOf(w.item("s", s.URL+"/9"))
	if _, err := w.try(ctx, b); err != nil {
		t.Fatal(err)
	}
	if row := w.row(b.Items[0]); row.Status != wire.StatusNew || slices.Contains(s.paths(), "/9") {
		t.Errorf("status %d", row.Status)
	}
}

// TestDataOwnerFails: the batch ends soon with a critical error.
func TestDataOwnerFails(t *testing.T) {
	broken := errors.New("disk is full")
	for _, method := range []string{"Site", "Suspend", "MarkCrawling", "SaveCrawl"} {
		t.Run(method, func(t *testing.T) {
			s, w := newServer(t, ok), newWorld(t)
			w.Fails[method] = broken
			site := w.addSite("s")
			if method == "Suspend" {
				site.Errors, site.MaxErrors = 2, 1
			}
			b := batchOf()
			for i := range 100 {
				b.Items = append(b.Items, w.item("s", fmt.Sprint(s.URL, "/", i)))
			}
			_, err := w.try(context.Background(), b)
			if !task.IsCritical(err) || !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			if got := len(s.paths()); got > 50 {
				t.Errorf("%d requests", got)
			}
		})
	}
}

// TestSiteIsDeletedMeanwhile: a deleted site is no failure and does not affect others.
func TestSiteIsDeletedMeanwhile(t *testing.T) {
	for _, method := range []string{"MarkCrawling", "SaveCrawl"} {
		t.Run(method, func(t *testing.T) {
			s, w := newServer(t, ok), newWorld(t)
			w.Fails[method] = &wire.Error{Op: "test", Code: wire.CodeNotFound, Err: errors.New("no such site")}
			w.addSite("s")
			answer := w.run(batchOf(w.item("s", s.URL+"/1")))
			if want := 0; method == "MarkCrawling" && len(answer.Items) != want {
				t.Errorf("left %v", left(answer))
			}
		})
	}
}

// TestGatesFail: without its files nothing keeps requests to a host apart, so nothing may be fetched.
func TestGatesFail(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.addSite("s")
	closer, _ := w.job.Gates.(*recorder).Gates.(interface{ Close() error })
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	it := w.item("s", s.URL+"/1")
	if _, err := w.try(context.Background(), batchOf(it)); !task.IsCritical(err) {
		t.Errorf("error %v", err)
	}
	if row := w.row(it); row.Status != wire.StatusNew || len(s.paths()) > 0 {
		t.Errorf("status %d, visited %v", row.Status, s.paths())
	}
}

func TestMaxItems(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.addSite("s")
	b := batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"), w.item("s", s.URL+"/3"))
	b.MaxItems = 2
	answer := w.run(b)
	if got := left(answer); !slices.Equal(got, []string{"/1", "/2"}) || answer.Items[1].URL.ErrorMask != errormask.MaxItems || answer.Items[0].URL.ErrorMask != 0 {
		t.Errorf("left %v, %s", got, bitNames(answer.ErrorMask))
	}
	if row := w.row(b.Items[2]); row.Status != wire.StatusSelectedCrawling {
		t.Errorf("the third row has status %d", row.Status)
	}
}

// TestEachItemLeavesOnce is the law: whatever the servers do and whenever the batch is stopped, each
// row that was taken gets one outcome and one state, and the answer agrees.
func TestEachItemLeavesOnce(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	for n := range rounds {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		oneRandomBatch(t, random)
		if t.Failed() {
			t.Fatalf("round %d of seed %d", n, seed)
		}
	}
}

func oneRandomBatch(t *testing.T, random *rand.Rand) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	stopAt := int64(-1)
	if random.IntN(2) == 0 {
		stopAt = random.Int64N(20)
	}
	var requests atomic.Int64
	var servers []*server
	for range 3 {
		servers = append(servers, newServer(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == stopAt {
				stop()
			}
			switch strings.Trim(r.URL.Path, "/0123456789") {
			case "abort":
				panic(http.ErrAbortHandler)
			case "hang":
				<-r.Context().Done()
			case "missing":
				http.NotFound(w, r)
			case "loop":
				http.Redirect(w, r, r.URL.Path, http.StatusFound)
			case "away":
				http.Redirect(w, r, servers[0].URL+"/page", http.StatusFound)
			case "empty":
			default:
				page(w, fmt.Sprintf(`<a href="/page%d">x</a>`, requests.Load()))
			}
		}))
	}
	w := newWorld(t)
	w.job.Config.ChunkItems, w.job.Config.MaxHosts = 1+random.IntN(5), 1+random.IntN(3)
	for _, id := range []string{"a", "b", "off"} {
		w.addSite(id, "ROBOTS_MODE", fmt.Sprint(random.IntN(2)), "HostConcurrency", fmt.Sprint(1+random.IntN(3)))
	}
	w.Sites["off"].State = wire.SiteDisabled
	kinds := []string{"page", "page", "page", "abort", "hang", "missing", "loop", "away", "empty"}
	b := batchOf()
	for i := range 1 + random.IntN(30) {
		site := []string{"a", "b", "a", "b", "off", "unknown"}[random.IntN(6)]
		target := fmt.Sprintf("%s/%s%d", servers[random.IntN(3)].URL, kinds[random.IntN(len(kinds))], i)
		if random.IntN(20) == 0 {
			target = "http://127.0.0.1:1/" + fmt.Sprint(i)
		}
		b.Items = append(b.Items, w.item(site, target, func(u *wire.URL) {
			u.HTTPTimeout, u.RequestDelay = 50, random.Int64N(3)
			if random.IntN(10) == 0 {
				u.Status, u.BatchID = wire.StatusCrawling, 99 // of another batch
			}
		}))
	}
	b.RemoveUnprocessed = random.IntN(2) == 0
	fails := random.IntN(5) == 0
	if fails {
		w.Fails["SaveCrawl"] = errors.New("broken")
	}
	answer, err := w.try(ctx, b)
	if err != nil && !fails {
		t.Fatal(err)
	}
	answered := map[string]wire.URL{}
	for _, it := range answer.Items {
		key := it.SiteID + " " + it.URLID
		if _, twice := answered[key]; twice {
			t.Errorf("%s is answered twice", it.URL.URL)
		}
		answered[key] = it.URL
	}
	for _, it := range b.Items {
		key := it.SiteID + " " + it.URLID
		row, saved := w.URLs[key], w.Saves[key]
		mine := it.SiteID != "unknown" && it.URL.BatchID == batchID
		switch {
		case !mine && saved != 0:
			t.Errorf("%s was not taken, but saved", it.URL.URL)
		case saved > 1 || mine && err == nil && saved != 1:
			t.Errorf("%s of %s left %d times", it.URL.URL, it.SiteID, saved)
		case mine && err == nil && row.Status != wire.StatusNew && row.Status != wire.StatusCrawled:
			t.Errorf("%s has status %d", it.URL.URL, row.Status)
		}
		out, there := answered[key]
		if there && mine && (out.Status != row.Status || out.State != row.State || out.Crawled != row.Crawled || out.RawContentMd5 != row.RawContentMd5) {
			t.Errorf("%s is answered as\n%+v\nand stored as\n%+v", it.URL.URL, out, row)
		}
		if err == nil && mine && !there && row.State != wire.URLError && (row.Status != wire.StatusNew || !b.RemoveUnprocessed) {
			t.Errorf("%s is not answered: %+v", it.URL.URL, row)
		}
	}
}

// TestNothingIsLeftBehind: no goroutine, gate file or memory outlives a batch.
func TestNothingIsLeftBehind(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	crawlOnce := func() { w.run(batchOf(w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2"))) }
	crawlOnce()
	before := runtime.NumGoroutine()
	for range 20 {
		crawlOnce()
	}
	testwait.Until(t, "the goroutines of the batches end", func() bool { return runtime.NumGoroutine() <= before+2 })
}
