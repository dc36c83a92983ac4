package rig

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// NodeHeader is the request header with which a node of a Cluster tells a Web its name.
const NodeHeader = "X-Dc-Node"

// Web is a synthetic web of several hosts on loopback addresses. Its links are the same for each
// crawl, and lead from the start page of its first host to all pages of all hosts. It records what
// each host was asked, and judges it with Faults.
type Web struct {
	Hosts, Pages int           // hosts, and pages of each
	Delay        time.Duration // least time from the end of an answer to the next request of a host
	Cookies      atomic.Bool   // each host sets a cookie with its first page

	port    int
	hosts   []*webHost
	servers []*http.Server
}

// webHost is one host and its record.
type webHost struct {
	web    *Web
	number int

	mu       sync.Mutex
	counts   []int // requests by page
	nodes    map[string]int
	answered time.Time     // end of the last answer
	gap      time.Duration // the smallest one; 0 before the second request
	active   int           // requests that have no answer yet
	overlaps int
	known    bool // the cookie was set
	bare     int  // requests for pages without the cookie after that
	first    time.Time
	last     time.Time
	longest  time.Duration // the longest time without a request
	until    time.Time     // the end of that
}

// firstWebHost is the second byte of the first host's address, 127.40.0.1. Each test process has
// its own port, so that several webs share the addresses.
const firstWebHost = 40

// StartWeb starts the servers of a web. Its Close stops them.
func StartWeb(hosts, pages int, delay time.Duration) (*Web, error) {
	w := &Web{Hosts: hosts, Pages: pages, Delay: delay}
	for i := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(w.hostAddress(i), strconv.Itoa(w.port)))
		if err != nil {
			w.Close()
			return nil, fmt.Errorf("start host %d of the web: %w", i, err)
		}
		if i == 0 {
			w.port = l.Addr().(*net.TCPAddr).Port
		}
		h := &webHost{web: w, number: i, counts: make([]int, pages), nodes: map[string]int{}}
		server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
		w.hosts, w.servers = append(w.hosts, h), append(w.servers, server)
		go server.Serve(l)
	}
	return w, nil
}

// Close stops the servers.
func (w *Web) Close() {
	for _, s := range w.servers {
		s.Close()
	}
}

func (w *Web) hostAddress(host int) string {
	return fmt.Sprintf("127.%d.%d.%d", firstWebHost, host/250, host%250+1)
}

// Root is the URL of the start page, from which all pages are reached.
func (w *Web) Root() string { return w.pageURL(0, 0) }

// Filter is a pattern of the URLs of all hosts.
func (w *Web) Filter() string {
	return fmt.Sprintf(`^http://127\.%d\.\d+\.\d+:%d/`, firstWebHost, w.port)
}

func (w *Web) pageURL(host, page int) string {
	base := fmt.Sprintf("http://%s:%d/", w.hostAddress(host), w.port)
	if page == 0 {
		return base
	}
	return base + fmt.Sprintf("page/%d.html", page)
}

// Links of a page, besides those to its children.
const (
	webNear = 10 // to pages of the same host
	webFar  = 4  // to other hosts: three to start pages, one to any page
)

// pageLinks returns the links of a page. The pages of a host form a tree of two children each, and so
// do the start pages of the hosts.
func (w *Web) pageLinks(host, page int) []string {
	var urls []string
	for _, child := range []int{2*page + 1, 2*page + 2} {
		if child < w.Pages {
			urls = append(urls, w.pageURL(host, child))
		}
		if page == 0 && 2*host+child < w.Hosts {
			urls = append(urls, w.pageURL(2*host+child, 0))
		}
	}
	seed := uint32(host*w.Pages + page)
	draw := func(n int) int {
		seed = seed*1664525 + 1013904223
		return int(seed>>8) % n
	}
	for range webNear {
		urls = append(urls, w.pageURL(host, draw(w.Pages)))
	}
	for range webFar - 1 {
		urls = append(urls, w.pageURL(draw(w.Hosts), 0))
	}
	return append(urls, w.pageURL(draw(w.Hosts), draw(w.Pages)))
}

