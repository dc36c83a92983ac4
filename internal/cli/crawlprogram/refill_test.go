package crawlprogram

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/wire"
)

// graph is a site of pages that link to the next ones; it counts the requests of each page.
type graph struct {
	*httptest.Server
	pages  int
	before func(path string) // nil, or called before each answer

	mu       sync.Mutex
	requests map[string]int
	order    []string
}

func newGraph(t testing.TB, pages int, before func(path string)) *graph {
	g := &graph{pages: pages, before: before, requests: map[string]int{}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before != nil {
			before(r.URL.Path)
		}
		g.mu.Lock()
		g.requests[r.URL.Path]++
		g.order = append(g.order, r.URL.Path)
		g.mu.Unlock()
		n := 0
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<p>page %d", n)
		for i := range 10 {
			if next := n*10 + i + 1; next < pages {
				fmt.Fprintf(w, `<a href="/%d">x</a>`, next)
			}
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *graph) count() (total, pages int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.order), len(g.requests)
}

// child starts crawler-task with a request on its stdin. The folder and the environment are those
// of the node.
func (n *node) child(request json.RawMessage) (wait func() (stdout string, status int), signal func(os.Signal)) {
	n.Helper()
	c := clitest.Command(n, "", "-c", filepath.Join("..", "..", "..", "ini", "crawler-task.ini"))
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(append(request, '\n')), &out, &errs
	n.must(c.Start())
	return func() (string, int) {
			_ = c.Wait()
			if errs.Len() > 0 {
				n.Log(errs.String())
			}
			return out.String(), c.ProcessState.ExitCode()
		}, func(s os.Signal) {
			n.must(c.Process.Signal(s))
		}
}

// statuses returns the number of the site's pages by status.
func (n *node) statuses(site, root string, pages int) map[int64]int {
	n.Helper()
	urls := []string{root + "/"}
	for i := 1; i < pages; i++ {
		urls = append(urls, fmt.Sprintf("%s/%d", root, i))
	}
	count := map[int64]int{}
	for _, u := range n.rows(site, urls...) {
		count[u.Status]++
	}
	return count
}

// A kill while a batch refills itself loses nothing: its rows return, the counters are exact, and
// the next batch requests only what was in flight once more.
func TestKilledRefill(t *testing.T) {
	const pages, killAt = 600, 150
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprint("HostConcurrency ", concurrency), func(t *testing.T) {
			reached := make(chan struct{})
			var once sync.Once
			var g *graph
			g = newGraph(t, pages, func(string) {
				if total, _ := g.count(); total >= killAt {
					once.Do(func() { close(reached) })
				}
			})
			n := newNode(t)
			site := n.site(g.URL+"/", properties("HostConcurrency", fmt.Sprint(concurrency)))
			wait, signal := n.child(n.refilling(site, g.URL+"/", 7, 50, time.Minute))
			<-reached
			signal(syscall.SIGKILL)
			if out, status := wait(); out != "" || status != -1 {
				t.Fatalf("answer %q, status %d", out, status)
			}
			before, _ := g.count()
			n.ask(`["URL_RETURN",{"batchId":7}]`)
			left := n.statuses(site, g.URL, pages)
			if left[wire.StatusNew] == 0 || left[wire.StatusCrawled] == 0 || len(left) != 2 {
				t.Errorf("statuses after the return: %v", left)
			}
			n.counters(site)
			stored := left[wire.StatusCrawled]
			answer, err := n.job.Run(t.Context(), n.refilling(site, g.URL+"/", 8, 50, time.Minute))
			n.must(err)
			if refilled := answer.(wire.Batch).Refilled; int(refilled) < pages-stored-1 {
				t.Errorf("selected %d rows, %d were left", refilled, pages-stored)
			}
			if left := n.statuses(site, g.URL, pages); left[wire.StatusCrawled] != pages || len(left) != 1 {
				t.Errorf("statuses at the end: %v", left)
			}
			n.counters(site)
			// The root is an item of both batches.
			if total, distinct := g.count(); distinct != pages || total != before+pages-stored+1 {
				t.Errorf("%d requests of %d pages, %d before the kill; %d pages were stored then", total, distinct, before, stored)
			}
		})
	}
}

