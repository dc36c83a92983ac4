package main

import (
	"fmt"
	"io/fs"
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
	"hce/dc/internal/process/article"
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
		return madePages("bench.test", 1000)
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
	storePages(b, home, "s", pages)
	command := clitest.Command(b, "", "-c", filepath.Join("..", "..", "ini", "processor-task.ini"))
	command.Env = append(command.Env, "DC_Application_data_dir="+home)
	command.Stdin = strings.NewReader(`{"id":2,"crawlerType":6,"items":[],"refillTime":3600000,"refill":{"maxURLs":300,
		"urlsCriterions":{"WHERE":"Status=4","LIMIT":"300"},"urlUpdate":{"status":5,"batchId":2},"asBatch":2}}`)
	start := time.Now()
	stdout, stderr, status := clitest.Output(b, command)
	c.wall = time.Since(start)
	if status != 0 || strings.Contains(stdout, "errorMessage") {
		b.Fatalf("status %d, %s", status, stderr)
	}
	repo, closeAll := openStores(b, home)
	defer closeAll()
	if n := processedRows(b, repo, "s", pages); n != len(pages) {
		b.Fatalf("%d of %d pages are processed", n, len(pages))
	}
	state := command.ProcessState
	c.cpu = state.UserTime() + state.SystemTime()
	return c, state.SysUsage().(*syscall.Rusage).Maxrss
}
