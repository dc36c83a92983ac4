package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hce/dc/internal/apps/ose/cycle"
	"hce/dc/internal/apps/ose/folder"
	"hce/dc/internal/cli/clitest"
	"hce/dc/internal/cli/storestest"
)

// crashAt makes a child process kill itself at the n-th place that folder.Reached names.
const crashAt = "OSE_TEST_CRASH_AT"

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(crashAt)); err == nil {
		var mu sync.Mutex
		folder.Reached = func(place string) {
			mu.Lock()
			defer mu.Unlock()
			if n--; n == 0 {
				fmt.Fprintln(os.Stderr, "killed at", place)
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {} // until the signal arrives
			}
		}
	}
	clitest.Main(m, main)
}

// loopback are the options of a run on a server of a test.
func loopback(t testing.TB, args ...string) []string {
	return append(args, "--wait", "0s", "--allow-network", "127.0.0.0/8", "--gates", filepath.Join(t.TempDir(), "gates"))
}

func ose(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, got := clitest.Run(t, t.TempDir(), args...)
	if got != status {
		t.Fatalf("%v: exit status %d, want %d\n%s%s", args, got, status, stdout, stderr)
	}
	return stdout, stderr
}

// cycles runs cycles until nothing is left to do.
func cycles(t *testing.T, dir string) {
	t.Helper()
	args := loopback(t, "run", dir, "--json")
	for range 20 {
		out, _ := ose(t, 0, args...)
		var reports []cycle.Report
		if err := json.Unmarshal([]byte(out), &reports); err != nil {
			t.Fatal(err)
		}
		if len(reports) == 1 && reports[0].Skipped != "" {
			return
		}
	}
	t.Fatal("the cycles have no end")
}

// A process that is killed at any place of any step leaves a target that the next run continues: no URL
// is lost, none has two ids, and only the one in flight is requested again.
func TestKilledEverywhere(t *testing.T) {
	places := map[string]bool{}
	gates := filepath.Join(t.TempDir(), "gates")
	for n := 1; ; n++ {
		s := newSite(t)
		dir := filepath.Join(t.TempDir(), "target")
		if _, err := folder.Create(dir, []string{s.URL + "/0"}); err != nil {
			t.Fatal(err)
		}
		done := false
		for range 5 { // cycles, of which one is killed
			c := clitest.Command(t, t.TempDir(), "run", dir, "--wait", "0s", "--allow-network", "127.0.0.0/8", "--gates", gates)
			c.Env = append(c.Env, crashAt+"="+strconv.Itoa(n))
			_, stderr, status := clitest.Output(t, c)
			if status != 0 && status != -1 {
				t.Fatalf("place %d: exit status %d\n%s", n, status, stderr)
			}
			if _, place, killed := strings.Cut(stderr, "killed at "); killed {
				places[strings.TrimSpace(place)] = true
				break
			}
			if done = strings.Contains(stderr, "no URL to request"); done {
				break
			}
		}
		if done { // no cycle has as many places
			s.check(t, dir, 0)
			t.Logf("killed at %d places", n-1)
			break
		}
		cycles(t, dir)
		s.check(t, dir, 1)
		if t.Failed() {
			t.Fatalf("place %d", n)
		}
	}
	for _, place := range []string{"state", "request", "response", "file", "synced", "records", "list", "renamed", "links"} {
		if !places[place] {
			t.Errorf("no process was killed at %q", place)
		}
	}
}

// A process that is killed again and again makes progress.
func TestKilledOften(t *testing.T) {
	s := newSite(t)
	dir := filepath.Join(t.TempDir(), "target")
	ose(t, 0, "init", dir, s.URL+"/0")
	args := loopback(t, "run", dir)
	kills := 0
	for {
		c := clitest.Command(t, t.TempDir(), args...)
		c.Env = append(c.Env, crashAt+"="+strconv.Itoa(8+kills*7%31)) // always the same place may be before each checkpoint
		_, stderr, status := clitest.Output(t, c)
		if status == 0 && strings.Contains(stderr, "no URL to request") {
			break
		}
		if kills++; kills > 200 {
			t.Fatal(stderr)
		}
	}
	s.check(t, dir, kills)
	if kills < 5 {
		t.Errorf("%d kills", kills)
	}
}