// SIGTERM while a batch refills itself ends it with an answer: fetched pages are stored, and no row
// stays in flight.
func TestStoppedRefill(t *testing.T) {
	const pages, stopAt = 600, 150
	reached := make(chan struct{})
	var once sync.Once
	var g *graph
	g = newGraph(t, pages, func(string) {
		if total, _ := g.count(); total >= stopAt {
			once.Do(func() { close(reached) })
		}
	})
	n := newNode(t)
	site := n.site(g.URL+"/", properties("HostConcurrency", "4"))
	wait, signal := n.child(n.refilling(site, g.URL+"/", 7, 50, time.Minute))
	<-reached
	signal(syscall.SIGTERM)
	out, _ := wait()
	var answer struct {
		Refilled, ErrorMask int64
		Items               []json.RawMessage
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Items) != 1 || answer.Refilled < stopAt-50 {
		t.Fatalf("answer %.300s, %v", out, err)
	}
	left := n.statuses(site, g.URL, pages)
	total, _ := g.count()
	// A stop cuts off requests; their items are handed back.
	if stored := left[wire.StatusCrawled]; stored > total || stored < total-4 || left[wire.StatusNew] == 0 || len(left) != 2 {
		t.Errorf("statuses %v, %d requests", left, total)
	}
	n.counters(site)
}

// Two sites in one batch advance together, whichever was first: a site answers no further request
// while it is far ahead of the other, so a batch that finished one site first would hang.
func TestFairRefill(t *testing.T) {
	const pages, ahead = 300, 100
	var mu sync.Mutex
	turn := sync.NewCond(&mu)
	var served [2]int
	n := newNode(t)
	late := time.AfterFunc(time.Minute, func() {
		mu.Lock()
		defer mu.Unlock()
		t.Errorf("after %v requests one site waits for the other", served)
		served = [2]int{pages, pages}
		turn.Broadcast()
	})
	defer late.Stop()
	serve := func(me int) *graph {
		return newGraph(t, pages, func(path string) {
			mu.Lock()
			defer mu.Unlock()
			served[me]++
			turn.Broadcast()
			for other := 1 - me; served[me] > served[other]+ahead && served[other] < pages; {
				turn.Wait()
			}
		})
	}
	a, b := serve(0), serve(1)
	first, second := n.site(a.URL+"/", properties()), n.site(b.URL+"/", properties())
	_, err := n.job.Run(t.Context(), n.refillingAll([][2]string{{first, a.URL + "/"}, {second, b.URL + "/"}}, 7, 50, 2*time.Minute))
	n.must(err)
	for _, s := range []struct {
		id string
		g  *graph
	}{{first, a}, {second, b}} {
		if left := n.statuses(s.id, s.g.URL, pages); left[wire.StatusCrawled] != pages {
			t.Errorf("statuses %v", left)
		}
		n.counters(s.id)
	}
}

// A slow host does not stop the selections for a fast one: all pages of the fast host are crawled
// while the slow one has not answered its second request.
func TestSlowHostDoesNotStopRefill(t *testing.T) {
	const pages = 300
	fast := newGraph(t, pages, nil)
	fastDone := make(chan struct{})
	var once sync.Once
	fast.before = nil
	watched := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fast.Config.Handler.ServeHTTP(w, r)
		if _, distinct := fast.count(); distinct == pages {
			once.Do(func() { close(fastDone) })
		}
	}))
	t.Cleanup(watched.Close)
	slow := newGraph(t, 20, func(path string) {
		if path != "/" {
			<-fastDone
		}
	})
	n := newNode(t)
	slowSite, fastSite := n.site(slow.URL+"/", `,"httpTimeout":60000`+properties()), n.site(watched.URL+"/", properties())
	_, err := n.job.Run(t.Context(), n.refilling(slowSite, slow.URL+"/", 7, 20, time.Minute))
	n.must(err)
	if left := n.statuses(fastSite, watched.URL, pages); left[wire.StatusCrawled] != pages {
		t.Errorf("fast host: %v", left)
	}
	if left := n.statuses(slowSite, slow.URL, 20); left[wire.StatusCrawled] != 20 {
		t.Errorf("slow host: %v", left)
	}
}
