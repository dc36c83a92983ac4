package crawlprogram

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/wire"
)

// manual is a site of pages with 80 links each, 40 KB of text, as documentation has.
func manual(b *testing.B, pages int) *httptest.Server {
	text := strings.Repeat("<p>Some text of a manual, with <b>tags</b> and <code>names</code>.</p>\n", 6)
	bodies := make([][]byte, pages)
	for i := range bodies {
		var s strings.Builder
		fmt.Fprintf(&s, "<html><head><title>Page %d</title></head><body>", i)
		for l := range 80 {
			fmt.Fprintf(&s, `<a class="reference internal" href="/manual/chapter/page-%d.html">page</a>%s`, (i*7+l*l+1)%pages, text)
		}
		bodies[i] = []byte(s.String())
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if r.URL.Path != "/" {
			if c, err := fmt.Sscanf(r.URL.Path, "/manual/chapter/page-%d.html", &n); c != 1 || err != nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(bodies[n])
	}))
	b.Cleanup(s.Close)
	return s
}

// BenchmarkRefill crawls a site of 1,000 pages in one batch that selects its URLs itself, with the
// shipped settings and the real stores. cpu-ms/page includes the server.
func BenchmarkRefill(b *testing.B) {
	const pages = 1000
	for _, concurrency := range []int{1, 4} {
		b.Run(fmt.Sprint("HostConcurrency ", concurrency), func(b *testing.B) {
			s := manual(b, pages)
			var took, used time.Duration
			b.ReportAllocs()
			for range b.N {
				b.StopTimer()
				n := newNode(b)
				site := n.site(s.URL+"/", properties("ROBOTS_MODE", "1", "HostConcurrency", fmt.Sprint(concurrency)))
				request := n.refilling(site, s.URL+"/", 7, 500, time.Minute)
				began, cpu := time.Now(), processorTime()
				b.StartTimer()
				answer, err := n.job.Run(b.Context(), request)
				b.StopTimer()
				took, used = took+time.Since(began), used+processorTime()-cpu
				n.must(err)
				if got := answer.(wire.Batch).Refilled; got != pages {
					b.Fatalf("%d pages", got)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(pages*b.N)/took.Seconds(), "pages/s")
			b.ReportMetric(float64(used.Microseconds())/1000/float64(pages*b.N), "cpu-ms/page")
		})
	}
}

// refilling returns a batch of one URL that selects more, as the daemon makes it.
func (n *node) refilling(site, url string, batch, most int64, limit time.Duration) json.RawMessage {
	n.Helper()
	return n.refillingAll([][2]string{{site, url}}, batch, most, limit)
}

// refillingAll is refilling that begins with the roots of several sites.
func (n *node) refillingAll(roots [][2]string, batch, most int64, limit time.Duration) json.RawMessage {
	n.Helper()
	var items []wire.BatchItem
	for _, root := range roots {
		row := n.row(root[0], root[1])
		row.Status, row.BatchID = wire.StatusSelectedCrawling, batch
		items = append(items, wire.BatchItem{SiteID: root[0], URLID: row.URLMd5, URL: row})
	}
	raw, err := json.Marshal(wire.Batch{ID: batch, CrawlerType: wire.CrawlNormal, DBMode: wire.DBRead | wire.DBWrite, MaxIterations: 1, MaxHostWait: 10000,
		Items: items})
	n.must(err)
	return append(raw[:len(raw)-1], fmt.Sprintf(`,"refill":{"sitesCriterions":{"WHERE":"State=1","ORDER BY":"Priority DESC, TcDate ASC"},"urlsCriterions":{"WHERE":"Status=1 AND State=0","ORDER BY":"LENGTH(ParentMd5) ASC, Priority DESC, Depth ASC, UDate DESC"},`+
		`"maxURLs":%d,"algorithm":1,"attributeNames":[],"skipBusySites":true,"paceTime":10000,"siteUpdate":{"tcDate":"NOW()"},"urlUpdate":{"status":2,"batchId":%d,"tcDate":"NOW()","UDate":"NOW()"}},"refillTime":%d}`, most, batch, limit.Milliseconds())...)
}

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
