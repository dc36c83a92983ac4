// Command floor is the least that a crawler can do: fetch every page of a site
// once and look through it for links. It stores nothing, obeys nothing and
// knows no charset. It is what the speed of the real system is measured by.
//
//	floor -url http://127.0.0.1:8000/ -workers 1
//
// It takes all URLs that begin as the start URL does, over one connection for
// each worker, with net/http and the tokeniser of x/net/html alone, and prints
// one JSON line, see Result. Exit code 1 if the first page cannot be fetched,
// 2 on wrong flags.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"syscall"
	"time"
)

// Result is what one crawl came to.
type Result struct {
	Pages      int     `json:"pages"` // text/html with code 200
	URLs       int     `json:"urls"`  // all that were asked for
	Bytes      int64   `json:"bytes"` // of all bodies
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpu_seconds"` // user and system
	MaxRSS     int64   `json:"max_rss"`     // bytes
}

func main() {
	start := flag.String("url", "", "start at this `URL` and stay below it")
	workers := flag.Int("workers", 1, "fetch this many pages at a time")
	flag.Parse()
	root, err := url.Parse(*start)
	if err == nil && (root.Host == "" || *workers < 1 || flag.NArg() > 0) {
		err = errors.New("-url wants a whole URL, -workers a number above 0")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(2)
	}
	result, err := crawl(root, *workers)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// measure runs work and notes what it took.
func measure(work func() error) (seconds, cpu float64, maxRSS int64, err error) {
	begin := time.Now()
	err = work()
	seconds = time.Since(begin).Seconds()
	var usage syscall.Rusage
	if usageErr := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); usageErr != nil {
		return seconds, 0, 0, errors.Join(err, usageErr)
	}
	cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	return seconds, cpu, usage.Maxrss * 1024, err // Linux counts kilobytes
}
