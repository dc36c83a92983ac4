// Command floor is a minimal crawler: it fetches every page of a site once and extracts
// the links. It stores nothing and ignores robots.txt and charsets. Its speed is the
// reference for the speed of the real system.
//
//	floor -url http://127.0.0.1:8000/ -workers 1
//
// It follows all URLs that start with the start URL, with one connection per worker, using
// net/http and the tokenizer of x/net/html. It prints a Result as one JSON line. The exit
// status is 1 if the first page cannot be fetched and 2 after wrong flags.
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

// Result is the result of one crawl.
type Result struct {
	Pages      int     `json:"pages"` // text/html with code 200
	URLs       int     `json:"urls"`  // requested
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
		err = errors.New("-url must be an absolute URL, -workers at least 1")
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

// measure runs work and returns its time, CPU time and peak memory.
func measure(work func() error) (seconds, cpu float64, maxRSS int64, err error) {
	begin := time.Now()
	err = work()
	seconds = time.Since(begin).Seconds()
	var usage syscall.Rusage
	if usageErr := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); usageErr != nil {
		return seconds, 0, 0, errors.Join(err, usageErr)
	}
	cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
	return seconds, cpu, usage.Maxrss * 1024, err // Linux reports kilobytes
}
