package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hce/dc/bench/colly"
	"hce/dc/bench/floor"
	"hce/dc/internal/childprocess"
)

// program is a crawler of the comparison.
type program struct {
	name    string
	needs   []string // names of one program that must be installed; empty for none
	process bool     // processes the pages too
	crawl   func(ctx context.Context, t target, dir string) (crawl, error)
}

// target is a site for a program.
type target struct {
	root  *url.URL
	pages int // that the floor finds
}

// crawl is what a program did, without what the log of the server tells.
type crawl struct {
	begin  time.Time // zero: the first request
	end    time.Time
	cpu    time.Duration // user and system, of all processes
	memory int64         // bytes, highest resident size
	stored int           // pages by the program's own count; unknown without

	contents int64 // bytes of processed contents; 0: not measured
}

const unknown = -1

// parallel is the number of concurrent requests of the other programs.
const parallel = 4

// otherPrograms are the programs that dc is compared with.
func otherPrograms() []program {
	return []program{
		{name: "floor", crawl: func(ctx context.Context, t target, dir string) (crawl, error) {
			return runSelf(ctx, "floor", t, dir)
		}},
		{name: "colly", crawl: func(ctx context.Context, t target, dir string) (crawl, error) {
			return runSelf(ctx, "colly", t, dir)
		}},
		{name: "wget2", needs: []string{"wget2"}, crawl: runWget2},
		{name: "scrapy", needs: []string{"scrapy"}, crawl: runScrapy},
	}
}

// runSelf runs this program again as the floor or as Colly, so that its processor time and
// memory are those of a process.
func runSelf(ctx context.Context, name string, t target, dir string) (crawl, error) {
	self, err := os.Executable()
	if err != nil {
		return crawl{}, err
	}
	c, out, err := runCommand(ctx, dir, self, name, "-url", t.root.String(), "-dir", dir)
	if err == nil {
		c.stored, err = strconv.Atoi(strings.TrimSpace(string(out)))
	}
	return c, err
}

// runsAlone are the main functions of processes that this program starts of itself, by their first
// argument. They return the exit status.
var runsAlone = map[string]func(args []string) int{
	"floor": crawlAlone, "colly": crawlAlone, "colly-extract": crawlAlone, "parse": parseAlone, "fetch": fetchAlone,
}

// crawlAlone is the main function of the process that runSelf starts. It prints the number
// of pages and returns the exit status.
func crawlAlone(args []string) int {
	flags := flag.NewFlagSet(args[0], flag.ExitOnError)
	start := flags.String("url", "", "start at this `URL` and stay below it")
	dir := flags.String("dir", ".", "`folder` for files")
	_ = flags.Parse(args[1:]) // exits on an error
	root, err := url.Parse(*start)
	pages := 0
	switch {
	case err != nil:
	case args[0] == "colly":
		pages, err = colly.Crawl(root, parallel, *dir, colly.Store)
	case args[0] == "colly-extract":
		pages, err = colly.Crawl(root, parallel, *dir, colly.Extract)
	default:
		var count floor.Count
		count, err = floor.Crawl(root, parallel)
		pages = count.Pages
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		return 1
	}
	fmt.Println(pages)
	return 0
}

func runWget2(ctx context.Context, t target, dir string) (crawl, error) {
	c, _, err := runCommand(ctx, dir, "wget2", "--config=/dev/null", "--quiet", "--recursive", "--level=inf",
		"--page-requisites", "--no-parent", "--no-robots", "--no-hsts", "--no-ocsp",
		"--max-threads="+strconv.Itoa(parallel), "--directory-prefix="+dir, t.root.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 8 {
		err = nil // some URL has answered with an error
	}
	c.stored = unknown
	return c, err
}

//go:embed spider.py
var spider []byte

func runScrapy(ctx context.Context, t target, dir string) (crawl, error) {
	file, items := filepath.Join(dir, "spider.py"), filepath.Join(dir, "items.jl")
	if err := os.WriteFile(file, spider, 0o600); err != nil {
		return crawl{}, err
	}
	args := []string{"runspider", file, "-o", items, "-a", "root=" + t.root.String(), "-a", "folder=" + dir}
	for _, setting := range []string{
		"CONCURRENT_REQUESTS=" + strconv.Itoa(parallel), "CONCURRENT_REQUESTS_PER_DOMAIN=" + strconv.Itoa(parallel),
		"ROBOTSTXT_OBEY=False", "TELNETCONSOLE_ENABLED=False", "LOG_LEVEL=ERROR",
	} {
		args = append(args, "-s", setting)
	}
	c, _, err := runCommand(ctx, dir, "scrapy", args...)
	if err != nil {
		return c, err
	}
	text, err := os.ReadFile(items)
	c.stored = bytes.Count(text, []byte("\n"))
	return c, err
}

// runCommand runs a program to its end, with dir as its working and home directory.
func runCommand(ctx context.Context, dir, name string, args ...string) (crawl, []byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, talk bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &talk
	cmd.Env = append(os.Environ(), "HOME="+dir)
	err := childprocess.Run(cmd)
	c := crawl{end: time.Now()}
	if cmd.ProcessState != nil {
		c.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			c.memory = usage.Maxrss * 1024 // Linux reports kilobytes
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", filepath.Base(name), err, lastLine(talk.Bytes()))
	}
	return c, out.Bytes(), err
}

// lastLine is the end of what a program wrote.
func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
