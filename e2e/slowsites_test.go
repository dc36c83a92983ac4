//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/testkit/testwait"
)

// Twelve sites answer byte by byte and never end. A site that comes later is crawled and processed
// while all of them still wait for their first page: they keep no batch, no slot and no place in
// the daemon.
func TestSlowSitesTakeNoPlace(t *testing.T) {
	t.Parallel()
	const slowSites = 12
	r := start(t, t.TempDir(), "DC_CrawlerTask_min_throughput=0")
	var begun, ended atomic.Int32
	released := make(chan struct{})
	for i := range slowSites {
		w := newWitnessAt(t, fmt.Sprintf("127.0.1.%d", 10+i), http.HandlerFunc(func(rw http.ResponseWriter, q *http.Request) {
			if q.URL.Path == "/robots.txt" {
				http.NotFound(rw, q)
				return
			}
			begun.Add(1)
			defer ended.Add(1)
			drip(rw, q, released)
		}))
		newSite(t, r, rig.Site{Root: w.URL + "/", HTTPTimeout: 3_600_000})
	}
	testwait.UntilWithin(t, crawlLimit, "all slow sites have a request", func() bool { return begun.Load() == slowSites })
	quick := newWitness(t, tree(300))
	finish(t, r, newSite(t, r, rig.Site{Root: quick.URL + "/"}))
	if n := ended.Load(); n != 0 {
		t.Errorf("%d requests of slow sites ended before the quick site was done", n)
	}
	close(released)
}

// drip sends a byte of a page now and then until released.
func drip(w http.ResponseWriter, q *http.Request, released <-chan struct{}) {
	w.Header().Set("Content-Type", "text/html")
	for {
		_, _ = io.WriteString(w, "x") // an error says that the client has gone
		_ = http.NewResponseController(w).Flush()
		select {
		case <-q.Context().Done():
			return
		case <-released:
			return
		case <-time.After(time.Second):
		}
	}
}
