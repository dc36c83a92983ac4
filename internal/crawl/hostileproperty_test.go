package crawl_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
	"hce/dc/internal/wire"
)

// An expression of a kilobyte that takes a million steps costs a site little in any property, and
// its pages are crawled.
func TestHostileExpressions(t *testing.T) {
	text, err := json.Marshal(strings.Repeat(`(?:`+strings.Repeat("x", 50)+`){1000}`, 20))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"filter":                  "",
		"HTTP_FREQ_LIMITS":        `{%s: {"max_freq": 1}}`,
		"FETCHER_TYPE":            `{%s: 2}`,
		"HTTP_REDIRECT_RESOLVER":  `{"METHOD": "SGET", "URL": [%s]}`,
		"URL_CHAIN":               `{"url_pattern": %s}`,
		"COLLECT_URLS_XPATH_LIST": `{"sets": {%s: ["//a/@href"]}, "mode": 1}`,
		"COLLECT_URLS_LIMITS":     `{%s: [["maxurls", 9]]}`,
		"URL_LIMITS":              `{"root_url_mask": [%s]}`,
		"URL_NORMALIZE":           `{"replace": [{%s: ""}]}`,
		"REPLACE":                 `[{"WHERE": "RAW", "WHAT": %s, "WITH": ""}]`,
		"MIME_TYPE_AUTO_DETECT":   `[{"url": %s}]`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(w http.ResponseWriter, r *http.Request) { page(w, "<a href=/x>x</a>") })
			w := newWorld(t)
			w.job.Config.FreqDir = t.TempDir()
			if name == "filter" {
				var pattern string
				if err := json.Unmarshal(text, &pattern); err != nil {
					t.Fatal(err)
				}
				site := w.addSite("s")
				site.Filters = append(site.Filters, wire.SiteFilter{Pattern: pattern, Stage: 5, Action: -1, Type: 1, State: 1})
			} else {
				w.addSite("s", name, fmt.Sprintf(value, text))
			}
			it := w.item("s", s.URL+"/")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			w.run(batchOf(it))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 100<<20 || took > testwait.Deadline {
				t.Errorf("%d MiB in %v", n>>20, took)
			}
			if row := w.row(it); row.Status != wire.StatusCrawled || row.ErrorMask != 0 {
				t.Errorf("status %d, errors %s", row.Status, bitNames(row.ErrorMask))
			}
		})
	}
}