// Two processes on one target: one works, the other says so and ends well. Each URL is requested once.
func TestTwoProcesses(t *testing.T) {
	s := newSite(t)
	dir := filepath.Join(t.TempDir(), "target")
	ose(t, 0, "init", dir, s.URL+"/0")
	args := loopback(t, "run", dir)
	inside, leave := make(chan bool), make(chan bool)
	s.holdBy(func(r *http.Request) {
		if r.URL.Path == "/0" {
			close(inside)
			<-leave
		}
	})
	first := clitest.Command(t, t.TempDir(), args...)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-inside
	_, stderr := ose(t, 0, args...)
	if !strings.Contains(stderr, fmt.Sprintf("process %d", first.Process.Pid)) {
		t.Errorf("%s", stderr)
	}
	if out, _ := ose(t, 0, "status", dir); !strings.Contains(out, "fetching, running") {
		t.Errorf("%s", out)
	}
	close(leave)
	if err := first.Wait(); err != nil {
		t.Error(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 8 {
				if out, err := clitest.Command(t, dir, args...).CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
	all.Wait()
	cycles(t, dir)
	s.check(t, dir, 0)
}

// The daemon finds targets of a folder, runs their cycles, and ends in order. An interrupted request is
// repeated by the next run.
func TestDaemon(t *testing.T) {
	s := newSite(t)
	root := t.TempDir()
	dir := filepath.Join(root, "one")
	ose(t, 0, "init", dir, s.URL+"/0")
	inside := make(chan bool, 10)
	s.holdBy(func(r *http.Request) {
		if r.URL.Path == "/2" {
			inside <- true
			<-r.Context().Done()
		}
	})
	d := clitest.Command(t, t.TempDir(), loopback(t, "daemon", root, "--every", "1s", "--quiet")...)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	<-inside
	s.holdBy(nil)
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.Wait(); err != nil {
		t.Errorf("%v", err)
	}
	cycles(t, dir)
	s.check(t, dir, 1)
}

// TestCommands is the contract of the sub-commands: exit status, and parts of both outputs.
func TestCommands(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	s := newSite(t)
	run := func(args string) (stdout, stderr string, status int) {
		return clitest.Run(t, ".", strings.Fields(args)...)
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		out    string // part of stdout; "": stdout is empty
		says   string // part of stderr; "": stderr is empty
	}{
		{"", 2, "", "a command is missing"},
		{"init", 2, "", "DIR URL"},
		{"init sites/a", 2, "", "DIR URL"},
		{"init sites/a ftp://x/", 2, "", "ftp"},
		{"init sites/a " + s.URL + "/0 " + s.URL + "/0#x", 0, "", ""},
		{"init sites/a " + s.URL + "/0", 2, "", "give a new or an empty folder"},
		{"init sites/b " + s.URL + "/6", 0, "", ""},
		{"status sites", 0, "sites/a  idle  last id 0000000000  1 URLs, 0 fetched, 0 parsed", ""},
		{"status none", 2, "", "no such file"},
		{"status file", 2, "", "is a file"},
		{"run sites --wait 30s-10s", 2, "", "write 5s or 10s-30s"},
		{"run sites --wait 3", 2, "", "has no unit; write 3ms or 3s"},
		{"run sites --timeout 0s", 2, "", "is not a time from 1ms to 1h"},
		{"run sites --allow-network 127.0.0.1", 2, "", "is not a network"},
		{"merge sites --max-urls 0", 2, "", "is not a number above 0"},
		{"daemon sites --every 1ms", 2, "", "is not a time from 1s to 8760h"},
		{"parse sites/a", 0, "", "state 0 (idle)"},
		{"fetch sites/a --wait 0s", 0, "", "step finished"}, // the guard refuses the address; that is no answer
		{"status sites/a", 0, "fetched  last id 0000000000  1 URLs, 0 fetched", ""},
		{"run sites --wait 0s --allow-network 127.0.0.0/8 --quiet", 0, "", ""},
		{"run sites --wait 0s --allow-network 127.0.0.0/8 --json", 0, `"step": "OSEM001"`, "step finished"},
		{"status sites --json", 0, `"state": "idle"`, ""},
		{"check sites", 0, "", ""},
	} {
		stdout, stderr, status := run(c.args)
		if status != c.status || !strings.Contains(stdout, c.out) || c.out == "" && stdout != "" || !strings.Contains(stderr, c.says) || c.says == "" && stderr != "" {
			t.Errorf("ose %s: exit status %d\n%s%s", c.args, status, stdout, stderr)
		}
	}
	if err := os.WriteFile("sites/a/0000000001", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, _, status := run("check sites"); status != 1 || !strings.HasPrefix(out, "sites/a/0000000001: 1 bytes with md5") {
		t.Errorf("exit status %d, %s", status, out)
	}
	if err := os.WriteFile("sites/b/.urls", []byte("x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, stderr, status := run("run sites --wait 0s --allow-network 127.0.0.0/8")
	if status != 2 || strings.Count(stderr, "sites/b/.urls:1:2: the record ends") != 1 || !strings.Contains(stderr, "target=sites/a") {
		t.Errorf("exit status %d, %s%s", status, out, stderr)
	}
	if out, stderr, status := run("status sites"); status != 1 || !strings.Contains(out, "sites/a") || !strings.Contains(stderr, "sites/b/.urls:1:2: ") {
		t.Errorf("exit status %d, %s%s", status, out, stderr)
	}
}

// A target goes to a site of a daemon and comes back.
func TestExchange(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	t.Chdir(folder)
	ose(t, 0, "init", filepath.Join(folder, "target"), s.URL+"/0")
	cycles(t, filepath.Join(folder, "target"))
	stores := storestest.Open(t)
	server := []string{"--server", "127.0.0.1:" + stores.Port}
	run := func(args string) (stdout, stderr string, status int) {
		return clitest.Run(t, ".", append(strings.Fields(args), server...)...)
	}
	pages := fmt.Sprintf("%d new pages, 0 further versions, %d new URLs without a page, 0 stored before", pagesOfSite, wanted-pagesOfSite)
	for _, c := range []struct {
		args      string
		status    int
		out, says string
	}{
		{"import none", 2, "", "no such file"},
		{"export " + s.URL + "/ back", 2, "", "is not known"},
		{"import target", 0, pages, "created site"},
		{"import target --json", 0, fmt.Sprintf(`"known": %d`, wanted), ""},
		{"export " + s.URL + "/ back", 0, fmt.Sprintf("back: %d URLs, %d of them with a page, 0 left out", wanted, pagesOfSite), ""},
		{"export " + s.URL + "/ back", 2, "", "give a new or an empty folder"},
	} {
		stdout, stderr, status := run(c.args)
		if status != c.status || !strings.Contains(stdout, c.out) || !strings.Contains(stderr, c.says) {
			t.Errorf("ose %s: exit status %d\n%s%s", c.args, status, stdout, stderr)
		}
	}
	killed := clitest.Command(t, ".", append([]string{"export", s.URL + "/", "half"}, server...)...)
	killed.Env = append(killed.Env, crashAt+"=3")
	if _, stderr, status := clitest.Output(t, killed); status != -1 {
		t.Errorf("exit status %d\n%s", status, stderr)
	}
	if _, stderr, status := clitest.Run(t, ".", "status", "half"); status != 2 || !strings.Contains(stderr, "no target folder") {
		t.Errorf("a killed export: exit status %d\n%s", status, stderr)
	}
	asked := s.asked("/0")
	cycles(t, filepath.Join(folder, "back")) // it finds the same links, and has all of their pages
	s.check(t, "back", 0)
	if n := s.asked("/0"); n != asked {
		t.Errorf("%d requests, %d before", n, asked)
	}
}
