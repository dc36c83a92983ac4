package repository

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
)

// killVariable makes a child process write to an archive and kill itself at a step.
const killVariable = "ARCHIVE_KILL"

func TestMain(m *testing.M) {
	if text := os.Getenv(killVariable); text != "" {
		f := strings.Split(text, "|") // folder, work, step
		if err := victim(f[0], f[1], f[2]); err != nil {
			println(err.Error())
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var (
	before = map[string]string{"/": "home 1", "/a": "one", "/gone": "x"}
	after  = map[string]string{"/": "home 2", "/a": "one", "/a/b": "new"}
)

// victim does the work of a child.
func victim(dir, work, step string) error {
	ctx := context.Background()
	r, err := Open(dir)
	if err != nil {
		return err
	}
	r.step = func(name string) {
		if name == step {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	if work == "first" || work == "crawl" {
		at, pages := start, before
		if work == "crawl" {
			at, pages = start.Add(time.Hour), after
		}
		c, err := stage(ctx, r, at, pages)
		if err != nil {
			return err
		}
		_, err = c.Commit(ctx, nil)
		return err
	}
	list, err := r.Query(ctx, archive.Query{Where: "url LIKE '%/a'"})
	if err != nil || len(list) != 1 {
		return errors.Join(err, errors.New("no page"))
	}
	if work == "tag" {
		return r.SetTag(ctx, list[0], "words", "12")
	}
	w, err := r.Create(ctx, list[0], "deep/words.txt")
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte("12")); err != nil {
		return err
	}
	return w.Close()
}

// A writer is killed at every step. The next access finds the version before or the new one, whole, and
// work goes on: commits get larger numbers, and none is missing.
func TestKilledWriter(t *testing.T) {
	for _, tt := range []struct {
		work, step string
		stored     bool
	}{
		{"first", "staged", false}, {"first", "folder", false}, {"first", "number", false}, {"first", "input", false},
		{"first", "git", true}, {"first", "tag", true}, {"first", "database", true}, {"first", "half of the files", true}, {"first", "files", true},
		{"crawl", "staged", false}, {"crawl", "number", false}, {"crawl", "input", false},
		{"crawl", "git", true}, {"crawl", "tag", true}, {"crawl", "database", true}, {"crawl", "half of the files", true}, {"crawl", "files", true},
		{"file", "input", false}, {"file", "git", true}, {"file", "tag", true}, {"file", "files", true},
		{"tag", "schema", false}, {"tag", "input", false}, {"tag", "git", true}, {"tag", "files", true},
	} {
		t.Run(tt.work+" "+tt.step, func(t *testing.T) {
			t.Parallel()
			r := newArchive(t)
			if tt.work != "first" {
				crawl(t, r, start, before)
			}
			child := exec.Command(os.Args[0], "-test.run=^$")
			child.Env = append(os.Environ(), killVariable+"="+r.Dir()+"|"+tt.work+"|"+tt.step)
			out, err := child.CombinedOutput()
			if child.ProcessState == nil || child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}
			// Another domain is the first to come: the number of the killed commit must not be lost.
			c, err := stageOf(t.Context(), r, "example.net", start, nil)
			mustSucceed(t, err)
			mustSucceed(t, c.Add(Page{URL: "https://example.net/", MIMEType: "text/html", Created: start, Content: []byte("other")}))
			_, err = c.Commit(t.Context(), nil)
			mustSucceed(t, err)
			checkKilled(t, r, tt.work, tt.stored)
			if got := differences(t, r); got != "" {
				t.Error(got)
			}
			crawl(t, r, start.Add(2*time.Hour), map[string]string{"/": "home 3"})
			mustBeSound(t, r)
			list, err := filepath.Glob(filepath.Join(r.Dir(), tmpFolder, "*"))
			if mustSucceed(t, err); len(list) > 0 {
				t.Errorf("left in tmp: %v", list)
			}
		})
	}
}

// checkKilled checks that the work of a killed child is stored whole, or not at all.
func checkKilled(t *testing.T, r *Repository, work string, stored bool) {
	t.Helper()
	commits, err := r.Commits(t.Context(), 0, 0)
	mustSucceed(t, err)
	want := 1 // of example.net
	if work != "first" {
		want++
	}
	if stored && (work == "first" || work == "crawl") {
		want++
	}
	if len(commits) != want || commits[len(commits)-1].CommitTag != archive.Tag("example.net", start) {
		t.Fatalf("commits %v, want %d", commits, want)
	}
	switch {
	case work == "first" && !stored:
		return
	case work == "crawl" && stored:
		if got := read(t, r, one(t, r, "/a/b", archive.Tag(host, start.Add(time.Hour))), "data.html"); got != "new" {
			t.Errorf("new page: %q", got)
		}
		fallthrough
	default:
		if got := read(t, r, one(t, r, "/gone", archive.Tag(host, start)), "data.html"); got != "x" {
			t.Errorf("old page: %q", got)
		}
	}
	m := one(t, r, "/a", archive.Tag(host, start))
	switch work {
	case "file":
		f, err := r.Open(t.Context(), m, "deep/words.txt")
		if stored != (err == nil) {
			t.Errorf("added file: %v", err)
		}
		if err == nil {
			f.Close()
		}
	case "tag":
		if _, err := r.Tag(t.Context(), m, "words"); stored != (err == nil) {
			t.Errorf("added node: %v", err)
		}
	}
}
