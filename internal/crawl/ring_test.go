package crawl_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/crawl/browser"
	"hce/dc/internal/wire"
)

// ring starts hosts whose pages lead to the next host, by redirects and by scripts.
func ring(t *testing.T, n int) []*server {
	hosts := make([]*server, n)
	for i := range hosts {
		hosts[i] = newServer(t, func(w http.ResponseWriter, r *http.Request) {
			next := hosts[(i+1)%n].URL + "/end" + r.URL.Path
			switch {
			case strings.HasPrefix(r.URL.Path, "/end/"):
				page(w, "<p>the end")
			case r.URL.Query().Has("script"):
				page(w, `<script>location.href = "`+next+`"</script>`)
			default:
				http.Redirect(w, r, next, http.StatusFound)
			}
		})
	}
	return hosts
}

// Hosts that redirect to each other do not block the browser: a page that waits for a host lets
// the page run that holds it.
func TestHostsRedirectToEachOther(t *testing.T) {
	const hosts, tabs = 8, 2
	w := newWorld(t)
	w.job.Browser = newBrowser(t, shortDir(t), func(c *browser.Config) { c.MaxPages = tabs })
	w.addSite("s", "HTTP_REDIRECTS_MAX", "3").FetchType = 2
	var items []wire.BatchItem
	for n, s := range ring(t, hosts) {
		items = append(items, w.item("s", s.URL+"/page"+[]string{"", "?script"}[n%2]))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a slow machine is not a failure
	defer cancel()
	if _, err := w.try(ctx, batchOf(items...)); err != nil {
		t.Error(err)
	}
	for _, it := range items {
		if row := w.row(it); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
			t.Errorf("%s: status %d, %s", it.URL.URL, row.Status, bitNames(row.ErrorMask))
		}
	}
}
