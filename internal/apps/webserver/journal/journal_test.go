package journal

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func open(t *testing.T, path string) (*Journal, []string) {
	t.Helper()
	var lines []string
	j, err := Open(path, func(line []byte) error { lines = append(lines, string(line)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.file.Close() })
	return j, lines
}

func TestLinesStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, lines := open(t, path)
	if len(lines) != 0 {
		t.Fatal(lines)
	}
	for _, d := range []Durability{NoSync, Sync} {
		if err := j.Append(d, []byte("a"), []byte("b")); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Append(Sync, []byte("two\nlines")); err == nil {
		t.Error("a record with a line feed was accepted")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, lines = open(t, path)
	if !slices.Equal(lines, []string{"a", "b", "a", "b"}) || j.Lines() != 4 {
		t.Error(lines, j.Lines())
	}
	if err := j.Replace([][]byte{[]byte("c")}); err != nil {
		t.Fatal(err)
	}
	if err := j.Append(NoSync, []byte("d")); err != nil || j.Lines() != 2 {
		t.Fatal(err, j.Lines())
	}
	if _, lines = open(t, path); !slices.Equal(lines, []string{"c", "d"}) {
		t.Error(lines)
	}
}

// Whatever part of the last write is in the file, whole lines stay and the rest is cut off, so that
// the next line is whole.
func TestEveryCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	const text = "one\ntwo\nthree\n"
	for n := range len(text) + 1 {
		if err := os.WriteFile(path, []byte(text[:n]), 0o600); err != nil {
			t.Fatal(err)
		}
		j, lines := open(t, path)
		if got, want := len(lines), strings.Count(text[:n], "\n"); got != want {
			t.Errorf("%d bytes: %d lines, want %d", n, got, want)
		}
		if err := j.Append(NoSync, []byte("next")); err != nil {
			t.Fatal(err)
		}
		if _, again := open(t, path); !slices.Equal(again, append(lines, "next")) {
			t.Errorf("%d bytes: %q", n, again)
		}
	}
}

func TestDamagedLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	if err := os.WriteFile(path, []byte("good\nbad\ngood\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path, func(line []byte) error {
		if string(line) == "bad" {
			return errors.New("not good")
		}
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "line 2 is damaged") {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path); string(b) != "good\nbad\ngood\n" {
		t.Errorf("the file was changed: %q", b)
	}
}

// A failed write leaves no part of its lines. /dev/full gives the error of a full disk.
func TestFullDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j, _ := open(t, path)
	whole := j.file
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	j.file = full
	if err := j.Append(Sync, []byte("lost")); err == nil {
		t.Fatal("the full disk gives no error")
	}
	j.file = whole
	if err := j.Append(Sync, []byte("x")); err == nil || !strings.Contains(err.Error(), "unknown state") {
		t.Errorf("/dev/full cannot be cut, so the state is unknown: %v", err)
	}
	if _, lines := open(t, path); len(lines) != 0 {
		t.Error(lines)
	}
}
