package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/testkit/rig"
)

// Shape of the measurements of the API.
const (
	apiClients   = 50
	scrapePause  = 500 * time.Millisecond // of each client
	smallRequest = 500                    // a second, while a site is crawled
	apiURLs      = 12_000                 // of the crawled site
	apiPages     = 8_000                  // of it that are measured
)

// apiPage is a plain page.
var apiPage = "<!doctype html><html lang=en><title>Tides</title><nav><a href=/>Home</a><a href=/news>News</a></nav><article><h1>Tides</h1>" +
	strings.Repeat("<p>The moon pulls the sea twice a day, and the sun helps a little. Where the coast is narrow, the water rises by many metres, and <a href=/power>mills</a> have used it for centuries.", 20) +
	"</article><footer><a href=/about>About</a></footer></html>"

// benchAPI measures scrapes for some seconds, and what small requests take from a crawl, in turn.
func benchAPI(ctx context.Context, o options, seconds int, d dc) error {
	facts := describeMachine(o.data)
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "scrapes\tp50\tp99\tslowest\tCPU ms/page\thce extract\tfetch\tratio\t\n")
	for range o.runs {
		s, err := o.measureScrapes(ctx, seconds, d)
		if err != nil {
			return err
		}
		at := func(share int) time.Duration {
			return s.took[(len(s.took)-1)*share/100].Round(10 * time.Microsecond)
		}
		fmt.Fprintf(w, "%d\t%v\t%v\t%v\t%.2f\t%.2f\t%.2f\t%.2f\t\n", len(s.took), at(50), at(99), at(100), s.cpu, s.extract, s.fetch, s.cpu/(s.extract+s.fetch))
	}
	fmt.Fprint(w, "\ncrawl, pages/s\twith requests\tratio\trequests/s\tp50\tp99\t\n")
	for range o.runs {
		alone, _, err := o.crawlWithRequests(ctx, d, 0)
		if err != nil {
			return err
		}
		together, load, err := o.crawlWithRequests(ctx, d, smallRequest)
		if err != nil {
			return err
		}
		slices.Sort(load.took)
		at := func(share int) time.Duration {
			return load.took[(len(load.took)-1)*share/100].Round(10 * time.Microsecond)
		}
		fmt.Fprintf(w, "%.1f\t%.1f\t%.3f\t%.0f\t%v\t%v\t\n", alone, together, together/alone, load.rate(), at(50), at(99))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(o.out, "\n%s\n", strings.Join(facts, "\n"))
	return err
}

// startAPI starts a daemon with the API and returns its address.
func (d dc) startAPI(ctx context.Context, dir string) (r *rig.Rig, url string, stop func(), err error) {
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		return nil, "", nil, err
	}
	defer release()
	d.env = []string{fmt.Sprint("DC_Api_ApiPort=", ports[0]), "DC_Api_AllowedNetworks=127.0.0.0/8", "DC_Api_RequestDelay=0", "DC_Api_MaxRequestsPerSecond=100000"}
	r, _, stop, err = d.startDaemon(ctx, dir)
	return r, fmt.Sprint("http://127.0.0.1:", ports[0]), stop, err
}

// scrapes is what a measurement of scrapes has found. Processor times are ms of a page.
type scrapes struct {
	took                []time.Duration // sorted
	cpu, extract, fetch float64
}

// measureScrapes scrapes a page with all clients, then extracts and fetches it as often.
func (o options) measureScrapes(ctx context.Context, seconds int, d dc) (s scrapes, err error) {
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, apiPage)
	}))
	defer web.Close()
	r, api, stop, err := d.startAPI(ctx, dir)
	if err != nil {
		return s, err
	}
	defer stop()
	body := fmt.Sprintf(`{"url":%q}`, web.URL+"/")
	scrape := func(int) *http.Request {
		q, _ := http.NewRequestWithContext(ctx, http.MethodPost, api+"/v1/scrape", strings.NewReader(body)) // the address is valid
		q.Header.Set("Content-Type", "application/json")
		return q
	}
	warm := load{clients: apiClients, pause: scrapePause, request: scrape}
	if err := warm.run(ctx, time.Second); err != nil { // starts the readers
		return s, err
	}
	m, err := startMeter(ctx, []int{r.PID()})
	if err != nil {
		return s, err
	}
	l := load{clients: apiClients, pause: scrapePause, request: scrape}
	if err := l.run(ctx, time.Duration(seconds)*time.Second); err != nil {
		return s, err
	}
	cpu, _, err := m.stop()
	if err != nil {
		return s, err
	}
	slices.Sort(l.took)
	n := len(l.took)
	s.took, s.cpu = l.took, cpu.Seconds()*1000/float64(n)
	s.extract, s.fetch, err = o.measureExtraction(ctx, dir, web.URL+"/", n)
	return s, err
}

