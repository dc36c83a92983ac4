package dc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc"
	"hce/dc/internal/cli/clitest"
)

// TestMain lets the test program be a child that crawls until it is killed.
func TestMain(m *testing.M) { clitest.Main(m, crawlAsChild) }

// Environment of the child.
const (
	folderVariable = "DC_TEST_FOLDER"
	siteVariable   = "DC_TEST_SITE"
)

func crawlAsChild() {
	engine, err := dc.Open(os.Getenv(folderVariable), dc.Options{AllowNetworks: []string{"127.0.0.0/8"}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, err := range engine.Crawl(context.Background(), dc.Site{ID: "tides", URLs: []string{os.Getenv(siteVariable)}, Delay: -1}) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	engine.Close()
}

// numbered serves a root page with links to n pages, and counts the requests.
type numbered struct {
	*httptest.Server
	mu    sync.Mutex
	count map[string]int
	agent string
	// reached are closed after as many requests as newNumbered was told.
	reached []chan struct{}
}

func newNumbered(t *testing.T, n int, marks ...int) *numbered {
	s := &numbered{count: map[string]int{}}
	for range marks {
		s.reached = append(s.reached, make(chan struct{}))
	}
	requests := 0
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.count[r.URL.Path]++
		s.agent = r.UserAgent()
		if requests++; slices.Contains(marks, requests) {
			close(s.reached[slices.Index(marks, requests)])
		}
		s.mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
		case "/":
			fmt.Fprint(w, "<title>Root</title><p>All numbers.<a href=/private>private</a>")
			for i := range n {
				fmt.Fprintf(w, "<a href=/n/%d>%d</a> ", i, i)
			}
		default:
			fmt.Fprintf(w, "<title>Number %s</title><p>This page is about the number %[1]s and nothing else.", r.URL.Path[3:])
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// requests returns the number of requests for pages, and the pages that were requested more than once.
func (s *numbered) requests() (sum int, twice []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, n := range s.count {
		if path == "/robots.txt" || path == "/sitemap.xml" {
			continue // each crawl reads it
		}
		sum += n
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s %d", path, n))
		}
	}
	return sum, twice
}

func open(t *testing.T, folder string) *dc.Engine {
	t.Helper()
	engine, err := dc.Open(folder, dc.Options{AllowNetworks: []string{"127.0.0.0/8"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

// A killed program loses nothing that was stored, and its successor requests again at most what was under way.
func TestKills(t *testing.T) {
	const n, kills = 3000, 5
	web, folder := newNumbered(t, n, 300, 600, 900, 1200, 1500), t.TempDir()
	for k := range kills {
		c := clitest.Command(t, "")
		c.Env = append(c.Env, folderVariable+"="+folder, siteVariable+"="+web.URL+"/")
		var talk bytes.Buffer
		c.Stderr = &talk
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-web.reached[k]:
		case <-time.After(time.Minute):
			t.Error("the child is too slow")
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if talk.Len() > 0 {
			t.Fatal(talk.String())
		}
	}
	engine := open(t, folder)
	for _, err := range engine.Crawl(t.Context(), dc.Site{ID: "tides", URLs: []string{web.URL + "/"}, Delay: -1}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	stored := map[string]bool{}
	for page, err := range engine.Pages(t.Context(), "tides") {
		switch {
		case err != nil:
			t.Fatal(err)
		case stored[page.URL]:
			t.Errorf("%s is stored twice", page.URL)
		case page.Title == "" || page.Text == "" || len(page.Body) == 0 || page.Header.Get("Content-Type") != "text/html":
			t.Errorf("%s is not whole: %+v", page.URL, page)
		}
		stored[page.URL] = true
	}
	sum, twice := web.requests()
	if len(stored) != n+1 {
		t.Errorf("%d of %d pages are stored", len(stored), n+1)
	}
	// A kill loses the answers of one chunk and the requests that run: 64 results, 64 hosts, one host here.
	if len(twice) > kills*2*64 {
		t.Errorf("%d requests, %d URLs more than once", sum, len(twice))
	}
	if web.count["/private"] > 0 {
		t.Error("robots.txt was not obeyed")
	}
}

// A break, a cancelled context and a second caller.
func TestCrawlEnds(t *testing.T) {
	web := newNumbered(t, 50)
	engine := open(t, t.TempDir())
	site := dc.Site{URLs: []string{web.URL + "/"}, Delay: -1, UserAgent: "numbers/1.0 (+https://site.example/bot)", MaxPages: 30}
	for page, err := range engine.Crawl(t.Context(), site) {
		if err != nil || page.Site == "" {
			t.Fatal(page, err)
		}
		for _, err := range engine.Crawl(t.Context(), site) {
			if !errors.Is(err, dc.ErrBusy) {
				t.Errorf("a second crawl: %v", err)
			}
		}
		break
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var last error
	for _, err := range engine.Crawl(ctx, site) {
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("a cancelled crawl: %v", last)
	}
	for _, err := range engine.Crawl(t.Context(), site) {
		if err != nil {
			t.Error(err)
		}
	}
	if web.agent != site.UserAgent {
		t.Errorf("agent %q", web.agent)
	}
	if sum, twice := web.requests(); len(twice) > 0 || sum != 30 {
		t.Errorf("%d requests, twice: %v", sum, twice)
	}
	other := site
	other.MaxPages = 31
	for _, err := range engine.Crawl(t.Context(), other) {
		if !errors.Is(err, dc.ErrSettings) || !strings.Contains(err.Error(), "max-pages is 30, not 31") {
			t.Errorf("other settings: %v", err)
		}
	}
}

// Mistakes are errors that say what is wrong.
func TestMistakes(t *testing.T) {
	engine := open(t, t.TempDir())
	for name, c := range map[string]struct {
		site dc.Site
		want string
	}{
		"no URL":      {dc.Site{}, "no URL"},
		"no scheme":   {dc.Site{URLs: []string{"example.org"}}, "has no scheme"},
		"scope":       {dc.Site{URLs: []string{"https://example.org/"}, Scope: "all"}, "Scope"},
		"no end":      {dc.Site{URLs: []string{"https://example.org/"}, Scope: dc.Any}, "no end"},
		"depth":       {dc.Site{URLs: []string{"https://example.org/"}, MaxDepth: -1}, "MaxDepth is -1"},
		"pages":       {dc.Site{URLs: []string{"https://example.org/"}, MaxPages: -1}, "MaxPages is -1"},
		"pattern":     {dc.Site{URLs: []string{"https://example.org/"}, Exclude: []string{"re:("}}, "re:("},
		"id":          {dc.Site{URLs: []string{"https://example.org/"}, ID: "a b"}, "1 to 32 letters"},
		"property":    {dc.Site{URLs: []string{"https://example.org/"}, Properties: map[string]string{"ROBOTS": "0"}}, "ROBOTS"},
		"value":       {dc.Site{URLs: []string{"https://example.org/"}, Properties: map[string]string{"HTTP_REDIRECTS_MAX": "many"}}, "HTTP_REDIRECTS_MAX"},
		"proxy":       {dc.Site{URLs: []string{"https://example.org/"}, Proxy: "proxy.example"}, "Proxy"},
		"two headers": {dc.Site{URLs: []string{"https://example.org/"}, UserAgent: "a", Properties: map[string]string{"HTTP_HEADERS": "A: b"}}, "both set"},
	} {
		t.Run(name, func(t *testing.T) {
			var last error
			for _, err := range engine.Crawl(t.Context(), c.site) {
				last = err
			}
			if last == nil || !strings.Contains(last.Error(), c.want) {
				t.Errorf("%v, want %q", last, c.want)
			}
		})
	}
	for _, err := range engine.Pages(t.Context(), "nosuch") {
		if !errors.Is(err, dc.ErrUnknown) {
			t.Error(err)
		}
	}
	if _, err := engine.Export(t.Context(), "nosuch", filepath.Join(t.TempDir(), "a.jsonl")); !errors.Is(err, dc.ErrUnknown) {
		t.Error(err)
	}
	if _, err := dc.Open(t.TempDir(), dc.Options{AllowNetworks: []string{"localhost"}}); err == nil || !strings.Contains(err.Error(), "AllowNetworks") {
		t.Error(err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := dc.Open(full, dc.Options{}); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Error(err)
	}
}

// A folder belongs to one process, and a private address is not reached without permission.
func TestFolderAndGuard(t *testing.T) {
	web, folder := newNumbered(t, 1), t.TempDir()
	engine, err := dc.Open(folder, dc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	if _, err := dc.Open(folder, dc.Options{}); !errors.Is(err, dc.ErrLocked) {
		t.Errorf("a second engine: %v", err)
	}
	for page, err := range engine.Crawl(t.Context(), dc.Site{URLs: []string{web.URL + "/"}, Delay: -1}) {
		if err == nil && page.Problem == "" {
			t.Errorf("%+v", page)
		}
	}
	if sum, _ := web.requests(); sum > 0 {
		t.Errorf("%d requests to a private address", sum)
	}
}
