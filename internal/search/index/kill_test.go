package index

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"hce/dc/internal/childprocess"
	"hce/dc/internal/search"
)

const killFolder = "INDEX_KILL_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killFolder); dir != "" {
		writeUntilKilled(dir)
	}
	if dir := os.Getenv(fullFolder); dir != "" {
		if err := writeUntilFull(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const docsOfBatch = 7

// writeUntilKilled continues where the state says: batch n adds docsOfBatch documents and removes the
// first one of batch n-1. It prints n when the batch is durable.
func writeUntilKilled(dir string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	x, err := Open(dir)
	fail(err)
	state, err := x.Site("s")
	fail(err)
	n, _ := strconv.Atoi(state.Watermark)
	for n++; ; n++ {
		c := Change{State: map[string]SiteState{"s": {Watermark: strconv.Itoa(n)}}, Delete: []string{search.UUIDOf(killURL(n-1, 0))}}
		for i := range docsOfBatch {
			c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: killURL(n, i), Title: "page", Seen: at("2026-01-01")})
		}
		fail(x.Apply(c))
		fmt.Println(n)
		if n%3 == 0 {
			fail(x.Publish())
		}
	}
}

func killURL(n, i int) string { return fmt.Sprintf("http://k.example/%d/%d", n, i) }

// A writer that is killed at any moment leaves whole changes: what it reported is there, the state and
// the documents belong together, and the newest snapshot opens.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	for round := range 8 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killFolder+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		ended, err := childprocess.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		reported, lines := 0, bufio.NewScanner(out)
		for i := 0; i <= round && lines.Scan(); i++ {
			if reported, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(lines.Text())
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		checkKilled(t, dir, reported)
	}
}

func checkKilled(t *testing.T, dir string, reported int) {
	t.Helper()
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	state, err := x.Site("s")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := strconv.Atoi(state.Watermark)
	if n < reported {
		t.Errorf("batch %d was reported, the state has %d", reported, n)
	}
	count, err := x.Count(t.Context())
	if want := n*(docsOfBatch-1) + 1; err != nil || count != uint64(want) {
		t.Errorf("after batch %d: %d documents, want %d, %v", n, count, want, err)
	}
	if x.head.Snapshot != "" {
		s, err := OpenSnapshot(dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
	}
}
