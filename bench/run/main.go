// Command run compares the speed of the real system with the floor program, on the same
// site and in one run.
//
//	bench-run -bin bin -ini ini [-dir /some/html/folder]
//
// It serves a folder of documentation on loopback. The floor crawls it with one
// connection, like the real system, and with one per processor. Then dc-daemon and its
// tasks crawl, store and process everything. The table shows pages per second, CPU
// seconds, peak memory, and the ratio of pages per second to the floor with one connection.
// The exit status is 1 after an error or with a ratio below -min.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"hce/dc/examples/siteserver/site"
)

func main() {
	dir := flag.String("dir", documentation(), "crawl this `folder`")
	bin := flag.String("bin", "bin", "`folder` of the programs, bench-floor among them")
	ini := flag.String("ini", "ini", "`folder` of the ini files")
	repeat := flag.Int("repeat", 3, "run the floor this many times and take the fastest")
	least := flag.Float64("min", 0.15, "fail below this ratio")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ratio, err := run(ctx, *dir, *bin, *ini, *repeat, os.Stdout)
	if err == nil && ratio < *least {
		err = fmt.Errorf("the ratio %.3f is below %.3f", ratio, *least)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// documentation is the default folder: the documentation of PostgreSQL, from its package or
// unpacked by scripts/setup.sh. The path is relative to the root of the repository.
func documentation() string {
	const installed = "/usr/share/doc/postgresql-doc-15/html"
	if _, err := os.Stat(installed); err != nil {
		return ".cache/docs/postgresql-doc-15/html"
	}
	return installed
}

// Report is the result of one crawl. Pages are text/html with code 200.
type Report struct {
	Name       string
	Pages      int
	URLs       int
	Bytes      int64
	Seconds    float64
	CPUSeconds float64
	PeakMemory int64 // bytes; of all processes of a crawl together
}

// rate is the number of pages per second.
func (r Report) rate() float64 {
	if r.Seconds <= 0 {
		return 0
	}
	return float64(r.Pages) / r.Seconds
}

// run does all crawls and prints the table. It returns the ratio of the crawl that stores
// everything to the floor with one connection. The last crawl also processes every page.
func run(ctx context.Context, dir, bin, ini string, repeat int, out io.Writer) (float64, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("%s is not a folder", dir)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: site.Handler(site.Options{Dir: dir}), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // ends with Close
	defer server.Close()
	root := "http://" + listener.Addr().String() + "/"

	var reports []Report
	for _, workers := range []int{1, runtime.NumCPU()} {
		report, err := crawlWithFloor(ctx, root, filepath.Join(bin, "bench-floor"), workers, repeat)
		if err != nil {
			return 0, err
		}
		reports = append(reports, report)
	}
	for _, processing := range []bool{false, true} {
		report, err := crawlWithDC(ctx, root, bin, ini, processing)
		if err != nil {
			return 0, err
		}
		reports = append(reports, report)
	}
	if err := printTable(out, reports); err != nil {
		return 0, err
	}
	floor, stored := reports[0], reports[2]
	for _, r := range reports[1:] {
		if r.Pages != floor.Pages {
			return 0, fmt.Errorf("the crawls differ: %s has %d pages, the floor %d", r.Name, r.Pages, floor.Pages)
		}
	}
	if floor.rate() == 0 {
		return 0, errors.New("the floor found no page")
	}
	return stored.rate() / floor.rate(), nil
}

// printTable writes one line for each report. Ratios refer to the first one.
func printTable(out io.Writer, reports []Report) error {
	if _, err := fmt.Fprintf(out, "%-22s %7s %7s %9s %9s %9s %9s %10s %7s\n",
		"", "pages", "urls", "MB", "seconds", "pages/s", "CPU s", "memory MB", "ratio"); err != nil {
		return err
	}
	for _, r := range reports {
		ratio := 0.0
		if base := reports[0].rate(); base > 0 {
			ratio = r.rate() / base
		}
		if _, err := fmt.Fprintf(out, "%-22s %7d %7d %9.1f %9.2f %9.1f %9.2f %10.1f %7.3f\n",
			r.Name, r.Pages, r.URLs, float64(r.Bytes)/1e6, r.Seconds, r.rate(), r.CPUSeconds, float64(r.PeakMemory)/1e6, ratio); err != nil {
			return err
		}
	}
	return nil
}
