package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hce/dc/internal/cli/client"
	"hce/dc/internal/testkit/rig"
	"hce/dc/internal/wire"
)

// firstPause is the time between two sites: the daemon has nothing to do then.
const firstPause = 500 * time.Millisecond

// firstRequests makes sites one after the other in a daemon that is warm, and prints how long each
// took from the begin of SITE_NEW to its first request at the server.
func firstRequests(ctx context.Context, o options, sites int, d dc) error {
	facts := describeMachine(o.data)
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, _, stop, err := d.startDaemon(ctx, dir)
	if err != nil {
		return err
	}
	defer stop()
	var took []time.Duration
	for i := range sites + 1 {
		one, err := firstRequest(ctx, r)
		if err != nil {
			return fmt.Errorf("site %d: %w", i, err)
		}
		if i > 0 { // the first one starts the programs
			took = append(took, one)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(firstPause):
		}
	}
	slices.Sort(took)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "sites\tfastest\tmedian\t90 %\tslowest\t\n")
	at := func(share int) time.Duration { return took[(len(took)-1)*share/100].Round(10 * time.Microsecond) }
	fmt.Fprintf(w, "%d\t%v\t%v\t%v\t%v\t\n", len(took), at(0), at(50), at(90), at(100))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// firstRequest makes one site and waits for its first request.
func firstRequest(ctx context.Context, r *rig.Rig) (time.Duration, error) {
	asked := make(chan time.Time, 1)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { asked <- time.Now() })
		fmt.Fprint(w, "User-agent: *\nDisallow: /\n") // robots.txt ends the crawl
	}))
	defer server.Close()
	service := client.Server{Host: "127.0.0.1", Port: r.ClientPort(), Timeout: askLimit}
	root := server.URL + "/"
	site := map[string]any{"urls": []string{root}, "filters": []any{map[string]any{"pattern": ".", "type": 1}}, "state": 1}
	begin := time.Now()
	if err := service.Ask(ctx, wire.SiteNew, site, nil); err != nil {
		return 0, err
	}
	select {
	case at := <-asked:
		return at.Sub(begin), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(stallLimit):
		return 0, fmt.Errorf("no request to %s within %v", root, stallLimit)
	}
}
