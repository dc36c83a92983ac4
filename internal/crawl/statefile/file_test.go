package statefile

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

type counter struct{ N int }

func add(t *testing.T, f Files, path string, n int) counter {
	t.Helper()
	var c counter
	if err := f.Update(t.Context(), path, &c, func() error { c.N += n; return nil }); err != nil {
		t.Fatal(err)
	}
	return c
}

func names(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		name, _, _ := strings.Cut(e.Name(), "-")
		list = append(list, name)
	}
	return strings.Join(list, " ")
}

func TestUpdate(t *testing.T) {
	for name, f := range map[string]Files{"unsynced": {}, "durable": {Durable: true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a", "b", "c.json")
			add(t, f, path, 2)
			if c := add(t, f, path, 3); c.N != 5 {
				t.Errorf("N = %d", c.N)
			}
			c := counter{N: 9}
			if err := f.Read(path, &c); err != nil || c.N != 5 {
				t.Errorf("read %d, %v", c.N, err)
			}
			if got := names(t, filepath.Dir(path)); got != "c.json c.json.lock" {
				t.Errorf("files: %s", got)
			}
		})
	}
}

func TestMissingFileIsEmpty(t *testing.T) {
	c := counter{N: 9}
	if err := (Files{}).Read(filepath.Join(t.TempDir(), "none", "x.json"), &c); err != nil || c.N != 0 {
		t.Error(c, err)
	}
}

func TestFailedChangeKeepsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	add(t, Files{}, path, 1)
	refused := errors.New("refused")
	var c counter
	if err := (Files{}).Update(t.Context(), path, &c, func() error { c.N = 7; return refused }); err != refused {
		t.Errorf("error %v", err)
	}
	if err := (Files{MaxSize: 8}).Update(t.Context(), path, &c, func() error { c.N = 1e9; return nil }); err == nil {
		t.Error("a file above the size limit is written")
	}
	if err := (Files{}).Read(path, &c); err != nil || c.N != 1 {
		t.Error(c, err)
	}
}

func TestEqualIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	add(t, Files{}, path, 1)
	before, _ := os.Stat(path)
	add(t, Files{}, path, 0)
	if after, _ := os.Stat(path); !os.SameFile(before, after) {
		t.Error("an unchanged file is replaced")
	}
}

func TestBrokenFileIsMovedAside(t *testing.T) {
	for name, content := range map[string]string{
		"empty":      "",
		"cut off":    `{"N":`,
		"not JSON":   "\x00\x01",
		"other type": `{"N":5,"N":"x"}`,
		"two values": `{} {}`,
		"too big":    strings.Repeat(" ", 100) + "{}",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			f := Files{MaxSize: 50, Log: slog.New(slog.NewTextHandler(&log, nil))}
			c := counter{N: 9}
			if err := f.Read(path, &c); err != nil || c.N != 0 || !strings.Contains(log.String(), "counts as empty") {
				t.Errorf("read %d, %v, log %q", c.N, err, log.String())
			}
			if c := add(t, f, path, 2); c.N != 2 {
				t.Errorf("N = %d", c.N)
			}
			if got := names(t, dir); got != "x.json x.json.broken x.json.lock" {
				t.Errorf("files: %s", got)
			}
			if !strings.Contains(log.String(), "moved aside") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}

func TestInvalidPaths(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, filepath.Join(file, "x.json"), filepath.Join(dir, "x.json.lock"), filepath.Join(dir, "x.tmp")} {
		var c counter
		if err := (Files{}).Update(t.Context(), path, &c, func() error { return nil }); err == nil {
			t.Errorf("%s is accepted", path)
		}
	}
}

func TestLockWaitIsLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	var c, d counter
	err := Files{}.Update(t.Context(), path, &c, func() error {
		err := Files{MaxWait: time.Millisecond}.Update(t.Context(), path, &d, func() error { return nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait above MaxWait: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := (Files{}).Update(ctx, path, &d, func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A lock on a removed file does not block later changes: they use a new file.
func TestRemovedLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	add(t, Files{}, path, 1)
	if err := os.Remove(path + lockSuffix); err != nil {
		t.Fatal(err)
	}
	if c := add(t, Files{}, path, 1); c.N != 2 {
		t.Error(c)
	}
}

func TestGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				var c counter
				if err := (Files{}).Update(t.Context(), path, &c, func() error { c.N++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if c := add(t, Files{}, path, 0); c.N != 400 {
		t.Errorf("N = %d", c.N)
	}
}

func BenchmarkUpdate(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.json")
	for b.Loop() {
		var c counter
		if err := (Files{}).Update(b.Context(), path, &c, func() error { c.N++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
