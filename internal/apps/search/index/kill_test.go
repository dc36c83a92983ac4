package index

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
	"hce/dc/internal/childprocess"
)

const killFolder = "INDEX_KILL_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(killFolder); dir != "" {
		writeUntilKilled(dir)
	}
	for name, do := range map[string]func(string) error{fullFolder: writeUntilFull, rebuiltFolder: rebuild, replacedFolder: Replace} {
		if dir := os.Getenv(name); dir != "" {
			if err := do(dir); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

const (
	rebuiltFolder  = "INDEX_REBUILT_FOLDER"
	replacedFolder = "INDEX_REPLACED_FOLDER"
)

func rebuild(dir string) error {
	_, err := Rebuild(context.Background(), dir)
	return err
}

// killWhile runs a step in a process that is killed after a time, and reports whether it had ended before.
func killWhile(t *testing.T, step, dir string, life time.Duration) (done bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), step+"="+dir)
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(life, func() { _ = cmd.Process.Kill() }).Stop()
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != -1 {
		t.Fatalf("%v: %s", err, &out)
	}
	return cmd.ProcessState.Success()
}

// A rebuild, and the begin of an empty index, may be killed at any moment: the old index stays until the new one
// is there, and the next try ends.
func TestKilledRebuild(t *testing.T) {
	for step, want := range map[string]uint64{rebuiltFolder: 58, replacedFolder: 0} {
		dir, _ := writtenIndex(t)
		h, _, err := readHead(dir)
		if err != nil {
			t.Fatal(err)
		}
		for life := time.Duration(0); !killWhile(t, step, dir, life); life += life/4 + 2*time.Millisecond {
			s, err := OpenSnapshot(dir)
			if err != nil {
				t.Fatalf("%s, killed after %v: %v", step, life, err)
			}
			if n, err := s.Count(t.Context()); n != 58 || err != nil {
				t.Fatalf("%s, killed after %v: %d documents in the snapshot, %v", step, life, n, err)
			}
			_ = s.Close()
			if now, _, err := readHead(dir); err != nil || now.Work == h.Work && checkWorks(now.workPath(dir)) != nil {
				t.Fatalf("%s, killed after %v: %v, %v", step, life, now, err)
			}
		}
		x, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := x.Count(t.Context()); n != want || err != nil {
			t.Errorf("%s: %d documents, %v, want %d", step, n, err, want)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func checkWorks(folder string) error {
	_, _, _, err := checkWork(folder)
	return err
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
