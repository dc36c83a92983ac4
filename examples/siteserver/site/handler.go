// Package site is the example site as an http.Handler: forty ordinary pages,
// and beside them every kind of trouble that a crawler meets on the web.
//
// The ordinary pages are the files of examples/site. The trouble is made here:
// redirects (redirects.go), answers that fail (faults.go), pages that are
// written on demand (generated.go). Troubles lists them with what a crawler
// has to make of each, Forbidden lists what it must never ask for. The same
// package also serves any folder as it is (folder.go) and keeps a log of
// requests that tells whether the crawler was polite (requestlog.go).
//
//	server := httptest.NewServer(site.Handler(site.Options{}))
//	defer server.Close()
//	// crawl server.URL + "/"
package site

import (
	"io"
	"net/http"
	"time"
)

// Options says what is served and how. The zero value serves the example site
// with its usual delays and no log.
type Options struct {
	// Dir is a folder to serve as it is, instead of the example site.
	Dir string
	// Log receives one JSON line for each request that has ended, see Request.
	// Lines are written one at a time. Nil: no log.
	Log io.Writer
	// Slow is how long the slow page waits before it answers; 0 means 1.5 s.
	Slow time.Duration
	// Drop is the time between two bytes of the page that comes in drops;
	// 0 means 100 ms.
	Drop time.Duration
}

// Handler answers for the example site, or for o.Dir. It is safe for use by
// several goroutines and keeps no state between requests but the log.
func Handler(o Options) http.Handler {
	var h http.Handler
	if o.Dir != "" {
		h = folder{http.Dir(o.Dir)}
	} else {
		h = exampleSite(o)
	}
	if o.Log != nil {
		h = Logged(h, o.Log)
	}
	return h
}

// exampleSite puts the routes of all troubles beside the files.
func exampleSite(o Options) http.Handler {
	if o.Slow <= 0 {
		o.Slow = 1500 * time.Millisecond
	}
	if o.Drop <= 0 {
		o.Drop = 100 * time.Millisecond
	}
	routes := make(map[string]http.HandlerFunc)
	for _, t := range troubles(o) {
		if t.serve != nil {
			routes[t.Path] = t.serve
		}
	}
	for path, serve := range generated() {
		routes[path] = serve
	}
	files := loadFiles()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if serve, ok := routes[r.URL.Path]; ok {
			serve(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		files.ServeHTTP(w, r)
	})
}
