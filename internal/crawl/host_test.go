package crawl_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/crawl/fetch"
	"hce/dc/internal/task"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
)

// TestDelay uses the server's clock: robots.txt, pages and redirects of two sites are a delay apart.
func TestDelay(t *testing.T) {
	const gap = 40 * time.Millisecond
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			http.NotFound(w, r)
		case "/moved":
			http.Redirect(w, r, "/moved-again", http.StatusFound)
		case "/moved-again":
			http.Redirect(w, r, "/there", http.StatusFound)
		default:
			page(w, "<p>x")
		}
	})
	w := newWorld(t)
	w.addSite("a", "ROBOTS_MODE", "1")
	w.addSite("b")
	slow := func(u *wire.URL) { u.RequestDelay = gap.Milliseconds() }
	w.run(batchOf(w.item("a", s.URL+"/1", slow), w.item("b", s.URL+"/2", slow), w.item("a", s.URL+"/moved", slow), w.item("b", s.URL+"/3", slow)))
	if got, want := s.paths(), []string{"/robots.txt", "/1", "/2", "/moved", "/moved-again", "/there", "/3"}; !slices.Equal(got, want) {
		t.Errorf("visits %v, want %v", got, want)
	}
	s.checkGaps(t, gap)
	if s.most != 1 {
		t.Errorf("%d requests at once", s.most)
	}
}

// TestTwoProcesses: two processes with the same gates keep the delay together.
func TestTwoProcesses(t *testing.T) {
	const gap = 30 * time.Millisecond
	s := newServer(t, func(w http.ResponseWriter, _ *http.Request) { page(w, "<p>x") })
	dir := t.TempDir()
	var group sync.WaitGroup
	for n := range 2 {
		gates, err := hostgate.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer gates.Close()
		w := newWorld(t)
		w.job.Gates = gates
		w.addSite("s")
		b := batchOf()
		for i := range 3 {
			b.Items = append(b.Items, w.item("s", fmt.Sprintf("%s/%d-%d", s.URL, n, i), func(u *wire.URL) { u.RequestDelay = gap.Milliseconds() }))
		}
		group.Go(func() { w.run(b) })
	}
	group.Wait()
	if got := len(s.paths()); got != 6 {
		t.Errorf("%d requests", got)
	}
	s.checkGaps(t, gap)
}

func TestHostConcurrency(t *testing.T) {
	const most = 3
	var inside atomic.Int32
	full := make(chan struct{})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if inside.Add(1) == most {
			close(full)
		}
		select {
		case <-full: // only all three together can open it
		case <-r.Context().Done():
		}
		page(w, "<p>x")
	})
	w := newWorld(t)
	w.addSite("s", "HostConcurrency", "3")
	b := batchOf()
	for i := range 12 {
		b.Items = append(b.Items, w.item("s", fmt.Sprint(s.URL, "/", i)))
	}
	if answer := w.run(b); len(answer.Items) != 12 {
		t.Errorf("%d of 12 items are left: %s", len(answer.Items), bitNames(answer.ErrorMask))
	}
	if s.most != most {
		t.Errorf("%d requests at once", s.most)
	}
}

// TestSlowHostHoldsNoOther: while one host does not answer, all pages of another are fetched.
func TestSlowHostHoldsNoOther(t *testing.T) {
	const pages = 5
	var served atomic.Int32
	done := make(chan struct{})
	quick := newServer(t, func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1) == pages {
			close(done)
		}
		page(w, "<p>x")
	})
	slow := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
		page(w, "<p>x")
	})
	w := newWorld(t)
	w.addSite("s")
	b := batchOf(w.item("s", slow.URL+"/slow"))
	for i := range pages {
		b.Items = append(b.Items, w.item("s", fmt.Sprint(quick.URL, "/", i)))
	}
	if answer := w.run(b); len(answer.Items) != pages+1 {
		t.Errorf("left: %v", left(answer))
	}
}

// TestWaitingHostHoldsNoSlot: with one slot, a host that waits a day for its gap does not delay
// another.
func TestWaitingHostHoldsNoSlot(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var served atomic.Int32
	answer := func(w http.ResponseWriter, _ *http.Request) {
		page(w, "<p>x")
		if served.Add(1) == 1+3 {
			time.AfterFunc(200*time.Millisecond, stop) // all requests are running
		}
	}
	slow, quick := newServer(t, answer), newServer(t, answer)
	w := newWorld(t)
	w.job.Config.MaxHosts = 1
	w.addSite("s")
	day := func(u *wire.URL) { u.RequestDelay = 24 * 60 * 60 * 1000 }
	first, second := w.item("s", slow.URL+"/1", day), w.item("s", slow.URL+"/2", day)
	b := batchOf(first, second)
	for i := range 3 {
		b.Items = append(b.Items, w.item("s", fmt.Sprint(quick.URL, "/", i)))
	}
	if _, err := w.try(ctx, b); err != nil {
		t.Fatal(err)
	}
	if got := len(quick.paths()); got != 3 {
		t.Errorf("the quick host saw %d requests", got)
	}
	if row := w.row(second); row.Status != wire.StatusNew {
		t.Errorf("the second item of the slow host has status %d", row.Status)
	}
}

