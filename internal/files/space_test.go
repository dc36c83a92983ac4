package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Messages about a full disk are one line with the folder and numbers for a person.
func TestExplainFull(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "none", "1.warc")
	full := &fs.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
	for _, c := range []struct {
		name   string
		err    error
		folder string
		want   string // begin of the message; "": unchanged
	}{
		{"a file", fmt.Errorf("store: %w", full), "/other", "no space left in " + filepath.Dir(name) + ": "},
		{"a rename", &os.LinkError{Op: "rename", Old: "/x", New: name, Err: syscall.ENOSPC}, "", "no space left in " + filepath.Dir(name) + ": "},
		{"a quota", &fs.PathError{Op: "write", Path: name, Err: syscall.EDQUOT}, "", "the disk quota is used up in " + filepath.Dir(name) + ": "},
		{"no file", fmt.Errorf("store: %w", syscall.ENOSPC), dir, "no space left in " + dir + ": "},
		{"neither file nor folder", syscall.ENOSPC, "", ""},
		{"standard output", &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}, dir, ""},
		{"another error", &fs.PathError{Op: "write", Path: name, Err: syscall.EACCES}, dir, ""},
		{"none", nil, dir, ""},
	} {
		got := ExplainFull(c.err, c.folder)
		if c.want == "" {
			if got != c.err {
				t.Errorf("%s: %v", c.name, got)
			}
			continue
		}
		text := got.Error()
		if !strings.HasPrefix(text, c.want) || !strings.HasSuffix(text, "B free; make room there") || strings.Contains(text, "\n") || !errors.Is(got, c.err) {
			t.Errorf("%s: %q", c.name, text)
		}
		if again := ExplainFull(fmt.Errorf("outer: %w", got), "/"); again.Error() != "outer: "+text {
			t.Errorf("%s, again: %q", c.name, again)
		}
	}
}

// An output is checked before the work, and the check leaves nothing.
func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old")
	if err := os.WriteFile(old, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, bad := range map[string]bool{filepath.Join(dir, "new"): false, old: false, "/dev/null": false, dir: true, filepath.Join(dir, "none", "new"): true, filepath.Join(old, "x"): true} {
		if err := CheckOutput(path); (err != nil) != bad {
			t.Errorf("%s: %v", path, err)
		}
	}
	text, _ := os.ReadFile(old)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || string(text) != "kept" {
		t.Errorf("%v %v %q", entries, err, text)
	}
}
