package statefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hce/dc/internal/files"
)

// Sweep removes what killed writers left, in folders of both levels, and nothing that is in use.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	if n, err := Sweep(t.Context(), filepath.Join(dir, "missing")); n != 0 || err != nil {
		t.Errorf("missing folder: %d, %v", n, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "host"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"a.json", "a.json.tmp", ".a.json123", "host/b.json.tmp", "busy.json.tmp", ".busy.json9", // temporary files and
		".a.json", "a.json.broken-1", "other.tmp", ".other123", "a.json123", // others
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := files.TryLock(filepath.Join(dir, "busy.json.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if n, err := Sweep(t.Context(), dir); n != 3 || err != nil {
		t.Errorf("%d removed, %v", n, err)
	}
	var left []string
	for _, pattern := range []string{"*", ".*", "host/*"} {
		names, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, name := range names {
			if filepath.Ext(name) != ".lock" {
				name, _ = filepath.Rel(dir, name)
				left = append(left, name)
			}
		}
	}
	slices.Sort(left)
	left = slices.Compact(left)
	want := []string{".a.json", ".busy.json9", ".other123", "a.json", "a.json.broken-1", "a.json123", "busy.json.tmp", "host", "other.tmp"}
	if !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Sweep(ctx, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}
