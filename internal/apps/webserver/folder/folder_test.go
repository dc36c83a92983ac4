package folder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

func write(t *testing.T, base, name string) {
	t.Helper()
	path := filepath.Join(base, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("text"), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func hostile(t *testing.T) *Folder {
	t.Helper()
	top := t.TempDir()
	base := filepath.Join(top, "www")
	for _, name := range []string{"../secret", "a.html", "sub/b.html", ".htpasswd", ".git/config", ".well-known/x", "sub/.hidden"} {
		write(t, base, name)
	}
	err := errors.Join(
		os.Symlink("../secret", filepath.Join(base, "out")),
		os.Symlink(top, filepath.Join(base, "outfolder")),
		os.Symlink("a.html", filepath.Join(base, "inside")),
		os.Symlink("loop", filepath.Join(base, "loop")),
		syscall.Mkfifo(filepath.Join(base, "pipe"), 0o644),
		os.Chmod(filepath.Join(base, "a.html"), 0o444))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(base)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestFiles(t *testing.T) {
	f := hostile(t)
	for name, want := range map[string]bool{
		"a.html": true, "sub/b.html": true, "inside": true, ".well-known/x": true,
		"out": false, "outfolder/secret": false, "../secret": false, "/etc/passwd": false, "sub/../../secret": false,
		"loop": false, "pipe": false, "sub": false, "": false, ".": false, ".htpasswd": false, ".git/config": false,
		"sub/.hidden": false, "a\x00.html": false, "nothing": false, "a.html/x": false,
	} {
		file, _, err := f.File(name)
		if got := err == nil; got != want {
			t.Errorf("File(%q): %v", name, err)
		}
		if file != nil {
			_ = file.Close()
		}
	}
	if !f.IsFolder("sub") || !f.IsFolder(".") || f.IsFolder("a.html") || f.IsFolder("outfolder") || f.IsFolder(".git") || f.IsFolder("..") {
		t.Error("IsFolder")
	}
}

func TestWalk(t *testing.T) {
	f := hostile(t)
	var names []string
	err := f.Walk(t.Context(), func(name string) error { names = append(names, name); return nil }, func(name string, err error) { t.Error(name, err) })
	if want := []string{".well-known/x", "a.html", "sub/b.html"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%q, %v", names, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = f.Walk(ctx, func(string) error { cancel(); return nil }, func(string, error) {})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestPrivate(t *testing.T) {
	f := hostile(t)
	for name, want := range map[string]bool{"a.html": true, "sub/b.html": false} {
		file, info, err := f.File(name)
		if err != nil || Private(info) != want {
			t.Errorf("%s: %v", name, err)
		}
		_ = file.Close()
	}
}