// measureExtraction returns the processor time of hce extract and of a fetch, in ms of a page.
func (o options) measureExtraction(ctx context.Context, dir, url string, pages int) (extract, fetch float64, err error) {
	page, list := filepath.Join(dir, "page.html"), filepath.Join(dir, "files")
	if err := errors.Join(os.WriteFile(page, []byte(apiPage), 0o600), os.WriteFile(list, bytes.Repeat([]byte(page+"\n"), pages), 0o600)); err != nil {
		return 0, 0, err
	}
	hce, err := filepath.Abs(filepath.Join(o.bin, "hce"))
	if err != nil {
		return 0, 0, err
	}
	c, _, err := runCommand(ctx, dir, hce, "extract", "--files-from", list)
	if err != nil {
		return 0, 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	f, _, err := runCommand(ctx, dir, self, "fetch", "-url", url, "-pages", fmt.Sprint(pages))
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(pages) }
	return ms(c.cpu), ms(f.cpu), err
}

// fetchAlone is the main function of a process that fetches one page many times. It returns the exit status.
func fetchAlone(args []string) int {
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	url := flags.String("url", "", "fetch this `URL`")
	pages := flags.Int("pages", 1, "so `often`")
	_ = flags.Parse(args[1:]) // exits on an error
	for range *pages {
		answer, err := http.Get(*url)
		if err == nil {
			_, err = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "fetch: %v\n", err)
			return 1
		}
	}
	return 0
}

// crawlWithRequests crawls a site while clients send small requests, and returns its pages per second.
func (o options) crawlWithRequests(ctx context.Context, d dc, perSecond int) (float64, *load, error) {
	dir, err := os.MkdirTemp(o.data, "bench-")
	if err != nil {
		return 0, nil, err
	}
	defer os.RemoveAll(dir)
	r, api, stop, err := d.startAPI(ctx, dir)
	if err != nil {
		return 0, nil, err
	}
	defer stop()
	web := growingSite{limit: apiURLs}
	server := httptest.NewServer(&web)
	defer server.Close()
	id, err := d.newSite(ctx, r, server.URL+"/")
	if err != nil {
		return 0, nil, err
	}
	paths := []string{"/v1/whoami", "/v1/sites/" + id}
	l := &load{clients: 10, request: func(n int) *http.Request {
		q, _ := http.NewRequestWithContext(ctx, http.MethodGet, api+paths[n%len(paths)], nil) // the address is valid
		return q
	}}
	ended := make(chan error, 1)
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	if perSecond > 0 {
		l.pause = time.Duration(l.clients) * time.Second / time.Duration(perSecond)
		go func() { ended <- l.run(limited, time.Hour) }()
	} else {
		ended <- nil
	}
	begun, err := waitStatus(ctx, r, id, longestPoll, func(s rig.Status) bool { return s.Resources > apiPages/10 })
	if err != nil {
		return 0, nil, err
	}
	begin := time.Now()
	now, err := waitStatus(ctx, r, id, longestPoll, func(s rig.Status) bool { return s.Resources >= begun.Resources+apiPages })
	took := time.Since(begin)
	cancel()
	rate := float64(now.Resources-begun.Resources) / took.Seconds()
	fmt.Fprintf(o.talk, "%d requests a second: %.1f pages/s\n", perSecond, rate)
	return rate, l, errors.Join(err, <-ended)
}

// load is requests of a number of clients, each with a pause between the begins of two.
type load struct {
	clients int
	pause   time.Duration
	request func(n int) *http.Request

	mu   sync.Mutex
	took []time.Duration
	time time.Duration // of the whole
}

// rate is the requests per second.
func (l *load) rate() float64 { return float64(len(l.took)) / l.time.Seconds() }

// run sends requests until limit or the end of ctx. An answer that is no success is an error.
func (l *load) run(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: l.clients}}
	defer client.CloseIdleConnections()
	begin, errs := time.Now(), make(chan error, l.clients)
	for c := range l.clients {
		go func() {
			next := begin.Add(l.pause * time.Duration(c) / time.Duration(l.clients))
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					errs <- nil
					return
				case <-time.After(time.Until(next)):
				}
				if err := l.send(ctx, &client, n); err != nil {
					cancel()
					errs <- err
					return
				}
				next = next.Add(l.pause)
			}
		}()
	}
	var all []error
	for range l.clients {
		all = append(all, <-errs)
	}
	l.time = time.Since(begin)
	return errors.Join(all...)
}

// send sends one request and notes how long it took.
func (l *load) send(ctx context.Context, client *http.Client, n int) error {
	begin := time.Now()
	answer, err := client.Do(l.request(n).WithContext(ctx))
	if err == nil {
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %d", answer.Request.URL, answer.StatusCode)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(begin))
	return nil
}
