package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hce/dc/examples/rig"
)

// Shape of the synthetic web.
const (
	linksToGrow  = 200 // of a page that brings new URLs
	smallestSize = 10_000
	// A page of a large site links to the start pages of the site and of its section, to its
	// neighbours, and to some pages anywhere.
	hubLinks, hubs       = 25, 200
	nearLinks, nearPages = 20, 1000
	farLinks             = 5
	linksOfPage          = hubLinks + nearLinks + farLinks
	// At each size at most this many pages are measured: longer than the minute for which a
	// crawler-task keeps what it adds to the Freq of links.
	measuredPages = 300_000
)

// scale crawls a site that grows to a number of known URLs and prints the cost of a page at
// each power of ten. At each size the links of the measured pages are known already.
func scale(ctx context.Context, o options, most int, d dc) error {
	facts := machine(o.data)
	var web growingSite
	server := httptest.NewServer(&web)
	defer server.Close()
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, pids, stop, err := d.start(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	web.grow(smallestSize)
	id, err := d.newSite(ctx, r, server.URL+"/")
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "known URLs\tpages/s\tCPU ms/page\tratio of pages/s\t\n")
	first := 0.0
	for size := smallestSize; size <= most; size *= 10 {
		begin := time.Now()
		web.grow(size)
		rate, cpu, err := measureSize(ctx, r, id, pids, size, min(measuredPages, size*4/5))
		if err != nil {
			return fmt.Errorf("%d URLs: %w", size, err)
		}
		if first == 0 {
			first = rate
		}
		fmt.Fprintf(w, "%d\t%.1f\t%.3f\t%.3f\t\n", size, rate, cpu.Seconds()*1000, rate/first)
		fmt.Fprintf(o.talk, "%d URLs: %.1f pages/s; grown and measured in %v\n", size, rate, time.Since(begin).Round(time.Second))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return r.Stop(ctx)
}

// measureSize waits until the site has size URLs. Then it measures the next pages. cpu is for one.
func measureSize(ctx context.Context, r *rig.Rig, id string, pids []int, size, most int) (rate float64, cpu time.Duration, err error) {
	// The last pages that brought new URLs may still be under way.
	grown, err := waitStatus(ctx, r, id, func(s rig.Status) bool { return s.CollectedURLs >= size*99/100 })
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	meter, err := startMeter(ctx, pids)
	if err != nil {
		return 0, 0, err
	}
	now, err := waitStatus(ctx, r, id, func(s rig.Status) bool { return s.Resources >= grown.Resources+most })
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(begin)
	pages := float64(now.Resources - grown.Resources)
	cpu, _, err = meter.stop()
	return pages / took.Seconds(), time.Duration(float64(cpu) / pages), err
}

// waitStatus asks for the status until it is as wanted. It fails if nothing changes for
// stallLimit.
func waitStatus(ctx context.Context, r *rig.Rig, id string, wanted func(rig.Status) bool) (rig.Status, error) {
	var last rig.Status
	changed := time.Now()
	for {
		status, err := siteStatus(ctx, r, id)
		if err != nil || wanted(status) {
			return status, err
		}
		if status != last {
			last, changed = status, time.Now()
		}
		if time.Since(changed) > stallLimit {
			return status, fmt.Errorf("no change for %v: %+v", stallLimit, status)
		}
		select {
		case <-ctx.Done():
			return status, ctx.Err()
		case <-r.Ended():
			return status, errors.New("dc-daemon has ended during the crawl")
		case <-time.After(longestPoll):
		}
	}
}

// growingSite has pages with new URLs until it has named limit of them. Then all links lead
// to URLs that it has named before.
type growingSite struct {
	mu           sync.Mutex
	limit, named int
}

// grow raises the limit.
func (g *growingSite) grow(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
}

// links are the numbers of the pages to which a page links.
func (g *growingSite) links(page int) []int {
	g.mu.Lock()
	defer g.mu.Unlock()
	var numbers []int
	for g.named < g.limit && len(numbers) < linksToGrow {
		numbers = append(numbers, g.named)
		g.named++
	}
	if len(numbers) >= linksOfPage {
		return numbers
	}
	near := max(page-nearPages/2, 0)
	for _, group := range []struct{ links, first, pages int }{{hubLinks, 0, hubs}, {nearLinks, near, nearPages}, {farLinks, 0, g.named}} {
		for range group.links {
			numbers = append(numbers, group.first+rand.IntN(min(group.pages, g.named-group.first)))
		}
	}
	return numbers
}

func (g *growingSite) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.URL.Path == "/robots.txt" {
		http.NotFound(w, request)
		return
	}
	var page strings.Builder
	fmt.Fprintf(&page, "<!DOCTYPE html><title>%s</title><p>%s</p>", request.URL.Path, strings.Repeat("Some words of a page. ", 100))
	number := 0 // of the root too
	_, _ = fmt.Sscanf(request.URL.Path, "/page/%d.html", &number)
	for _, n := range g.links(number) {
		fmt.Fprintf(&page, `<a href="/page/%d.html">page</a>`, n)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, page.String()) // an error says that the client has gone
}
