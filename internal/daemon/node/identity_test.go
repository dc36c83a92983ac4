package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire/cluster"
)

// A data folder keeps its identity over restarts and kills at any point; a copy has the same one.
func TestFolderIdentity(t *testing.T) {
	folder := t.TempDir()
	load := func() identity {
		t.Helper()
		i := newIdentity(folder)
		if err := i.readFile(); err != nil {
			t.Fatal(err)
		}
		return i
	}
	first := load()
	if again := load(); again.folder != first.folder || again.process == first.process {
		t.Errorf("%+v after %+v", again, first)
	}
	if err := first.prepareNextKey(); err != nil {
		t.Fatal(err)
	}
	next := first.folder.Next
	killed := load() // before the answer of the head
	if err := killed.prepareNextKey(); err != nil || killed.folder.Next != next || next == "" {
		t.Errorf("%+v, %v, want next %s", killed.folder, err, next)
	}
	if err := first.adoptKey(next, 3, "start-2"); err != nil {
		t.Fatal(err)
	}
	if got := load().folder; got.Key != next || got.Next != "" || got.Epoch != 3 || got.Folder != first.folder.Folder || got.Head != "start-2" {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		name   string
		starts []string
		good   bool
	}{
		{"the same head", []string{"start-1", "start-2"}, true},
		{"it has started again", []string{"start-1", "start-2", "start-3"}, true},
		{"an older copy", []string{"start-1"}, false},
		{"an older copy that has started again", []string{"start-1", "start-2b", "start-3b"}, false},
	} {
		i := load()
		if err := i.checkHead(cluster.HeadStarts{Starts: c.starts}); (err == nil) != c.good {
			t.Errorf("%s: %v", c.name, err)
		}
	}

	for _, text := range []string{"", "{", "{}", `{"folder":"x"}`} {
		if err := os.WriteFile(first.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		i := newIdentity(folder)
		if err := i.readFile(); err == nil || !strings.Contains(err.Error(), first.path) || !strings.Contains(err.Error(), "dc-admin node accept") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A folder keeps its place when it is renamed, and a copy is at another one.
func TestPlaceOfAFolder(t *testing.T) {
	top := t.TempDir()
	a, b := filepath.Join(top, "a"), filepath.Join(top, "b")
	for _, path := range []string{a, b} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at, copied := placeOf(a), placeOf(b)
	if at == "" || at == copied || at != placeOf(a) {
		t.Errorf("%q, %q, %q", at, copied, placeOf(a))
	}
	if err := os.Rename(a, filepath.Join(top, "c")); err != nil {
		t.Fatal(err)
	}
	if renamed := placeOf(filepath.Join(top, "c")); renamed != at {
		t.Errorf("%q, want %q", renamed, at)
	}
	if gone := placeOf(a); gone != "" {
		t.Errorf("%q", gone)
	}
}
