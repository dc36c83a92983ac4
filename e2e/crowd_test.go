//go:build e2e

package e2e

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
)

const (
	crowdSites = 500 // small sites
	crowdPages = 5   // of each
	crowdFull  = 3   // maxURLs of some small sites
	crowdBatch = 500 // BatchDefaultMaxURLs of the shipped ini
	crowdDelay = 200 * time.Millisecond
	// bigDefault is the number of pages of the big site: more than all small sites and a
	// batch together. CROWD_PAGES overrides it; the complete test has 100000.
	bigDefault = 3500
	bigFan     = 50 // links of a page of the big site
	// crowdGrowth limits the growth of memory from the second quarter of the crawl to the
	// last one.
	crowdGrowth = 1.2
	crowdShown  = 10 // faults of one kind that are reported singly
)

// crowdHost is the server of one site.
type crowdHost struct {
	crowd *crowd
	root  string
	big   bool
	pages int           // existing
	want  int           // to be crawled
	delay time.Duration // RequestDelay

	stays []stay // guarded by crowd.mu
	asked int    // requests of pages; guarded by crowd.mu
}

// crowd is five hundred small sites and a big one, each at its own address.
type crowd struct {
	mu      sync.Mutex
	hosts   []*crowdHost // the big one is the last
	waiting int          // unfinished small sites
	bigThen int          // pages of the big site when the last small one finished
}

func (h *crowdHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := stay{path: r.URL.Path, start: time.Now()}
	h.serve(w, r)
	s.end, s.gone = time.Now(), r.Context().Err() != nil
	c := h.crowd
	c.mu.Lock()
	defer c.mu.Unlock()
	h.stays = append(h.stays, s)
	if s.path == "/robots.txt" || s.path == "/sitemap.xml" {
		return
	}
	h.asked++
	if !h.big && h.asked == h.want {
		if c.waiting--; c.waiting == 0 {
			c.bigThen = c.hosts[len(c.hosts)-1].asked
		}
	}
}

// serve answers page n at /p<n>; the root is page 0. A page of a small site links to all
// others, a page of the big site to its children.
func (h *crowdHost) serve(w http.ResponseWriter, r *http.Request) {
	n := 0
	if r.URL.Path != "/" {
		var err error
		text, ok := strings.CutPrefix(r.URL.Path, "/p")
		if n, err = strconv.Atoi(text); !ok || err != nil || n < 1 || n >= h.pages {
			http.NotFound(w, r)
			return
		}
	}
	first, last := 1, h.pages-1
	if h.big {
		first, last = n*bigFan+1, min(n*bigFan+bigFan, h.pages-1)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>Page %d</title><h1>Page %d</h1><p>Page %d of %s, which is one site among many, says some words so that there is a text to be found in it.</p>", n, n, n, h.root)
	for i := first; i <= last; i++ {
		fmt.Fprintf(w, `<a href="/p%d">%d</a> `, i, i)
	}
}

// newCrowd serves all sites. Of 20 sites, one has a delay and another one a low maxURLs.
func newCrowd(t *testing.T, big int) *crowd {
	t.Helper()
	c := &crowd{waiting: crowdSites}
	for i := range crowdSites + 1 {
		h := &crowdHost{crowd: c, pages: crowdPages, want: crowdPages}
		switch {
		case i == crowdSites:
			h.big, h.pages, h.want = true, big, big
		case i%20 == 0:
			h.delay = crowdDelay
		case i%20 == 1:
			h.want = crowdFull
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.4.%d.%d:0", i/250, i%250+1))
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: h}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		h.root = "http://" + l.Addr().String() + "/"
		c.hosts = append(c.hosts, h)
	}
	return c
}

// store creates all sites before the daemon starts, so that they start at once.
func (c *crowd) store(t *testing.T, env []string) {
	t.Helper()
	var sites []map[string]any
	for _, h := range c.hosts {
		site := map[string]any{
			"id": rig.SiteID(h.root), "state": 1, "priority": 100, "urls": []string{h.root},
			"filters":      []any{map[string]any{"pattern": "^" + regexp.QuoteMeta(h.root), "type": 1}},
			"properties":   map[string]string{"PROCESS_CTYPES": "text/html"},
			"requestDelay": h.delay.Milliseconds(), "httpTimeout": 30000,
			"maxURLs": 0, "maxResources": 0, "maxErrors": 0, "maxURLsFromPage": 0, "maxResourceSize": 0,
		}
		if h.want < h.pages {
			site["maxURLs"] = h.want
		}
		sites = append(sites, site)
	}
	newTaskSites(t, env, sites...)
}

// sample is the memory of the daemon and all its tasks at one moment.
type sample struct {
	at  time.Time
	rss int64
}

// finishCrowd waits until the expected number of rows is processed and samples memory.
func finishCrowd(t *testing.T, r *rig.Rig, data string, want int, limit time.Duration) []sample {
	t.Helper()
	d := database(t, data)
	var samples []sample
	for end := time.Now().Add(limit); ; time.Sleep(500 * time.Millisecond) {
		u, err := rig.TreeUsage(r.PID())
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, sample{time.Now(), u.RSS})
		if len(samples)%4 != 0 {
			continue // counting rows is expensive
		}
		done := number(t, d, `SELECT COUNT(*) FROM "dc_urls.urls" WHERE Status = 7`)
		if done >= want {
			return samples
		}
		if len(samples)%60 == 0 {
			t.Logf("%d of %d pages are processed, %d MiB", done, want, u.RSS>>20)
		}
		if time.Now().After(end) {
			t.Fatalf("%d of %d pages are processed after %v", done, want, limit)
		}
	}
}