func (h *webHost) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	page := 0
	switch path := r.URL.Path; {
	case path == "/":
	case path == "/robots.txt":
		page = -1
	default:
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, "/page/"), ".html"))
		if err != nil || n < 1 || n >= h.web.Pages {
			http.NotFound(rw, r)
			return
		}
		page = n
	}
	h.beginRequest(page, r.Header.Get(NodeHeader))
	defer h.endRequest()
	if page >= 0 && h.web.Cookies.Load() {
		if _, err := r.Cookie(webCookie); err != nil && h.isStranger() {
			rw.Header().Set("Set-Cookie", webCookie+"=1; Path=/; Max-Age=86400")
		}
	}
	if page < 0 {
		http.NotFound(rw, r)
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html><title>Page %d</title><p>%s</p>", page, strings.Repeat("Some words of a page. ", 50))
	for _, url := range h.web.pageLinks(h.number, page) {
		fmt.Fprintf(&b, `<a href="%s">page</a>`, url)
	}
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = io.WriteString(rw, b.String()) // an error says that the client has gone
}

func (h *webHost) beginRequest(page int, node string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	if page >= 0 {
		h.counts[page]++
	}
	h.nodes[node]++
	if h.active > 0 {
		h.overlaps++
	} else if !h.answered.IsZero() {
		gap := now.Sub(h.answered)
		if h.gap == 0 || gap < h.gap {
			h.gap = gap
		}
		if gap > h.longest {
			h.longest, h.until = gap, now
		}
	}
	if h.first.IsZero() {
		h.first = now
	}
	h.last = now
	h.active++
}

const webCookie = "known"

// isStranger is called for a request without the cookie. It reports whether that was never set.
func (h *webHost) isStranger() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.known {
		h.bare++
		return false
	}
	h.known = true
	return true
}

func (h *webHost) endRequest() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active--
	h.answered = time.Now()
}

// Record is what the hosts of a web were asked.
type Record struct {
	Requests int           // of pages
	Missing  int           // pages that were never asked for
	Doubles  int           // requests for pages that were asked for before
	Gap      time.Duration // the smallest one of all hosts
	Overlaps int           // requests that began before the end of another one of the host
	Bare     int           // requests for pages without the cookie that was set before (Web.Cookies)
	Longest  time.Duration // the longest time without a request to a host, between two requests
	Paused   string        // the host of Longest, and the end of that time
	Shared   []string      // hosts that several nodes asked
	Nodes    map[string]int
}

// Record returns what the hosts were asked so far.
func (w *Web) Record() Record {
	r := Record{Nodes: map[string]int{}}
	for i, h := range w.hosts {
		h.mu.Lock()
		for _, n := range h.counts {
			r.Requests += n
			if n == 0 {
				r.Missing++
			}
			r.Doubles += max(0, n-1)
		}
		if r.Gap == 0 || h.gap > 0 && h.gap < r.Gap {
			r.Gap = h.gap
		}
		r.Overlaps += h.overlaps
		r.Bare += h.bare
		if h.longest > r.Longest {
			r.Longest, r.Paused = h.longest, w.hostAddress(i)+" until "+h.until.UTC().Format("15:04:05.000")
		}
		for node, n := range h.nodes {
			r.Nodes[node] += n
		}
		if len(h.nodes) > 1 {
			r.Shared = append(r.Shared, w.hostAddress(i))
		}
		h.mu.Unlock()
	}
	return r
}

// Faults lists what a crawl without faults must not show: pages that are missing or were fetched
// twice, a host that two nodes asked, and a request that came too early.
func (w *Web) Faults() []string {
	r := w.Record()
	var faults []string
	add := func(is bool, format string, args ...any) {
		if is {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	add(r.Missing > 0, "%d of %d pages were not requested", r.Missing, w.Hosts*w.Pages)
	add(r.Doubles > 0, "%d requests for pages that were requested before", r.Doubles)
	add(len(r.Shared) > 0, "%d hosts were asked by several nodes: %.200s", len(r.Shared), strings.Join(r.Shared, " "))
	add(r.Overlaps > 0, "%d requests came before the end of another one to the same host", r.Overlaps)
	add(r.Gap > 0 && r.Gap < w.Delay, "a request came %v after an answer, at least %v is allowed", r.Gap, w.Delay)
	return faults
}
