package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"hce/dc/bench/floor"
)

// runLimit bounds one crawl of one program.
const runLimit = 10 * time.Minute

// options are the flags.
type options struct {
	sites          []site
	programs       []string // prefixes of names; none: all
	runs           int
	bin, ini, data string
	document       string    // gets the tables of profile; "": none
	out, talk      io.Writer // the report; progress and what is left out
}

// result is one crawl of a site by a program, or the error of it.
type result struct {
	site, program string
	pages         int // by the log of the server
	requests      int
	seconds       float64
	cpu           time.Duration
	memory        int64
	contents      int64  // bytes of processed contents
	note          string // why the result is not like the others
	err           error
}

// pagesPerSecond is the number of pages per second, 0 after an error.
func (r result) pagesPerSecond() float64 {
	if r.err != nil || r.seconds <= 0 {
		return 0
	}
	return float64(r.pages) / r.seconds
}

// runBenchmarks runs all programs on all sites and prints the report. It fails if a crawl fails.
func runBenchmarks(ctx context.Context, o options) error {
	programs := o.choosePrograms()
	if len(programs) == 0 {
		return fmt.Errorf("no program is left of %v", o.programs)
	}
	facts := describeMachine(o.data)
	var results []result
	for _, s := range o.sites {
		all, err := o.runSite(ctx, s, programs)
		if err != nil {
			return fmt.Errorf("site %s: %w", s.name, err)
		}
		results = append(results, all...)
	}
	if err := printReport(o.out, results, facts); err != nil {
		return err
	}
	var failed []error
	for _, r := range results {
		if r.err != nil {
			failed = append(failed, fmt.Errorf("%s on %s: %w", r.program, r.site, r.err))
		}
	}
	return errors.Join(failed...)
}

// choosePrograms lists the programs that are asked for and installed. It names the missing ones.
func (o options) choosePrograms() []program {
	var chosen []program
	for _, p := range append(otherPrograms(), dcPrograms(o.bin, o.ini)...) {
		begins := func(prefix string) bool { return strings.HasPrefix(p.name, prefix) }
		if len(o.programs) > 0 && !slices.ContainsFunc(o.programs, begins) {
			continue
		}
		if len(p.needs) > 0 {
			if _, err := findProgram(p.needs...); err != nil {
				fmt.Fprintf(o.out, "left out: %s: %v\n", p.name, err)
				continue
			}
		}
		chosen = append(chosen, p)
	}
	return chosen
}

// runSite serves a site and runs the programs in turn, so that a change of the machine meets
// all of them. It returns the fastest run of each program.
func (o options) runSite(ctx context.Context, s site, programs []program) ([]result, error) {
	web, stop, err := o.serveSite(ctx, s)
	if err != nil {
		return nil, err
	}
	defer stop()
	return o.runAll(ctx, s, web, programs)
}

// serveSite serves a site until stop is called.
func (o options) serveSite(ctx context.Context, s site) (web server, stop func(), err error) {
	dir, err := os.MkdirTemp(o.data, "bench-nginx-")
	if err != nil {
		return web, nil, err
	}
	ctx, cancel := context.WithCancel(ctx) // ends nginx
	stop = func() {
		cancel()
		os.RemoveAll(dir)
	}
	if web, err = startNginx(ctx, s.folder, dir); err != nil {
		stop()
		return web, nil, err
	}
	return web, stop, nil
}

func (o options) runAll(ctx context.Context, s site, web server, programs []program) ([]result, error) {
	// This also brings the pages into memory.
	count, err := floor.Crawl(web.root, parallel)
	if err != nil {
		return nil, err
	}
	if count.Pages == 0 {
		return nil, errors.New("the floor has found no page")
	}
	t := target{root: web.root, pages: count.Pages}
	best := map[string]result{}
	for range o.runs {
		for _, p := range programs {
			if p.process && !s.process {
				continue
			}
			r := o.runOnce(ctx, t, web, p)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.site = s.name
			fmt.Fprintf(o.talk, "%-12s %-24s %8.2f s  %d pages\n", r.site, r.program, r.seconds, r.pages)
			if old, again := best[p.name]; !again || old.err == nil && (r.err != nil || r.seconds < old.seconds) {
				best[p.name] = r
			}
		}
	}
	var results []result
	for _, p := range programs {
		if r, ok := best[p.name]; ok {
			results = append(results, r)
		}
	}
	return results, nil
}

// runOnce runs a program on a new folder.
func (o options) runOnce(ctx context.Context, t target, web server, p program) (r result) {
	r.program = p.name
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return markFailed(r, err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.Abs(dir); err != nil {
		return markFailed(r, err)
	}
	syscall.Sync() // what the program before has written must not slow this one down
	offset, err := web.logSize()
	if err != nil {
		return markFailed(r, err)
	}
	c, err := p.crawl(ctx, t, dir)
	if err != nil {
		return markFailed(r, err)
	}
	traffic, err := web.trafficSince(offset)
	if err != nil {
		return markFailed(r, err)
	}
	if c.begin.IsZero() {
		c.begin = traffic.first
	}
	r.pages, r.requests = traffic.pages, traffic.requests
	r.contents = c.contents
	r.seconds, r.cpu, r.memory = c.end.Sub(c.begin).Seconds(), c.cpu, c.memory
	if r.pages == 0 {
		return markFailed(r, errors.New("it has requested no page"))
	}
	if r.pages != t.pages {
		r.note = fmt.Sprintf("%d pages; the floor has %d. ", r.pages, t.pages)
	}
	if c.stored != unknown && c.stored != r.pages {
		r.note += fmt.Sprintf("stored %d. ", c.stored)
	}
	return r
}

func markFailed(r result, err error) result {
	r.err = err
	return r
}