// peak returns the highest memory in one quarter (0 to 3) of the time.
func peak(samples []sample, quarter int) (most int64) {
	begin, whole := samples[0].at, samples[len(samples)-1].at.Sub(samples[0].at)
	for _, s := range samples {
		if at := s.at.Sub(begin); at >= whole*time.Duration(quarter)/4 && at <= whole*time.Duration(quarter+1)/4 {
			most = max(most, s.rss)
		}
	}
	return most
}

// Five hundred small sites and a big one start at once. No small one waits for the big one,
// each page is requested once, delays and limits hold at the origins, and memory does not
// grow with the number of crawled pages.
//
// The limit for the big site follows from the selection (docs/spec/daemon.md 2.3): a site
// is in at most one batch. While small sites wait, another batch of the same size runs for
// them. So the big site is at most one batch ahead of all small ones together.
func TestCrowd(t *testing.T) {
	big := bigDefault
	if text := os.Getenv("CROWD_PAGES"); text != "" {
		var err error
		if big, err = strconv.Atoi(text); err != nil || big < 1 {
			t.Fatalf("CROWD_PAGES=%q is not a number of pages", text)
		}
	}
	c := newCrowd(t, big)
	small := 0
	for _, h := range c.hosts[:crowdSites] {
		small += h.want
	}
	data := t.TempDir()
	env := []string{"DC_Application_data_dir=" + data}
	c.store(t, env)

	begin := time.Now()
	r := start(t, data)
	samples := finishCrowd(t, r, data, small+big, crawlLimit*time.Duration(1+big/bigDefault))
	took := time.Since(begin)

	c.mu.Lock()
	bigThen := c.bigThen
	c.mu.Unlock()
	t.Logf("%d pages of %d sites in %v, %.0f a second", small+big, len(c.hosts), took.Round(time.Second), float64(small+big)/took.Seconds())
	t.Logf("the small sites were done when the big one had %d of its %d pages, %.1f %%", bigThen, big, 100*float64(bigThen)/float64(big))
	if most := small + crowdBatch; bigThen > most {
		t.Errorf("the big site had %d pages when the small ones were done, want at most %d", bigThen, most)
	}
	c.judge(t)
	limits(t, database(t, data), c)
	second, last := peak(samples, 1), peak(samples, 3)
	t.Logf("memory of daemon and tasks by quarter: %d, %d, %d, %d MiB", peak(samples, 0)>>20, second>>20, peak(samples, 2)>>20, last>>20)
	if float64(last) > crowdGrowth*float64(second) {
		t.Errorf("memory grew from %d to %d MiB, by more than %.1f", second>>20, last>>20, crowdGrowth)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// judge checks the requests at the origins: every wanted page once, no overlap, and no gap
// below the delay.
func (c *crowd) judge(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var faults []string
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, h := range c.hosts {
		slices.SortFunc(h.stays, func(a, b stay) int { return a.start.Compare(b.start) })
		times := map[string]int{}
		for i, b := range h.stays {
			times[b.path]++
			if i == 0 {
				continue
			}
			if gap := b.start.Sub(h.stays[i-1].end); gap < h.delay {
				fault("%s: %s came %v after the end of %s, want at least %v", h.root, b.path, gap, h.stays[i-1].path, h.delay)
			}
		}
		if h.asked != h.want {
			fault("%s: %d pages were requested, want %d", h.root, h.asked, h.want)
		}
		for path, n := range times {
			if n > 1 && path != "/robots.txt" {
				fault("%s: %s was requested %d times", h.root, path, n)
			}
		}
	}
	for _, f := range faults[:min(len(faults), crowdShown)] {
		t.Error(f)
	}
	if len(faults) > crowdShown {
		t.Errorf("%d more faults", len(faults)-crowdShown)
	}
}

// limits checks the rows and counters of each site. CollectedURLs does not count the root
// (docs/spec/storage.md 4.0.4).
func limits(t *testing.T, d *sql.DB, c *crowd) {
	t.Helper()
	wrong := 0
	for _, h := range c.hosts {
		id := rig.SiteID(h.root)
		rows := number(t, d, `SELECT COUNT(*) FROM "dc_urls.urls" WHERE Site_Id = ?`, id)
		collected := number(t, d, `SELECT CollectedURLs FROM "dc_sites.sites" WHERE Id = ?`, id)
		contents := number(t, d, `SELECT Contents FROM "dc_sites.sites" WHERE Id = ?`, id)
		if rows == h.want && collected == h.want-1 && contents == h.want {
			continue
		}
		if wrong++; wrong <= crowdShown {
			t.Errorf("%s: %d rows, CollectedURLs %d, Contents %d; want %d, %d, %d", h.root, rows, collected, contents, h.want, h.want-1, h.want)
		}
	}
	if wrong > crowdShown {
		t.Errorf("%d more wrong sites", wrong-crowdShown)
	}
}
