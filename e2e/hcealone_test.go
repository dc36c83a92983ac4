//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hce/dc/internal/testkit/testwait"
)

// workersOf returns the processes that read pages for a run of hce. Any other process below it is an error.
func workersOf(t *testing.T, pid int) (workers []int) {
	t.Helper()
	for _, child := range descendants(pid) {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child))
		switch args := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00"); {
		case err != nil || len(line) == 0: // it has ended
		case filepath.Base(args[0]) == "hce" && slices.Equal(args[1:], []string{"extract-pages"}):
			workers = append(workers, child)
		default:
			t.Errorf("hce crawl has started %q", args)
		}
	}
	return workers
}

// listening returns the sockets of a process that wait for connections.
func listening(t *testing.T, pid int) (sockets []string) {
	t.Helper()
	waiting := map[string]bool{}
	for _, table := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if words := strings.Fields(line); len(words) > 9 && words[3] == "0A" {
				waiting["socket:["+words[9]+"]"] = true
			}
		}
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("the open files of process %d: %v", pid, err)
	}
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && waiting[to] {
			sockets = append(sockets, to)
		}
	}
	return sockets
}

// A crawl without a daemon is one process and those that read pages: no other program runs and no port is open. After
// Ctrl-C it ends although a host does not answer, and leaves no process.
func TestHCECrawlsAlone(t *testing.T) {
	t.Parallel()
	content, hangs := linked(40), make(chan struct{})
	defer close(hangs)
	var asked atomic.Bool
	w := newWitness(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/p30.html" {
			asked.Store(true)
			select {
			case <-hangs:
			case <-r.Context().Done():
			}
			return
		}
		content.ServeHTTP(w, r)
	}))
	data := filepath.Join(t.TempDir(), "node")
	r := startHCE(t, "crawl", w.URL+"/p0.html", "--data", data, loopback, "--delay", "0s")
	var workers []int
	testwait.UntilWithin(t, crawlLimit, "pages are read and a request hangs", func() bool {
		workers = workersOf(t, r.cmd.Process.Pid)
		return len(workers) > 0 && asked.Load()
	})
	if sockets := listening(t, r.cmd.Process.Pid); len(sockets) > 0 {
		t.Errorf("it waits for connections: %v", sockets)
	}
	if err := r.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	r.end(t, 4)
	for _, pid := range workers {
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d is left", pid)
		}
	}
	for _, name := range []string{"crawler-task.log", "processor-task.log"} {
		if info, err := os.Stat(filepath.Join(data, "data", "log", name)); err != nil || info.Size() == 0 {
			t.Errorf("the log of the crawl: %v", err)
		}
	}
}

// A crawl goes on when processes that read its pages are killed: their pages are read again.
func TestHCEWorkersKilled(t *testing.T) {
	t.Parallel()
	const n = 60
	content := linked(n)
	w := newWitness(t, content)
	out := filepath.Join(t.TempDir(), "pages.jsonl")
	r := startHCE(t, "crawl", w.URL+"/p0.html", "--data", filepath.Join(t.TempDir(), "node"), loopback, "--delay", "0s", "--out", out)
	content.awaitRequests(t, w, 20)
	testwait.UntilWithin(t, crawlLimit, "pages are read", func() bool {
		workers := workersOf(t, r.cmd.Process.Pid)
		for _, pid := range workers { // once: a page whose process ends twice fails
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		return len(workers) > 0
	})
	content.slowFrom(0, 0)
	r.end(t, 0)
	if got := exported(t, out); !slices.Equal(got, titles(n)) {
		t.Errorf("pages %q", got)
	}
	w.eachOnce(t)
}

// A site whose recrawl date has passed is asked again, once.
func TestHCERecrawls(t *testing.T) {
	t.Parallel()
	w := newWitness(t, linked(5))
	data := filepath.Join(t.TempDir(), "node")
	args := []string{"crawl", "site", "--data", data, loopback}
	hce(t, 0, "crawl", w.URL+"/p0.html", "--data", data, loopback, "--delay", "0s", "--name", "site", "--set", "recrawlPeriod=1440")
	hce(t, 0, "site", "edit", "site", "--set", "recrawlDate=2020-01-01 00:00:00", "--data", data)
	w.requests()
	stdout, stderr := hce(t, 0, args...)
	if !strings.Contains(stderr, "the recrawl date of the site has passed") || !strings.Contains(stdout, "0 new, 0 changed, 1 unchanged, 0 gone") {
		t.Errorf("%s\n%s", stdout, stderr)
	}
	w.eachOnce(t)
	if stdout, stderr := hce(t, 0, args...); strings.Contains(stderr, "has passed") || !strings.Contains(stdout, "no URL was due") || w.count() != w.taken {
		t.Errorf("%s\n%s", stdout, stderr)
	}
}

// After kills at several moments the same command has every page once, and asks again for no more than it could not store.
func TestHCEKilledOften(t *testing.T) {
	t.Parallel()
	const n, kills = 250, 3
	w := newWitness(t, linked(n))
	data, out := filepath.Join(t.TempDir(), "node"), filepath.Join(t.TempDir(), "pages.jsonl")
	args := []string{"crawl", w.URL + "/p0.html", "--data", data, loopback, "--delay", "10ms", "--out", out}
	for range kills {
		r := startHCE(t, args...)
		w.awaitRequests(t, 50)
		_ = r.cmd.Process.Kill()
		r.end(t, -1)
	}
	hce(t, 0, args...)
	if got := exported(t, out); !slices.Equal(got, titles(n)) {
		t.Errorf("%d pages of %d", len(got), n)
	}
	requested := map[string]int{}
	for _, v := range w.requests() {
		requested[v.URL]++
	}
	for url, times := range requested {
		if times > 1+kills && url != "/robots.txt" {
			t.Errorf("%s was requested %d times", url, times)
		}
	}
	stored, _ := hce(t, 0, "url", "ls", w.URL+"/p0.html", "--data", data, "--json")
	if got := bytes.Count([]byte(stored), []byte(`"url"`)); got != n {
		t.Errorf("%d URLs are stored, want %d", got, n)
	}
}
