package crawl_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/hostgate"
	"hce/dc/internal/wire"
)

// TestNamesOfOneAddress: two processes crawl twenty names that resolve to one address. The server sees
// one request at a time, a delay after the one before, from the first request on.
func TestNamesOfOneAddress(t *testing.T) {
	const delay = 20 * time.Millisecond
	for _, tt := range []struct {
		name   string
		names  int
		limit  int // shared_address_names
		delay  time.Duration
		shared bool
	}{
		{"more names than the limit", 20, 4, delay, true},
		{"a limit of 0", 5, 0, delay, true},
		{"turned off", 20, -1, delay, false},
		{"hosts without a delay", 20, 4, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					time.Sleep(5 * time.Millisecond) // so that requests could overlap
				}
				page(w, "<p>x")
			})
			_, port, _ := strings.Cut(s.host, ":")
			dir := t.TempDir()
			var group sync.WaitGroup
			for process := range 2 {
				gates, err := hostgate.Open(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer gates.Close()
				w := newWorld(t)
				w.job.Gates, w.job.Config.MaxHosts, w.job.Config.AddressNames = gates, 64, tt.limit
				w.addSite("s", "ROBOTS_MODE", "1")
				b := batchOf()
				for i := range tt.names {
					b.Items = append(b.Items, w.item("s", fmt.Sprintf("http://h%d.test:%s/%d", i, port, process), func(u *wire.URL) { u.RequestDelay = tt.delay.Milliseconds() }))
				}
				group.Go(func() { w.run(b) })
			}
			group.Wait()
			if got, want := len(s.paths()), 4*tt.names; got != want {
				t.Errorf("%d requests, want %d", got, want)
			}
			if shared := s.most == 1; shared != tt.shared {
				t.Errorf("%d requests at once", s.most)
			}
			if tt.shared {
				s.checkGaps(t, tt.delay)
				t.Logf("%d requests to %d names, shortest gap %v", len(s.paths()), tt.names, s.shortest())
			}
		})
	}
}

// shortest returns the shortest gap between two requests.
func (s *server) shortest() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(slices.Values(s.visits), func(a, b visitLog) int { return a.start.Compare(b.start) })
	gap := time.Duration(math.MaxInt64)
	for i := 1; i < len(list); i++ {
		gap = min(gap, list[i].start.Sub(list[i-1].end))
	}
	return gap
}

// TestCrawlDelayOfAName: a long Crawl-delay or Retry-After of one name does not stop the others of its
// address, which are a RequestDelay apart.
func TestCrawlDelayOfAName(t *testing.T) {
	const delay = 20 * time.Millisecond
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt" && strings.HasPrefix(r.Host, "slow."):
			fmt.Fprint(w, "User-agent: *\nCrawl-delay: 1000\n")
		case strings.HasPrefix(r.Host, "busy."):
			w.Header().Set("Retry-After", "1000")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			page(w, "<p>x")
		}
	})
	_, port, _ := strings.Cut(s.host, ":")
	w := newWorld(t)
	w.addSite("s", "ROBOTS_MODE", "1")
	polite := func(u *wire.URL) { u.RequestDelay = delay.Milliseconds() }
	b := batchOf(w.item("s", "http://slow.test:"+port+"/", polite), w.item("s", "http://busy.test:"+port+"/", polite))
	for i := range 8 {
		b.Items = append(b.Items, w.item("s", fmt.Sprintf("http://h%d.test:%s/", i, port), polite))
	}
	b.MaxHostWait = 5000
	b.MaxExecutionTime = 3 // for the page of the slow name
	w.run(b)
	for _, it := range b.Items[2:] {
		if row := w.row(it); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
			t.Errorf("%s: status %d, %s", row.URL, row.Status, bitNames(row.ErrorMask))
		}
	}
	if got := len(s.paths()); got != 2+2*8 {
		t.Errorf("%d requests: %q", got, s.paths())
	}
	s.checkGaps(t, delay)
}

// TestCrowdedAddressIsPutOff: names that would wait longer than the batch waits for a host are handed
// back, and hosts elsewhere are crawled.
func TestCrowdedAddressIsPutOff(t *testing.T) {
	s := newServer(t, func(w http.ResponseWriter, r *http.Request) { page(w, "<p>x") })
	_, port, _ := strings.Cut(s.host, ":")
	w := newWorld(t)
	w.addSite("s")
	b := batchOf()
	for i := range 20 {
		b.Items = append(b.Items, w.item("s", fmt.Sprintf("http://h%d.test:%s/", i, port), func(u *wire.URL) { u.RequestDelay = 3_600_000 }))
	}
	b.Items = append(b.Items, w.item("s", s.URL+"/elsewhere"))
	b.MaxHostWait = 100
	b.MaxExecutionTime = 60 // otherwise it would wait that long
	began := time.Now()
	w.run(b)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the batch took %v", took)
	}
	crawled, held := 0, 0
	for _, it := range b.Items {
		if w.row(it).Status == wire.StatusCrawled {
			crawled++
		} else if w.Results["s "+it.URLID].HeldUntil != "" {
			held++
		}
	}
	if crawled != 2 || held != 19 || w.row(b.Items[20]).Status != wire.StatusCrawled {
		t.Errorf("%d crawled, %d held", crawled, held)
	}
}
