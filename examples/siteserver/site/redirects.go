package site

import (
	"fmt"
	"net/http"
)

// serveRedirect sends code and a verbatim Location; http.Redirect would make a relative target
// absolute. An empty target is left out.
func serveRedirect(code int, target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if target != "" {
			w.Header().Set("Location", target)
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(code)
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>%s</title>\n<p>The page is elsewhere.</p>\n", http.StatusText(code))
	}
}
