package cookies

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// The test binary runs as a crawling process if this variable is set.
const childEnv = "COOKIES_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		collectForEver(dir, os.Getenv("CHILD_HOST"))
	}
	os.Exit(m.Run())
}

// collectForEver sets one cookie after the other, saves, and reports what is saved, until
// it is killed.
func collectForEver(dir, host string) {
	js := Open(dir, Options{})
	u := &url.URL{Scheme: "http", Host: host, Path: "/"}
	for i := 1; ; i++ {
		line := fmt.Sprintf("n%d=%d", i%40, i)
		js.Site("s").SetCookies(u, http.Header{"Set-Cookie": {line, "all=" + host + "; Domain=example.com"}}, time.Now())
		if err := js.Save(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// Every cookie that a killed process has reported is in the file.
func TestKilledProcesses(t *testing.T) {
	dir := t.TempDir()
	const processes, rounds = 3, 4
	for round := range rounds {
		var running []*exec.Cmd
		var outs []*bufio.Scanner
		for i := range processes {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("CHILD_HOST=h%d.d%d.com", i, i))
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			running, outs = append(running, cmd), append(outs, bufio.NewScanner(out))
		}
		for i := range running {
			reported := 0
			for range 5 + 7*round + i {
				if !outs[i].Scan() {
					t.Fatal("a process ended early")
				}
				fmt.Sscan(outs[i].Text(), &reported)
			}
			if err := running[i].Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for outs[i].Scan() {
				fmt.Sscan(outs[i].Text(), &reported)
			}
			_ = running[i].Wait()
			text, err := os.ReadFile(filepath.Join(dir, "s.json"))
			if err != nil || !json.Valid(text) {
				t.Fatalf("%q, %v", text, err)
			}
			checkSaved(t, dir, fmt.Sprintf("h%d.d%d.com", i, i), reported)
		}
	}
}

// checkSaved checks the last 30 cookies up to the reported number.
func checkSaved(t *testing.T, dir, host string, reported int) {
	t.Helper()
	kept := map[string]string{}
	for _, c := range Open(dir, Options{}).Site("s").all() {
		if c.Domain == host {
			kept[c.Name] = c.Value
		}
	}
	for i := max(1, reported-30); i <= reported; i++ {
		var n int
		fmt.Sscan(kept[fmt.Sprintf("n%d", i%40)], &n)
		if n < i {
			t.Errorf("%s: reported %d; n%d is %d", host, reported, i%40, n)
		}
	}
}
