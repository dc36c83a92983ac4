package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/archivetest"
	"hce/dc/internal/apps/archive/client"
	"hce/dc/internal/apps/archive/repository"
	"hce/dc/internal/childprocess"
	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/testkit/testwait"
)

// The children of these tests run the program.
func init() { clitest.RunIfChild(main) }

// folder is an archive with what crawls into it.
type folder struct {
	dir string
	*repository.Repository
	now time.Time
}

func newFolder(t *testing.T) *folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	if _, stderr, status := clitest.Run(t, t.TempDir(), "init", dir); status != 0 {
		t.Fatal(stderr)
	}
	r, err := repository.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &folder{dir, r, time.Date(2026, 1, 5, 10, 0, 0, 0, archive.Zone)}
}

// crawl commits one page of example.org.
func (f *folder) crawl(t *testing.T, text string) archive.Commit {
	t.Helper()
	f.now = f.now.Add(time.Minute)
	c, err := f.Begin(t.Context(), "example.org", f.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Add(repository.Page{URL: page, MIMEType: "text/html", Created: f.now, Content: []byte(text)}); err != nil {
		t.Fatal(err)
	}
	commit, err := c.Commit(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

const page = "http://example.org/a.html"

// serve starts a server and returns its address and what kills it.
func (f *folder) serve(t *testing.T, args ...string) (address string, kill func()) {
	t.Helper()
	c := clitest.Command(t, f.dir, append([]string{"server", "--root", f.dir}, args...)...)
	c.Env = append(c.Env, "DC_Server_interval=0.1")
	stderr, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for address == "" && lines.Scan() {
		_, address, _ = strings.Cut(lines.Text(), " at ")
	}
	if address == "" {
		t.Fatal("the server does not start")
	}
	go func() { // ends with the server
		for lines.Scan() {
		}
	}()
	kill = sync.OnceFunc(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	t.Cleanup(kill)
	return address, kill
}

// Each sub-command of a client, with its output and exit status.
func TestClientCommands(t *testing.T) {
	f := newFolder(t)
	first := f.crawl(t, "<p>one two two")
	second := f.crawl(t, "<p>one two two three")
	address, _ := f.serve(t, "--port", "0")
	clitest.Write(t, f.dir, "notes.txt", "my notes")
	for _, c := range []struct {
		args   string
		status int
		words  string // of stdout, or of stderr after an error
	}{
		{"client query --where domain='example.org' --order-by commitTime", 0, first.CommitTag},
		{"client query --where nothing=1", 2, "nothing"},
		{"client ls " + page, 0, "data.html"},
		{"client ls http://example.org/none", 2, "not found"},
		{"client cat " + page, 0, "<p>one two two three"},
		{"client cat --version " + first.CommitTag + " " + page, 0, "<p>one two two"},
		{"client put --from notes.txt " + page + " own/notes.txt", 0, ""},
		{"client put --from notes.txt " + page + " own/notes.txt", 2, "exists"},
		{"client put --from notes.txt --version " + first.CommitTag + " " + page + " late.txt", 2, "replaced"},
		{"client put --from notes.txt " + page + " ../notes.txt", 2, "not valid"},
		{"client cat --file own/notes.txt " + page, 0, "my notes"},
		{"client tag " + page + " rating", 2, "not found"},
		{"client tag --set <stars>4</stars> " + page + " rating", 0, ""},
		{"client tag --set <stars>5</stars> " + page + " rating", 2, "exists"},
		{"client tag " + page + " rating", 0, "<stars>4</stars>"},
		{"client status", 0, fmt.Sprintf("last commit %d", second.Number)},
		{"count", 0, "counted          4  " + page},
		{"count --where title='none'", 0, ""},
		{"count --json", 0, `"state":"present"`},
		{"client cat --file words.txt " + page, 0, "total 4\ndistinct 3\n\ntwo 2\n"},
		{"client tag " + page + " wordcount", 0, "<total>4</total>"},
	} {
		stdout, stderr, status := clitest.Run(t, f.dir, append(strings.Fields(c.args), "--server", address)...)
		text := stdout
		if c.status != 0 {
			text = stderr
		}
		if status != c.status || !strings.Contains(text, c.words) || status != 0 && stdout != "" {
			t.Errorf("archive %s: status %d, stdout %q, stderr %q", c.args, status, stdout, stderr)
		}
	}
	if list, err := f.Check(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("differences %v, %v", list, err)
	}
	if _, stderr, status := clitest.Run(t, f.dir, "client", "status", "--server", "http://127.0.0.1:1"); status != 3 || !strings.Contains(stderr, "refused") {
		t.Errorf("no server: %d %s", status, stderr)
	}
}

// watch continues after the last commit that an earlier run has printed.
func TestWatch(t *testing.T) {
	f := newFolder(t)
	f.crawl(t, "<p>before")
	address, _ := f.serve(t, "--port", "0")
	var want []string
	for range 2 {
		c := clitest.Command(t, f.dir, "client", "watch", "--state", "seen", "--server", address)
		stdout, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the state is kept", func() bool { _, err := os.Stat(filepath.Join(f.dir, "seen")); return err == nil })
		want = append(want, f.crawl(t, "<p>now").CommitTag)
		lines := bufio.NewScanner(stdout)
		for _, tag := range want {
			if !lines.Scan() || !strings.HasSuffix(lines.Text(), "  "+tag) {
				t.Errorf("watch prints %q, want %s", lines.Text(), tag)
			}
		}
		number := strings.Fields(lines.Text())[0]
		testwait.Until(t, "the position is kept", func() bool {
			text, err := os.ReadFile(filepath.Join(f.dir, "seen"))
			return err == nil && strings.TrimSpace(string(text)) == number
		})
		_ = c.Process.Signal(syscall.SIGTERM)
		var exit *exec.ExitError
		if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 4 {
			t.Errorf("end of watch: %v", err)
		}
		want = []string{f.crawl(t, "<p>meanwhile").CommitTag}
	}
}

// A server that is killed while it takes files leaves each of them whole or not at all, and an observer
// continues with the next server.
func TestKilledServer(t *testing.T) {
	f := newFolder(t)
	ports, release, err := childprocess.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	port := fmt.Sprint(ports[0])
	address, kill := f.serve(t, "--port", port)
	c, err := client.New(client.Config{URL: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var tags []string
	ended := make(chan error, 1)
	go func() {
		ended <- c.Observe(ctx, 0, func(list []archive.Commit) error {
			mu.Lock()
			defer mu.Unlock()
			for _, one := range list {
				tags = append(tags, one.CommitTag)
			}
			return nil
		})
	}()
	want := []string{f.crawl(t, "<p>one").CommitTag}
	m := archivetest.Page(t, f)
	text := strings.Repeat("text ", 100000)
	for i, end := range []func(w archive.Writer){
		func(archive.Writer) { kill() },                                  // in the middle of the file
		func(w archive.Writer) { go func() { _ = w.Close() }(); kill() }, // about its end
		func(w archive.Writer) { _ = w.Close(); kill() },                 // after the answer
	} {
		name := fmt.Sprintf("file%d.txt", i)
		w, err := c.Create(t.Context(), m, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
		end(w)
		_, kill = f.serve(t, "--port", port)
		r, err := f.Open(t.Context(), m, name)
		switch {
		case err == nil:
			got, err := io.ReadAll(r)
			r.Close()
			if i == 0 || err != nil || string(got) != text {
				t.Errorf("%s has %d bytes, %v", name, len(got), err)
			}
		case i == 2 || !errors.Is(err, archive.ErrNotFound):
			t.Errorf("%s: %v", name, err)
		}
	}
	want = append(want, f.crawl(t, "<p>two").CommitTag)
	testwait.Until(t, "the observer is told", func() bool { mu.Lock(); defer mu.Unlock(); return len(tags) >= len(want) })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !slices.Equal(tags, want) {
		t.Errorf("told %v, want %v, %v", tags, want, err)
	}
	if list, err := f.Check(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("differences %v, %v", list, err)
	}
}

// The server makes its token file; a client needs a copy that only its owner can read.
func TestTokenFile(t *testing.T) {
	f := newFolder(t)
	clitest.Write(t, f.dir, "archive.ini", "[Server]\ntoken_file = token\n[Client]\ntoken_file = copy\n")
	address, _ := f.serve(t, "--port", "0")
	text, err := os.ReadFile(filepath.Join(f.dir, "token"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(f.dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	run := func(words string, want int) {
		t.Helper()
		_, stderr, status := clitest.Run(t, f.dir, "client", "status", "--server", address)
		if status != want || !strings.Contains(stderr, words) {
			t.Errorf("status %d, %s; want %d and %q", status, stderr, want, words)
		}
	}
	run("no such file", 2)
	copied := clitest.Write(t, f.dir, "copy", string(text))
	run("", 0)
	if err := os.Chmod(copied, 0o640); err != nil {
		t.Fatal(err)
	}
	run("chmod 600", 2)
	clitest.Write(t, f.dir, "other", "")
	clitest.Write(t, f.dir, "archive.ini", "[Client]\ntoken_file = wrong\n")
	clitest.Write(t, f.dir, "wrong", strings.Repeat("x", 30))
	run("token", 2)
}