func TestRedirects(t *testing.T) {
	other := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed")
			return
		}
		page(w, `<a href="here">x</a>`)
	})
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /closed")
		case "/to-other":
			http.Redirect(w, r, other.URL+"/dir/open#part", http.StatusPermanentRedirect)
		case "/to-other-closed":
			http.Redirect(w, r, other.URL+"/closed", http.StatusSeeOther)
		case "/to-closed":
			http.Redirect(w, r, "/closed/x", http.StatusFound)
		case "/to-dead":
			http.Redirect(w, r, "http://127.0.0.1:1/x", http.StatusFound)
		case "/to-out":
			http.Redirect(w, r, "/out", http.StatusFound)
		case "/to-extra":
			http.Redirect(w, r, "/extra", http.StatusFound)
		default:
			page(w, "<p>x")
		}
	})
	tests := []struct {
		name, path string
		child      bool
		want       errormask.Mask
	}{
		{"root to another host", "/to-other", false, 0},
		{"closed by the other's robots.txt", "/to-other-closed", false, errormask.Robots},
		{"closed by its own robots.txt", "/to-closed", false, errormask.Robots},
		{"to a dead host", "/to-dead", false, errormask.Connection},
		{"root out of the filters", "/to-out", false, 0},
		{"link out of the filters", "/to-out", true, errormask.FiltersBreak},
		{"link to another host", "/to-other", true, errormask.FiltersBreak},
		{"link let in by a rule of redirects", "/to-extra", true, 0},
		{"link that the filters refuse by now", "/out", true, errormask.FiltersBreak},
		{"root that the filters refuse", "/out", false, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.addSite("s", "ROBOTS_MODE", "1").Filters = []wire.SiteFilter{
				{Pattern: `^` + s.URL + `/to-`, Stage: 0, Action: 1, State: 1},
				{Pattern: `/extra$`, Stage: 8, Action: 1, State: 1},
			}
			it := w.item("s", s.URL+tt.path, func(u *wire.URL) {
				if tt.child {
					u.ParentMd5 = wire.Md5("parent")
				}
			})
			answer := w.run(batchOf(it))
			if row := w.row(it); row.ErrorMask != tt.want || row.URL != s.URL+tt.path {
				t.Errorf("%s at %s", bitNames(row.ErrorMask), row.URL)
			}
			if tt.path == "/to-other" && tt.want == 0 && answer.Items[0].BaseURL != other.URL+"/dir/open" {
				t.Errorf("base URL %q", answer.Items[0].BaseURL)
			}
		})
	}
}

// TestDeepestLinks: a link that passed the limit of depth is also fetched.
func TestDeepestLinks(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/1" {
			http.Redirect(w, r, "/2", http.StatusFound)
			return
		}
		page(w, `<a href="/next">x</a>`)
	})
	w := newWorld(t)
	site := w.addSite("s")
	site.Filters = append(site.Filters, wire.SiteFilter{Pattern: "%MAX_DEPTH%", Subject: "1", OpCode: 4, Stage: 5, Action: 1, State: 1})
	for depth, want := range []int{1, 1, 0} { // links of a page at the depth
		it := w.item("s", fmt.Sprint(s.URL, "/", depth), func(u *wire.URL) {
			u.Depth, u.ParentMd5 = int64(depth), wire.Md5("parent")
		})
		w.run(batchOf(it))
		if row := w.row(it); row.ErrorMask != 0 || len(w.links(it)) != want {
			t.Errorf("depth %d: %s, links %v", depth, bitNames(row.ErrorMask), w.links(it))
		}
	}
}

// fetcher replaces a client where no server can do what the test needs.
type fetcher func(context.Context, fetch.Request) (*fetch.Response, error)

func (f fetcher) Get(ctx context.Context, r fetch.Request) (*fetch.Response, error) { return f(ctx, r) }

func (fetcher) Resolve(context.Context, string) error { return nil }

func (fetcher) Addresses(context.Context, string) ([]netip.Addr, error) { return nil, nil }

func (fetcher) Dial(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("no network")
}

