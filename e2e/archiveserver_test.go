//go:build e2e

package e2e

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hce/dc/internal/childprocess"
)

// archiveStart starts the program archive, which runs until the end of the test, and returns its lines on
// standard output and on standard error.
func archiveStart(t *testing.T, args ...string) (out, talk *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, "archive"), args...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	ended, err := childprocess.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	return bufio.NewScanner(stdout), bufio.NewScanner(stderr)
}

// Two crawls of a site while a server offers the archive: an observer is told of both, and the words of
// both versions are counted and stay with their version.
func TestArchiveServer(t *testing.T) {
	var words atomic.Value
	words.Store("one two two")
	web := newWitnessAt(t, "127.0.4.3", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<title>Words</title><p>" + words.Load().(string)))
	}))
	root := filepath.Join(t.TempDir(), "archive")
	archiveRun(t, 0, "init", root)
	t.Setenv("DC_Server_interval", "0.1")
	_, talk := archiveStart(t, "server", "--root", root, "--port", "0")
	address := ""
	for address == "" && talk.Scan() {
		_, address, _ = strings.Cut(talk.Text(), " at ")
	}
	observer, _ := archiveStart(t, "client", "watch", "--after", "0", "--server", address)

	crawl := []string{"crawler", "--root", root, "--interval", "0", "--delay", "0", "--allow-network", "127.0.0.0/8", "--depth", "0", web.URL + "/"}
	var tags []string
	for _, text := range []string{"one two two", "one two three four"} {
		words.Store(text)
		archiveRun(t, 0, crawl...)
		if !observer.Scan() {
			t.Fatal("the observer is not told")
		}
		_, tag, _ := strings.Cut(observer.Text(), "  ")
		tags = append(tags, tag)
		out, _ := archiveRun(t, 0, "count", "--server", address)
		if !strings.HasPrefix(out, "counted") || strings.Count(out, "\n") != 1 {
			t.Errorf("count: %s", out)
		}
	}
	for i, want := range []string{"total 4\ndistinct 3\n\ntwo 2\n", "total 5\ndistinct 5\n\n"} {
		got, _ := archiveRun(t, 0, "client", "cat", "--server", address, "--file", "words.txt", "--version", tags[i], web.URL+"/")
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", tags[i], got)
		}
	}
	if out, _ := archiveRun(t, 0, "db", "check", "--root", root); out != "" {
		t.Errorf("differences: %s", out)
	}
}
