package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, o *Output, record string) {
	t.Helper()
	if _, err := o.Write([]byte(record)); err != nil {
		t.Error(err)
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "logs", "x.log")
	o, err := openOutput(path)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	now := time.Now()
	o.now, o.checked = func() time.Time { return now }, now

	write(t, o, "a\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, o, "b\n") // before the next check
	if err := o.Reopen(); err != nil {
		t.Fatal(err)
	}
	write(t, o, "c\n")
	if got := content(t, path+".1") + "|" + content(t, path); got != "a\nb\n|c\n" {
		t.Errorf("after Reopen: %q", got)
	}

	if err := os.Rename(path, path+".2"); err != nil {
		t.Fatal(err)
	}
	now = now.Add(checkInterval)
	write(t, o, "d\n")
	if got := content(t, path+".2") + "|" + content(t, path); got != "c\n|d\n" {
		t.Errorf("after checkInterval: %q", got)
	}

	// If the new file cannot be opened, records go to the old file.
	if err := errors.Join(os.Rename(path, path+".3"), os.Mkdir(path, 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := o.Reopen(); err == nil {
		t.Error("a folder was opened")
	}
	now = now.Add(checkInterval)
	write(t, o, "e\n")
	if got := content(t, path+".3"); got != "d\ne\n" {
		t.Errorf("old file: %q", got)
	}
}

// No record of several goroutines is lost or cut while the log is rotated.
func TestReopenLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	log, _, out, err := Log{File: path, Format: "json"}.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	const writers, records, turns = 4, 200, 20
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range records {
				log.Info("record", "writer", w, "number", i)
			}
		})
	}
	for i := range turns {
		if err := os.Rename(path, fmt.Sprintf("%s.%d", path, i)); err != nil {
			t.Fatal(err)
		}
		if err := out.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	files, _ := filepath.Glob(path + "*")
	seen := 0
	for _, f := range files {
		for _, line := range strings.SplitAfter(content(t, f), "\n") {
			var r struct{ Msg string }
			if line == "" {
				continue
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || r.Msg != "record" {
				t.Errorf("%s: %q: %v", f, line, err)
			}
			seen++
		}
	}
	if len(files) != turns+1 || seen != writers*records {
		t.Errorf("%d records in %d files", seen, len(files))
	}
}

func TestStream(t *testing.T) {
	var b strings.Builder
	log, level, out, err := Log{Format: "text"}.Open(&b)
	if err != nil {
		t.Fatal(err)
	}
	log.Debug("not yet")
	level.Set(-4)
	log.Debug("now")
	if err := out.Reopen(); err != nil {
		t.Error(err)
	}
	out.Close()
	log.Info("after")
	if got := b.String(); strings.Contains(got, "not yet") || !strings.Contains(got, "now") || !strings.Contains(got, "after") {
		t.Errorf("log %q", got)
	}
}
