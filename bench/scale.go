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

	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// Shape of the synthetic web.
const (
	linksToGrow  = 200 // of a page that brings new URLs
	smallestSize = 10_000
	// So many sites of the smallest size are measured, half of them at the end: one takes two seconds,
	// and a machine is not as fast in one minute as in the next.
	smallestSites = 20
	// A page of a large site links to the start pages of the site and of its section, to its
	// neighbours, and to some pages anywhere.
	hubLinks, hubs       = 25, 200
	nearLinks, nearPages = 20, 1000
	farLinks             = 5
	linksOfPage          = hubLinks + nearLinks + farLinks
	// At each size at most this many pages are measured: longer than the minute for which a
	// crawler-task keeps what it adds to the Freq of links.
	measuredPages = 300_000
	// crawler-task stores what it has kept 5 seconds after its last page, in about 5 more.
	flushTime = 20 * time.Second
)

// measureScaling crawls sites of the smallest size, the first half of them before and the others after one that
// grows to a number of known URLs, and prints the cost of a page at each power of ten. At each size the
// links of the measured pages are known already.
func measureScaling(ctx context.Context, o options, most int, d dc) error {
	facts := describeMachine(o.data)
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, pids, stop, err := d.startDaemon(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	begin := time.Now()
	talk := func(size int, m measured) {
		fmt.Fprintf(o.talk, "%d URLs: %.1f pages/s; grown and measured in %v\n", size, m.pagesPerSecond(), time.Since(begin).Round(time.Second))
		begin = time.Now()
	}
	small, err := smallSites(ctx, r, d, smallestSites/2, pids)
	if err != nil {
		return err
	}
	talk(smallestSize, small)
	site, err := startSite(ctx, r, d)
	if err != nil {
		return err
	}
	defer site.Close()
	sizes := []int{smallestSize}
	bySize := map[int]measured{}
	for size := 10 * smallestSize; size <= most; size *= 10 {
		m, err := site.measurePages(ctx, size, pids)
		if err != nil {
			return err
		}
		talk(size, m)
		sizes, bySize[size] = append(sizes, size), m
	}
	if err := site.disableSite(ctx); err != nil {
		return err
	}
	last, err := smallSites(ctx, r, d, smallestSites-smallestSites/2, pids)
	if err != nil {
		return err
	}
	talk(smallestSize, last)
	bySize[smallestSize] = small.plus(last)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "known URLs\tpages/s\tCPU ms/page\tratio of pages/s\t\n")
	for _, size := range sizes {
		m := bySize[size]
		fmt.Fprintf(w, "%d\t%.1f\t%.3f\t%.3f\t\n", size, m.pagesPerSecond(), m.cpu.Seconds()*1000/m.pages, m.pagesPerSecond()/bySize[smallestSize].pagesPerSecond())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return r.Stop(ctx)
}

// smallSites measures a number of sites of the smallest size, one after the other.
func smallSites(ctx context.Context, r *rig.Rig, d dc, number int, pids []int) (all measured, err error) {
	for range number {
		site, err := startSite(ctx, r, d)
		if err != nil {
			return all, err
		}
		defer site.Close()
		m, err := site.measurePages(ctx, smallestSize, pids)
		if err == nil {
			err = site.awaitFinish(ctx)
		}
		if err != nil {
			return all, err
		}
		all = all.plus(m)
	}
	return all, nil
}

// measured is what a number of pages took.
type measured struct {
	pages     float64
	took, cpu time.Duration
}

func (m measured) pagesPerSecond() float64 { return m.pages / m.took.Seconds() }

func (m measured) plus(n measured) measured {
	return measured{m.pages + n.pages, m.took + n.took, m.cpu + n.cpu}
}

// startSite serves a new site and lets the daemon crawl it.
func startSite(ctx context.Context, r *rig.Rig, d dc) (g *growingSite, err error) {
	g = &growingSite{rig: r}
	g.Server = httptest.NewServer(g)
	g.raiseLimit(smallestSize)
	if g.id, err = d.newSite(ctx, r, g.URL+"/"); err != nil {
		g.Close()
	}
	return g, err
}

// measurePages waits until the site has size URLs. Then it measures the next pages.
func (g *growingSite) measurePages(ctx context.Context, size int, pids []int) (m measured, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%d URLs: %w", size, err)
		}
	}()
	g.raiseLimit(size)
	// The last pages that brought new URLs may still be under way.
	grown, err := waitStatus(ctx, g.rig, g.id, longestPoll, func(s rig.Status) bool { return s.CollectedURLs >= size*99/100 })
	if err != nil {
		return m, err
	}
	begin := time.Now()
	meter, err := startMeter(ctx, pids)
	if err != nil {
		return m, err
	}
	most := min(measuredPages, size*4/5)
	now, err := waitStatus(ctx, g.rig, g.id, longestPoll, func(s rig.Status) bool { return s.Resources >= grown.Resources+most })
	if err != nil {
		return m, err
	}
	m = measured{pages: float64(now.Resources - grown.Resources), took: time.Since(begin)}
	m.cpu, _, err = meter.stop()
	return m, err
}

// awaitFinish waits until all pages are crawled.
func (g *growingSite) awaitFinish(ctx context.Context) error {
	_, err := waitStatus(ctx, g.rig, g.id, longestPoll, func(s rig.Status) bool { return s.NewURLs == 0 && s.Resources >= s.CollectedURLs })
	return err
}

// disableSite ends the crawl of the site, and waits until crawler-task has stored all additions to Freq.
func (g *growingSite) disableSite(ctx context.Context) error {
	if err := g.rig.Ask(ctx, "SITE_UPDATE", map[string]any{"id": g.id, "state": wire.SiteDisabled}, nil); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(flushTime):
		return nil
	}
}

// waitStatus asks for the status until it is as wanted; see awaitStatus.
func waitStatus(ctx context.Context, r *rig.Rig, id string, pause time.Duration, wanted func(rig.Status) bool) (rig.Status, error) {
	return awaitStatus(ctx, r, pause, func() (rig.Status, error) { return siteStatus(ctx, r, id) }, wanted)
}

// awaitStatus reads a status until it is as wanted, with a pause in between. It fails if nothing changes for
// stallLimit.
func awaitStatus[T comparable](ctx context.Context, r *rig.Rig, pause time.Duration, read func() (T, error), wanted func(T) bool) (T, error) {
	var last T
	changed := time.Now()
	for {
		status, err := read()
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
		case <-time.After(pause):
		}
	}
}

// growingSite has pages with new URLs until it has named limit of them. Then all links lead
// to URLs that it has named before.
type growingSite struct {
	*httptest.Server
	rig *rig.Rig
	id  string

	mu           sync.Mutex
	limit, named int
}

// raiseLimit raises the limit.
func (g *growingSite) raiseLimit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
}

// pageLinks are the numbers of the pages to which a page links.
func (g *growingSite) pageLinks(page int) []int {
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
	for _, n := range g.pageLinks(number) {
		fmt.Fprintf(&page, `<a href="/page/%d.html">page</a>`, n)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(w, page.String()) // an error says that the client has gone
}
