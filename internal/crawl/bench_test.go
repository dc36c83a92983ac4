package crawl_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkJob crawls one host without a delay: pages of 20 KB with 100 links, a tenth of them
// new. One operation is one page.
func BenchmarkJob(b *testing.B) {
	for _, concurrency := range []int{1, 8} {
		b.Run(fmt.Sprint("requests at once ", concurrency), func(b *testing.B) {
			var body strings.Builder
			body.WriteString("<html><head><title>A page</title></head><body>")
			for i := range 100 {
				if i%10 > 0 {
					fmt.Fprintf(&body, "<p>%s <a href=\"/common/%d\">common</a>", strings.Repeat("some text ", 15), i)
				} else {
					fmt.Fprintf(&body, "<p>%s <a href=\"own/%d\">own</a>", strings.Repeat("some text ", 15), i)
				}
			}
			text := body.String()
			s := newServer(b, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
					return
				}
				page(w, text)
			})
			w := newWorld(b)
			w.job.Config.ChunkItems = 64
			w.addSite("s", "ROBOTS_MODE", "1", "HostConcurrency", fmt.Sprint(concurrency))
			batch := batchOf()
			for i := range b.N {
				batch.Items = append(batch.Items, w.item("s", fmt.Sprintf("%s/%d/", s.URL, i)))
			}
			b.SetBytes(int64(len(text)))
			b.ResetTimer()
			answer := w.run(batch)
			b.StopTimer()
			if len(answer.Items) != b.N {
				b.Fatalf("%d of %d pages", len(answer.Items), b.N)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
		})
	}
}

// BenchmarkHosts crawls many hosts side by side, one page each.
func BenchmarkHosts(b *testing.B) {
	s := newServer(b, func(w http.ResponseWriter, r *http.Request) { page(w, "<p>a page<a href=/x>x</a>") })
	_, port, _ := strings.Cut(s.host, ":")
	w := newWorld(b)
	w.job.Config.MaxHosts = 64
	w.addSite("s")
	batch := batchOf()
	for i := range b.N {
		batch.Items = append(batch.Items, w.item("s", fmt.Sprintf("http://h%d.test:%s/", i, port)))
	}
	b.ResetTimer()
	answer := w.run(batch)
	b.StopTimer()
	if len(answer.Items) != b.N {
		b.Fatalf("%d of %d pages", len(answer.Items), b.N)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
