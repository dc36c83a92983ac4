package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"hce/dc/internal/testkit/rig"
)

// Shape of the sites of measureSlowHosts.
const (
	slowAnswer = 20 * time.Second // of each page of a slow host
	fastURLs   = 50_000           // of the fast host
	fastPages  = 40_000           // of it that are measured
)

// measureSlowHosts crawls a fast host alone, then together with a number of sites with a slow host each, and
// prints how much slower the fast one is. The daemon of the second crawl gets the slow sites
// first and has requests under way to them when the fast one begins.
func measureSlowHosts(ctx context.Context, o options, sites int, d dc) error {
	facts := describeMachine(o.data)
	alone, err := o.fastWith(ctx, d, 0)
	if err != nil {
		return err
	}
	together, err := o.fastWith(ctx, d, sites)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "slow sites\tpages/s of the fast one\tratio\t\n")
	fmt.Fprintf(w, "0\t%.1f\t1.000\t\n%d\t%.1f\t%.3f\t\n", alone, sites, together, together/alone)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// fastWith crawls the fast host together with slow sites and returns its pages per second.
func (o options) fastWith(ctx context.Context, d dc, sites int) (float64, error) {
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	r, pids, stop, err := d.startDaemon(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer stop()
	asked := make(chan string, sites)
	for i := range sites {
		server, err := slowHost(i, asked)
		if err != nil {
			return 0, err
		}
		defer server.Close()
		defer server.CloseClientConnections()
		if _, err := d.newSite(ctx, r, server.URL+"/"); err != nil {
			return 0, err
		}
		if i%100 == 99 {
			fmt.Fprintf(o.talk, "%d slow sites\n", i+1)
		}
	}
	if sites > 0 {
		select {
		case <-asked:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(stallLimit):
			return 0, fmt.Errorf("no slow host was asked for a page within %v", stallLimit)
		}
	}
	web := growingSite{limit: fastURLs}
	server := httptest.NewServer(&web)
	defer server.Close()
	id, err := d.newSite(ctx, r, server.URL+"/")
	if err != nil {
		return 0, err
	}
	begun, err := waitStatus(ctx, r, id, longestPoll, func(s rig.Status) bool { return s.Resources > fastPages/10 })
	if err != nil {
		return 0, err
	}
	meter, err := startMeter(ctx, pids)
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	now, err := waitStatus(ctx, r, id, longestPoll, func(s rig.Status) bool { return s.Resources >= begun.Resources+fastPages })
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	cpu, _, err := meter.stop()
	pages := float64(now.Resources - begun.Resources)
	fmt.Fprintf(o.talk, "%d slow sites: %.1f pages/s, %.3f ms of processor time for a page\n", sites, pages/took.Seconds(), cpu.Seconds()*1000/pages)
	return pages / took.Seconds(), err
}

// slowHost serves endless pages, each after slowAnswer, at a loopback address of its own.
func slowHost(number int, asked chan<- string) (*httptest.Server, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:0", number/250, number%250+1))
	if err != nil {
		return nil, err
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path == "/robots.txt" {
			http.NotFound(w, request)
			return
		}
		select {
		case asked <- request.Host:
		default:
		}
		select {
		case <-time.After(slowAnswer):
		case <-request.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		for n := range linksOfPage {
			fmt.Fprintf(w, `<a href="/%d%s">page</a>`, n, request.URL.Path)
		}
	}))
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	return server, nil
}
