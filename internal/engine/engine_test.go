package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// newSite serves a root page with links to n pages, one of which is missing and one of which asks to come later once.
func newSite(t *testing.T, n int) (url string, requests func() map[string]int) {
	var mu sync.Mutex
	count := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		count[r.URL.Path]++
		times := count[r.URL.Path]
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/":
			fmt.Fprint(w, "<title>Root</title><h1>Root</h1>")
			for i := range n {
				fmt.Fprintf(w, "<p><a href=/p%d>page %d</a></p>", i, i)
			}
		case r.URL.Path == "/p1":
			http.Error(w, "gone away", http.StatusNotFound)
		case r.URL.Path == "/p2" && times == 1:
			w.Header().Set("Retry-After", "1")
			http.Error(w, "later", http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, "<title>Page %s</title><h1>Page %[1]s</h1><p>The text of page %[1]s says enough about the tides and the moon.</p>", r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/", func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return count
	}
}

const siteID = "0123456789abcdef0123456789abcdef"

// openFolder opens a folder with a site; a folder that has it keeps it.
func openFolder(t *testing.T, dir, root string) (*Engine, wire.Site) {
	t.Helper()
	e, err := Open(t.Context(), dir, Options{AllowNetworks: "127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	var site wire.Site
	if err := e.Ask(t.Context(), wire.SiteStatus, map[string]any{"id": siteID, "deleteTaskId": nil}, &site); err != nil {
		t.Fatal(err)
	}
	if site.State == wire.SiteNotFound {
		object := map[string]any{"id": siteID, "urls": []string{root}, "requestDelay": 0, "processingDelay": 0}
		if err := e.Ask(t.Context(), wire.SiteNew, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e, wire.Site{ID: siteID, URLs: []wire.SiteURL{{URL: wire.URL{URL: root}}}}
}

// Each URL of a site is delivered once, with its processed content, after its retries; a failed one with its code.
func TestCrawl(t *testing.T) {
	root, requests := newSite(t, 40)
	e, site := openFolder(t, t.TempDir(), root)
	titles, codes := map[string]string{}, map[string]int64{}
	err := e.Crawl(t.Context(), site, func(p *pages.Page) error {
		path := strings.TrimPrefix(p.URL.URL, root)
		if _, twice := codes[path]; twice {
			t.Errorf("%s is delivered twice", path)
		}
		titles[path], codes[path] = p.Text("title"), p.HTTPCode
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(codes) != 41 || titles[""] != "Root" || titles["p7"] != "Page /p7" || codes["p1"] != 404 || titles["p2"] != "Page /p2" {
		t.Errorf("%d URLs: %v %v", len(codes), titles, codes)
	}
	for path, n := range requests() {
		if want := map[string]int{"/p2": 2}[path]; n != max(want, 1) {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	// A second crawl finds nothing to do.
	if err := e.Crawl(t.Context(), site, func(p *pages.Page) error { return errors.New("again " + p.URL.URL) }); err != nil {
		t.Error(err)
	}
}

// A caller that stops, and one whose context ends, lose nothing: the next crawl delivers the others.
func TestCrawlStops(t *testing.T) {
	const n = 2000 // more than wait for the caller
	root, requests := newSite(t, n)
	dir := t.TempDir()
	known := map[string]bool{}
	stopped := errors.New("stopped")
	for round, end := range []error{stopped, context.Canceled, nil} {
		func() {
			e, site := openFolder(t, dir, root)
			defer e.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			delivered := 0
			err := e.Crawl(ctx, site, func(p *pages.Page) error {
				known[p.URL.URL] = true
				if delivered++; delivered < 10 || end == nil {
					return nil
				}
				if end == context.Canceled {
					cancel()
					return nil
				}
				return end
			})
			if !errors.Is(err, end) {
				t.Fatalf("round %d: %v", round, err)
			}
		}()
	}
	for path, n := range requests() {
		if n > 1 && path != "/p2" && path != "/robots.txt" {
			t.Errorf("%s was requested %d times", path, n)
		}
	}
	e, _ := openFolder(t, dir, root)
	stored := 0
	reader := pages.Reader{Service: e, Site: siteID, Where: wire.FinishedRow}
	if err := reader.Read(t.Context(), "", func(*pages.Page) error { stored++; return nil }, nil); err != nil || stored != n+1 {
		t.Errorf("%d URLs are stored (%v), %d were delivered", stored, err, len(known))
	}
}

// A folder belongs to one engine, and a site to one call.
func TestOneEngine(t *testing.T) {
	root, _ := newSite(t, 3)
	dir := t.TempDir()
	e, site := openFolder(t, dir, root)
	if _, err := Open(t.Context(), dir, Options{}); err == nil {
		t.Error("a folder was opened twice")
	}
	err := e.Crawl(t.Context(), site, func(*pages.Page) error {
		if err := e.Crawl(t.Context(), site, nil); !errors.Is(err, ErrBusy) {
			t.Errorf("a second crawl of the site: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
