// Package site is the example site as an http.Handler: forty ordinary pages, and URLs with
// every kind of trouble on the web.
//
//	server := httptest.NewServer(site.Handler(site.Options{}))
//	defer server.Close()
//	// crawl server.URL + "/"
//
// The ordinary pages are the files of examples/site. The troubles are redirects
// (redirects.go) and failing answers (faults.go). Troubles lists them with the expected
// results, and Forbidden the URLs that a crawler must never request. The package also
// serves any folder (folder.go) and logs requests, to check that a crawler was polite
// (requestlog.go).
package site

import (
	"io"
	"net/http"
	"time"
)

// Options select what is served. The zero value serves the example site with its usual
// delays and no log.
type Options struct {
	// Dir is a folder to serve instead of the example site.
	Dir string
	// Log receives a JSON line, a Request, for each request that has ended, one at a time.
	// Nil: no log.
	Log io.Writer
	// Slow is the delay of the slow page; 0 means 1.5 s.
	Slow time.Duration
	// Drop is the time between two bytes of the page of single bytes; 0 means 100 ms.
	Drop time.Duration
}

// Handler serves the example site, or o.Dir. It is safe for concurrent use and keeps no
// state except the log.
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

// exampleSite serves the files and the routes of all troubles.
func exampleSite(o Options) http.Handler {
	if o.Slow <= 0 {
		o.Slow = 1500 * time.Millisecond
	}
	if o.Drop <= 0 {
		o.Drop = 100 * time.Millisecond
	}
	routes := make(map[string]http.HandlerFunc)
	for _, t := range listTroubles(o) {
		if t.serve != nil {
			routes[t.Path] = t.serve
		}
	}
	for path, serve := range generatedPages() {
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
