package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/config"
	"hce/dc/internal/process/article"
	"hce/dc/internal/storage"
	"hce/dc/internal/wire"
)

// pagesVariable names a folder of HTML pages for the benchmark.
const pagesVariable = "HCE_BENCH_PAGES"

// BenchmarkProcessing compares processor-task with the extraction alone, on the same pages
// and all processors. The pages come from the folder in HCE_BENCH_PAGES, from the
// documentation of PostgreSQL, or are generated. Metrics:
//
//	extract-pages/s, extract-ms/page   goroutines that only call article.Extract
//	pages/s, ms/page                   processor-task with the real stores
//	time-ratio, cpu-ratio              extraction alone to processor-task; 1 is the best
//	MB                                 highest resident size of processor-task
func BenchmarkProcessing(b *testing.B) {
	pages := benchPages(b)
	for b.Loop() {
		alone := measureExtraction(pages)
		whole, rss := measureProgram(b, pages)
		n := float64(len(pages))
		b.ReportMetric(n/alone.wall.Seconds(), "extract-pages/s")
		b.ReportMetric(1000*alone.cpu.Seconds()/n, "extract-ms/page")
		b.ReportMetric(n/whole.wall.Seconds(), "pages/s")
		b.ReportMetric(1000*whole.cpu.Seconds()/n, "ms/page")
		b.ReportMetric(alone.wall.Seconds()/whole.wall.Seconds(), "time-ratio")
		b.ReportMetric(alone.cpu.Seconds()/whole.cpu.Seconds(), "cpu-ratio")
		b.ReportMetric(float64(rss)/1024, "MB")
	}
}

// cost is the time of one measurement.
type cost struct{ wall, cpu time.Duration }

func benchPages(b *testing.B) map[string][]byte {
	pages := map[string][]byte{}
	add := func(text []byte) { pages[fmt.Sprintf("http://bench.test/%d.html", len(pages))] = text }
	folder := os.Getenv(pagesVariable)
	if folder == "" {
		folder = "/usr/share/doc/postgresql-doc-15/html"
	}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".html" {
			return err
		}
		text, err := os.ReadFile(path)
		add(text)
		return err
	})
	if err != nil && os.Getenv(pagesVariable) != "" {
		b.Fatal(err)
	}
	if len(pages) == 0 {
		for i := range 1000 {
			add(fmt.Appendf(nil, "<html><head><title>Page %d</title></head><body><article>%s</article></body></html>", i,
				strings.Repeat(fmt.Sprintf("<p>Paragraph of page %d about the <a href=/x>harbour</a>, its <code>cranes</code> and its ships.</p>", i), 50)))
		}
	}
	return pages
}

// measureExtraction extracts all pages without any store.
func measureExtraction(pages map[string][]byte) cost {
	defer debug.SetGCPercent(debug.SetGCPercent(200)) // as in task programs
	runtime.GC()
	urls := make(chan string)
	var workers sync.WaitGroup
	start, before := time.Now(), usage(syscall.RUSAGE_SELF)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for url := range urls {
				_, _ = article.Extract(pages[url], url)
			}
		})
	}
	for url := range pages {
		urls <- url
	}
	close(urls)
	workers.Wait()
	return cost{time.Since(start), usage(syscall.RUSAGE_SELF) - before}
}

func usage(who int) time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measureProgram runs processor-task on the stored pages, from its first request to its
// exit. rss is in KiB.
func measureProgram(b *testing.B, pages map[string][]byte) (c cost, rss int64) {
	home := b.TempDir()
	storePages(b, home, pages)
	command := clitest.Command(b, "", "-c", filepath.Join("..", "..", "ini", "processor-task.ini"))
	command.Env = append(command.Env, "DC_Application_data_dir="+home)
	command.Stdin = strings.NewReader(`{"id":2,"crawlerType":6,"items":[],"refillTime":3600000,"refill":{"maxURLs":300,
		"urlsCriterions":{"WHERE":"Status=4","LIMIT":"300"},"urlUpdate":{"status":5,"batchId":2}}}`)
	start := time.Now()
	stdout, stderr, status := clitest.Output(b, command)
	c.wall = time.Since(start)
	if status != 0 || strings.Contains(stdout, "errorMessage") {
		b.Fatalf("status %d, %s", status, stderr)
	}
	repo, closeAll := openStores(b, home)
	defer closeAll()
	site, err := repo.Site(context.Background(), "s")
	if err != nil || site.Contents != int64(len(pages)) {
		b.Fatalf("%+v %v", site, err)
	}
	state := command.ProcessState
	c.cpu = state.UserTime() + state.SystemTime()
	return c, state.SysUsage().(*syscall.Rusage).Maxrss
}

func openStores(b *testing.B, home string) (*storage.Repository, func()) {
	file, err := config.Load(filepath.Join("..", "..", "ini", "db-task.ini"))
	if err != nil {
		b.Fatal(err)
	}
	repo, closeAll, err := storage.Open(context.Background(), storage.ReadConfig(file, home), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	return repo, closeAll
}

// storePages stores pages as crawled.
func storePages(b *testing.B, home string, pages map[string][]byte) {
	repo, closeAll := openStores(b, home)
	defer closeAll()
	ctx := context.Background()
	job := storage.Job{Repository: repo}
	if _, err := job.Run(ctx, json.RawMessage(`["SITE_NEW", {"id":"s","urls":[]}]`)); err != nil {
		b.Fatal(err)
	}
	var rows []wire.URL
	var results []wire.Fetched
	for url, text := range pages {
		row := wire.NewURL("s", url)
		rows = append(rows, row)
		results = append(results, wire.Fetched{
			URLMd5: row.URLMd5, Crawled: true, At: time.Now(),
			Set:   wire.Patch{"Status": int64(wire.StatusCrawled), "HTTPCode": int64(200), "ContentType": "text/html", "Size": int64(len(text))},
			Files: []wire.File{{Type: wire.ContentRaw, Data: text}},
		})
	}
	if _, err := repo.MarkCrawling(ctx, "s", 1, rows); err != nil {
		b.Fatal(err)
	}
	if _, err := repo.SaveCrawl(ctx, "s", 1, results); err != nil {
		b.Fatal(err)
	}
}