// TestEndOfTheBatchCutsRequests: a request may outlive the batch's limit by seconds only. An item
// whose request that limit cut off is handed back.
func TestEndOfTheBatchCutsRequests(t *testing.T) {
	w := newWorld(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.job.Now = func() time.Time { return now }
	timeouts := map[string]time.Duration{}
	w.job.Fetch = fetcher(func(_ context.Context, r fetch.Request) (*fetch.Response, error) {
		timeouts[r.URL] = r.Timeout
		return nil, &fetch.Fault{Kind: fetch.Timeout, URL: r.URL}
	})
	w.addSite("s")
	short := w.item("s", "http://a.test/short", func(u *wire.URL) { u.HTTPTimeout = 5000 })
	long := w.item("s", "http://a.test/long", func(u *wire.URL) { u.HTTPTimeout = 3_600_000 })
	none := w.item("s", "http://a.test/none", func(u *wire.URL) { u.HTTPTimeout = -1 })
	b := batchOf(short, long, none)
	b.MaxExecutionTime = 60
	w.run(b)
	if timeouts["http://a.test/short"] != 5*time.Second || timeouts["http://a.test/none"] != 30*time.Second || timeouts["http://a.test/long"] != 80*time.Second {
		t.Errorf("time-outs %v", timeouts)
	}
	if a, b := w.row(short), w.row(long); a.ErrorMask != errormask.Timeout || b.Status != wire.StatusNew || b.ErrorMask != 0 {
		t.Errorf("%s, status %d", bitNames(a.ErrorMask), b.Status)
	}
}

// TestDeletedSiteIsAskedNoMore: after a save finds the site deleted, its other items are not
// fetched. Each request waits until the ones before were saved.
func TestDeletedSiteIsAskedNoMore(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	w.job.Config.ChunkItems = 1
	w.Fails["SaveCrawl"] = &wire.Error{Op: "test", Code: wire.CodeNotFound}
	client, asked := w.job.Fetch, 0
	w.job.Fetch = fetcher(func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		if strings.Contains(r.URL, "/page") {
			for saves := -1; saves < asked && ctx.Err() == nil; time.Sleep(time.Millisecond) {
				saves = w.Count("SaveCrawl")
			}
			asked++
		}
		return client.Get(ctx, r)
	})
	w.addSite("s")
	var items []wire.BatchItem
	for i := range 10 {
		items = append(items, w.item("s", fmt.Sprintf("%s/page%d", s.URL, i)))
	}
	w.run(batchOf(items...))
	if asked > 3 {
		t.Errorf("%d pages of a deleted site were asked for", asked)
	}
}

// TestNoDescriptorsEndTheBatch: a request for which the process has no descriptor left is a fault of
// the machine, not of the page. The batch ends with an error, and no page gets an error.
func TestNoDescriptorsEndTheBatch(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	client := w.job.Fetch
	w.job.Config.MaxHosts = 1
	w.job.Fetch = fetcher(func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 1, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		answer, err := client.Get(ctx, r)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
			t.Fatal(err)
		}
		return answer, err
	})
	w.addSite("s")
	first, second := w.item("s", s.URL+"/1"), w.item("s", s.URL+"/2")
	if _, err := w.try(t.Context(), batchOf(first, second)); !task.IsCritical(err) || !errors.Is(err, syscall.EMFILE) {
		t.Errorf("error %v", err)
	}
	for _, it := range []wire.BatchItem{first, second} {
		if row := w.row(it); row.ErrorMask != 0 || row.State != wire.URLEnabled || row.Status == wire.StatusCrawled {
			t.Errorf("%s: status %d, state %d, %s", row.URL, row.Status, row.State, bitNames(row.ErrorMask))
		}
	}
}

// TestPanicOfAFetchIsTheItemsOwn: a panic fails its item only, and its host can be requested again.
func TestPanicOfAFetchIsTheItemsOwn(t *testing.T) {
	s, w := newServer(t, ok), newWorld(t)
	client := w.job.Fetch
	w.job.Fetch = fetcher(func(ctx context.Context, r fetch.Request) (*fetch.Response, error) {
		if strings.HasSuffix(r.URL, "/bad") {
			panic("hostile header")
		}
		return client.Get(ctx, r)
	})
	w.job.Config.MaxHosts = 1
	w.addSite("s")
	bad, good := w.item("s", s.URL+"/bad"), w.item("s", s.URL+"/good")
	w.run(batchOf(bad, good))
	if a, b := w.row(bad), w.row(good); a.ErrorMask != errormask.GeneralCrawler || a.State != wire.URLError || b.ErrorMask != 0 || b.Status != wire.StatusCrawled {
		t.Errorf("%s, then %s, status %d", bitNames(a.ErrorMask), bitNames(b.ErrorMask), b.Status)
	}
}
