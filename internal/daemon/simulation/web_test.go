package simulation

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// text is the content of a page at a minute; "" means that it is missing.
type text struct {
	links []string // paths
	tag   string   // ETag; "" for none
	dated bool     // it has a Last-Modified date: minute stood
	stood int
}

// visit is one request to a web server.
type visit struct {
	minute     int
	site, path string
	code       int
}

// web serves the pages of all sites, each from its own host, with their content at the
// simulated time.
type web struct {
	clock *clock
	mu    sync.Mutex
	seen  []visit
}

// serve returns the root URL of a site.
func (w *web) serve(t testing.TB, site string, page func(path string, minute int) (text, bool)) string {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		now := minute(w.clock.now())
		code := answer(rw, r, page, now)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.seen = append(w.seen, visit{now, site, r.URL.Path, code})
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.Start()
	t.Cleanup(s.Close)
	return s.URL + "/"
}

func answer(w http.ResponseWriter, r *http.Request, page func(string, int) (text, bool), now int) int {
	p, ok := page(r.URL.Path, now)
	if !ok {
		http.NotFound(w, r)
		return http.StatusNotFound
	}
	if p.tag != "" {
		w.Header().Set("ETag", p.tag)
		if r.Header.Get("If-None-Match") == p.tag {
			w.WriteHeader(http.StatusNotModified)
			return http.StatusNotModified
		}
	}
	if p.dated {
		w.Header().Set("Last-Modified", at(p.stood).Format(http.TimeFormat))
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "<!DOCTYPE html><html lang=en><title>Page %s</title><h1>Page %s</h1><p>This is what stands at %s, version %s, and it is made for a test.</p>", r.URL.Path, r.URL.Path, r.URL.Path, p.tag)
	for _, link := range p.links {
		_, _ = io.WriteString(w, `<a href="`+link+`">a link</a>`)
	}
	return http.StatusOK
}

// visits returns the requests since the last call.
func (w *web) visits() []visit {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.seen
	w.seen = nil
	return list
}
