package browser

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A page may ask the browser to load others in advance. None of them is requested: the browser would do it past the
// requests that we see, so without politeness, robots.txt and scope. Links in the page are those of the crawl.
func TestNoPageIsLoadedInAdvance(t *testing.T) {
	rules := `{"prerender":[{"source":"list","urls":["/prerender-list"],"eagerness":"immediate"},{"source":"document","eagerness":"immediate"}],
		"prefetch":[{"source":"list","urls":["/prefetch-list"],"eagerness":"immediate"},{"source":"document","eagerness":"immediate"}]}`
	const links = `<a href="/logout">out</a> <a href="/a">a</a>`
	var mu sync.Mutex
	var asked []string
	record := func(text, header string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			asked = append(asked, r.URL.Path)
			mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			if strings.HasSuffix(r.URL.Path, "/rules.json") {
				w.Header().Set("Content-Type", "application/speculationrules+json")
			}
			if header != "" {
				w.Header().Set("Speculation-Rules", header)
			}
			fmt.Fprint(w, text)
		}
	}
	for name, c := range map[string]struct{ text, header string }{
		"inline rules":    {`<p>x</p>` + links + `<script type=speculationrules>` + rules + `</script>`, ""},
		"rules of script": {`<p>x</p>` + links + `<script>const s = document.createElement("script"); s.type = "speculationrules"; s.textContent = ` + "`" + rules + "`" + `; document.head.append(s)</script>`, ""},
		"rules of header": {`<p>x</p>` + links, `"/rules.json"`},
		"prefetch":        {`<p>x</p><link rel=prefetch href=/prefetched.html><link rel=prefetch as=document href=/prefetched2.html>`, ""},
		"prerender":       {`<p>x</p><link rel=prerender href=/prerendered.html>`, ""},
		"next":            {`<p>x</p><link rel=next href=/next.html><link rel="prerender prefetch" href=/both.html>`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pages := map[string]any{"/page": record(c.text+`<link rel=preconnect href=/><link rel=dns-prefetch href=/>`, c.header)}
			for _, path := range []string{"/rules.json", "/logout", "/a", "/prerender-list", "/prefetch-list", "/prefetched.html", "/prefetched2.html", "/prerendered.html", "/next.html", "/both.html"} {
				text := "ok"
				if path == "/rules.json" {
					text = rules
				}
				pages[path] = record(text, "")
			}
			where := site(t, pages)
			mu.Lock()
			asked = nil
			mu.Unlock()
			get(t, Request{URL: where + "/page", Damping: 1500 * time.Millisecond})
			mu.Lock()
			defer mu.Unlock()
			others := slices.DeleteFunc(slices.Clone(asked), func(path string) bool { return path == "/page" || path == "/rules.json" })
			if len(others) > 0 {
				t.Errorf("asked for %q", others)
			}
		})
	}
}
