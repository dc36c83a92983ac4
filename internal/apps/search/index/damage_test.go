package index

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hce/dc/internal/apps/search"
)

// writtenIndex returns a folder with an index of several segments, with documents that were removed, published and
// closed, and reads its files.
func writtenIndex(t *testing.T) (dir string, list map[string][]byte) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "index")
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		c := Change{State: map[string]SiteState{"s": {Watermark: killURL(n, 0)}}, Delete: []string{search.UUIDOf(killURL(n-1, 0))}}
		for i := range 20 {
			c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: killURL(n, i), Title: "Kernel", Text: strings.Repeat("scheduler of the kernel ", i), Seen: at("2026-01-01")})
		}
		if err := errors.Join(x.Apply(c), x.Publish()); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filesOf(t, dir)
}

// filesOf reads the files of an index that are read again: those of the working index and of the newest snapshot.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	h, _, err := readHead(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string][]byte{}
	for _, folder := range []string{headFile(dir), h.workPath(dir), filepath.Join(dir, "snapshots", h.Snapshot)} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				list[path], err = os.ReadFile(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// forget makes this process read all files again, like a new one.
func forget() {
	verified.Lock()
	defer verified.Unlock()
	verified.files = nil
}

// openBoth returns the errors of a processor and of a writer.
func openBoth(dir string) (reading, writing error) {
	forget()
	s, reading := OpenSnapshot(dir)
	if reading == nil {
		_ = s.Close()
	}
	h, _, writing := readHead(dir)
	if writing == nil {
		writing = h.checkFormat()
	}
	if writing == nil {
		_, _, _, writing = checkWork(h.workPath(dir))
	}
	return reading, writing
}

// Each flipped bit, each missing and each shorter file is an error with the name of the file when its snapshot
// or its working index is opened, and nothing panics.
func TestDamage(t *testing.T) {
	dir, list := writtenIndex(t)
	if reading, writing := openBoth(dir); reading != nil || writing != nil {
		t.Fatal(reading, writing)
	}
	head, _, err := readHead(dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, path string) {
		if same, _, err := readHead(dir); path == headFile(dir) && err == nil && same == head {
			return // the case of a key, or a space
		}
		reading, writing := openBoth(dir)
		err := reading
		if strings.Contains(path, "work-") {
			err = writing
		}
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s of %s: %v", what, path, err)
		}
		if errors.Is(err, ErrDamaged) && !strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: no remedy: %v", what, err)
		}
	}
	for path, data := range list {
		for range 200 {
			flipped := append([]byte(nil), data...)
			at := rand.IntN(8 * len(data))
			flipped[at/8] ^= 1 << (at % 8)
			rewrite(t, path, flipped)
			check("a flipped bit", path)
		}
		rewrite(t, path, data[:len(data)/2])
		check("the first half", path)
		rewrite(t, path, nil)
		check("nothing", path)
		rewrite(t, path, data)
	}
	if reading, writing := openBoth(dir); reading != nil || writing != nil {
		t.Error(reading, writing)
	}
}

// rewrite keeps the inode, which the working index and its snapshots share.
func rewrite(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A writer that was killed finds damaged and missing segments, too. Replace begins an empty index, and an undamaged
// snapshot is read until the next one.
func TestReplace(t *testing.T) {
	dir, list := writtenIndex(t)
	h, _, err := readHead(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeSums(h.workPath(dir)); err != nil {
		t.Fatal(err)
	}
	for path := range list {
		if strings.HasPrefix(path, h.workPath(dir)) && isSegment(path) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
		t.Fatalf("without segments: %v", err)
	}
	if err := Replace(dir); err != nil {
		t.Fatal(err)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n, err := x.Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d documents, %v", n, err)
	}
	for _, want := range []uint64{58, 0} {
		s, err := OpenSnapshot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Count(t.Context()); n != want || err != nil {
			t.Errorf("%d documents in the snapshot, %v, want %d", n, err, want)
		}
		if err := errors.Join(s.Close(), x.Publish()); err != nil {
			t.Fatal(err)
		}
	}
}

// A killed writer leaves segments that were not used yet; they are no damage. Damage of one in use is found.
func TestDamageAfterKill(t *testing.T) {
	dir, list := writtenIndex(t)
	h, _, err := readHead(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := removeSums(h.workPath(dir)); err != nil {
		t.Fatal(err)
	}
	rewrite(t, filepath.Join(h.workPath(dir), "store", "00000000ffff.zap"), []byte("a part"))
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := removeSums(h.workPath(dir)); err != nil {
		t.Fatal(err)
	}
	for path, data := range list {
		if _, err := os.Stat(path); isSegment(path) && strings.HasPrefix(path, h.workPath(dir)) && err == nil {
			data[rand.IntN(len(data))] ^= 4
			rewrite(t, path, data)
		}
	}
	if _, err := Open(dir); !errors.Is(err, ErrDamaged) {
		t.Errorf("flipped bits: %v", err)
	}
}

const fullFolder = "INDEX_FULL_FOLDER"

// writeUntilFull writes with a limit on the size of files, which causes the errors of a full disk, and publishes
// after each of them.
func writeUntilFull(dir string) error {
	signal.Ignore(syscall.SIGXFSZ)
	x, err := Open(dir)
	if err != nil {
		return err
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 70_000, Max: 70_000}); err != nil {
		return err
	}
	refused := 0
	for n := 0; n < 1000 && refused < 3; n++ {
		c := Change{}
		for i := range 10 * (n + 1) {
			c.Put = append(c.Put, search.Document{Kind: search.Pages, URL: killURL(n, i), Title: "page", Text: strings.Repeat(killURL(i, n)+" ", 50), Seen: at("2026-01-01")})
		}
		err := errors.Join(x.Apply(c), x.Publish())
		switch {
		case err != nil && !strings.Contains(err.Error(), syscall.EFBIG.Error()): // the library keeps the text only
			return err
		case errors.Is(err, ErrBroken):
			_ = x.Close() // an error, or not: it fails like the disk
			if x, err = Open(dir); err != nil {
				return err
			}
			refused++
		case err != nil:
			refused++
		}
	}
	if refused == 0 {
		return errors.New("the disk never got full")
	}
	return nil // it ends like a killed process
}

// A full disk is an error of each change and each snapshot. What was reported stays, and the newest snapshot is whole.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), fullFolder+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %.3000s", err, out)
	}
	x, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if n, err := x.Count(t.Context()); err != nil || n == 0 {
		t.Errorf("%d documents, %v", n, err)
	}
	s, err := OpenSnapshot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
