package files

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func list(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestWrite(t *testing.T) {
	for name, write := range map[string]func(string, []byte, os.FileMode) error{
		"synced": Write, "unsynced": WriteUnsynced, "alone": WriteAlone,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "x.json")
			for _, content := range []string{"first", "second, longer", ""} {
				if err := write(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
				if got := read(t, path); got != content {
					t.Errorf("content %q, want %q", got, content)
				}
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
			if got := list(t, dir); got != "x.json" {
				t.Errorf("files: %s", got)
			}
			folder := filepath.Join(dir, "folder")
			if err := os.MkdirAll(filepath.Join(folder, "full"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := write(folder, []byte("x"), 0o600); err == nil {
				t.Error("a folder is replaced")
			}
			if err := write(filepath.Join(dir, "missing", "x"), []byte("x"), 0o600); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("missing folder: %v", err)
			}
			if got := list(t, dir); got != "folder x.json" {
				t.Errorf("files after failed writes: %s", got)
			}
		})
	}
}

func TestWriteInWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := Write("x", []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := read(t, "x"); got != "1" {
		t.Errorf("content %q", got)
	}
}

func TestWriteRemovesOrphans(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{".x123", ".x", ".x12a", ".y123", "x123", ".x9"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(dir, ".x9"), time.Time{}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); got != ".x .x12a .x9 .y123 x x123" {
		t.Errorf("files: %s", got)
	}
}

// A temporary file that is a link of any kind leads to no other file.
func TestWriteUnsyncedFollowsNoLink(t *testing.T) {
	for name, link := range map[string]func(string, string) error{"symbolic": os.Symlink, "hard": os.Link} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			target := filepath.Join(dir, "target")
			if err := errors.Join(os.WriteFile(target, []byte("keep"), 0o644), link(target, filepath.Join(dir, "x.tmp"))); err != nil {
				t.Fatal(err)
			}
			if err := WriteUnsynced(filepath.Join(dir, "x"), []byte("new"), 0o600); err != nil {
				t.Error(err)
			}
			if got := read(t, target); got != "keep" {
				t.Errorf("target: %q", got)
			}
			if info, err := os.Lstat(filepath.Join(dir, "x")); err != nil || info.Mode() != 0o600 || read(t, filepath.Join(dir, "x")) != "new" {
				t.Errorf("mode %v, %v", info.Mode(), err)
			}
		})
	}
}

func TestTryLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	type try func(string) (func(), error)
	for _, tt := range []struct {
		name          string
		first, second try
		both          bool
	}{
		{"two exclusive locks", TryLock, TryLock, false},
		{"exclusive, then shared", TryLock, TryShare, false},
		{"shared, then exclusive", TryShare, TryLock, false},
		{"two shared locks", TryShare, TryShare, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			unlock, err := tt.first(path)
			if err != nil {
				t.Fatal(err)
			}
			other, err := tt.second(path)
			if tt.both != (err == nil) || err != nil && !errors.Is(err, ErrLocked) {
				t.Fatalf("second lock: %v", err)
			}
			unlock()
			if err == nil {
				other()
			}
			if unlock, err = TryLock(path); err != nil {
				t.Fatalf("after unlock: %v", err)
			}
			unlock()
		})
	}
}

func TestLockWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Lock(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait with a deadline: %v", err)
	}
	got := make(chan error, 1)
	go func() {
		unlock, err := Lock(context.Background(), path)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestShareWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Share(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait with a deadline: %v", err)
	}
	unlock()
	for range 2 { // both hold it
		other, err := Share(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		defer other()
	}
}

func TestLockExcludesGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var held atomic.Bool
	var count atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				unlock, err := Lock(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if held.Swap(true) {
					t.Error("two holders at once")
				}
				count.Add(1)
				held.Store(false)
				unlock()
			}
		})
	}
	wg.Wait()
	if n := count.Load(); n != 200 {
		t.Errorf("%d locks, want 200", n)
	}
}

// A lock on a removed file counts for nothing: the next holder creates a new file.
func TestRemovedLockFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if _, err := TryLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("third lock: %v", err)
	}
	second()
}

func TestLockRefusesStrangePaths(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, link, filepath.Join(dir, "missing", "lock")} {
		if unlock, err := TryLock(path); err == nil || errors.Is(err, ErrLocked) {
			t.Errorf("%s: %v", path, err)
			if err == nil {
				unlock()
			}
		}
	}
	// A pipe can be locked; opening it must not block.
	if unlock, err := TryLock(pipe); err == nil {
		unlock()
	}
}
