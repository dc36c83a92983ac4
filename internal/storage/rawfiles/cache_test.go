package rawfiles

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const key = "0123456789abcdef0123456789abcdef"

var (
	t1 = time.Date(2024, 5, 6, 7, 8, 9, 123e6, time.UTC)
	t2 = t1.Add(time.Hour)
	t3 = t2.Add(time.Millisecond)
)

func open(t testing.TB, o Options) (*Cache, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := Open(filepath.Join(dir, "made", "here"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, filepath.Join(dir, "made", "here")
}

// put commits one file.
func put(t testing.TB, c *Cache, site, md5 string, at time.Time, k Kind, data string) {
	t.Helper()
	s := c.Stage()
	if err := s.Put(site, md5, at, k, []byte(data)); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
}

// plant writes a file without the cache.
func plant(t testing.TB, root, name, data string, at time.Time) {
	t.Helper()
	name = filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// tree lists all files below root.
// tree lists the files below root, without the locks of processes.
func tree(t testing.TB, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasSuffix(p, lockSuffix) {
			p, err = filepath.Rel(root, p)
			names = append(names, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func texts(t testing.TB, c *Cache, vs []Version) []string {
	t.Helper()
	out := []string{}
	for _, v := range vs {
		b, err := c.Read(v)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func want[T any](t testing.TB, got, want T) {
	t.Helper()
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		t.Errorf("got  %s\nwant %s", g, w)
	}
}

func TestNames(t *testing.T) {
	for _, c := range []struct {
		name string
		kind Kind
		want string
	}{
		{"raw", Raw, ".bin"}, {"tidy", Tidy, ".tidy"}, {"headers", Headers, ".headers.txt"}, {"requests", Requests, ".request.txt"},
		{"meta", Meta, ".meta.txt"}, {"cookies", Cookies, ".cookies.txt"}, {"dynamic", Dynamic, ".dyn"}, {"chain", Chain, ".chain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache, root := open(t, Options{})
			put(t, cache, "s1", key, t1, c.kind, "x")
			want(t, tree(t, root), []string{"s1/01/23456789abcdef0123456789abcdef/" + key + "_20240506T070809.123Z" + c.want})
			v, ok, err := cache.Newest("s1", key, c.kind)
			if err != nil || !ok || !v.Time.Equal(t1) || v.Kind != c.kind || v.Label() != "" {
				t.Errorf("%+v %t %v", v, ok, err)
			}
		})
	}
	cache, root := open(t, Options{Subdir: "extra/level"})
	put(t, cache, "", key, t1.In(time.FixedZone("", 3600)), Raw, "x")
	want(t, tree(t, root), []string{"0/01/23456789abcdef0123456789abcdef/extra/level/" + key + "_20240506T070809.123Z.bin"})
	vs, err := cache.Versions("0", key, Raw)
	want(t, texts(t, cache, vs), []string{"x"})
	want(t, err, nil)
}

func TestBadNames(t *testing.T) {
	c, root := open(t, Options{})
	s := c.Stage()
	defer s.Abort()
	for _, site := range []string{"..", ".", "a/b", "../x", "a.b", " ", "ü", "\x00", strings.Repeat("a", 33)} {
		if err := s.Put(site, key, t1, Raw, nil); !errors.Is(err, ErrName) {
			t.Errorf("site %q: %v", site, err)
		}
		if err := c.DeleteSite(site); !errors.Is(err, ErrName) {
			t.Errorf("site %q: %v", site, err)
		}
	}
	for _, md5 := range []string{"", "..", strings.ToUpper(key), key + "0", key[:31], key[:30] + "/x", "../" + key[3:]} {
		if err := s.Put("s", md5, t1, Raw, nil); !errors.Is(err, ErrName) {
			t.Errorf("key %q: %v", md5, err)
		}
		if _, err := c.Versions("s", md5, Raw); !errors.Is(err, ErrName) {
			t.Errorf("key %q: %v", md5, err)
		}
		if err := c.DeleteURLs("s", []string{key, md5}); !errors.Is(err, ErrName) {
			t.Errorf("key %q: %v", md5, err)
		}
	}
	for _, label := range []string{"a/b", "..\\", "ü", strings.Repeat("a", 65)} {
		if err := s.PutLabelled("s", key, label, Raw, nil); !errors.Is(err, ErrName) {
			t.Errorf("label %q: %v", label, err)
		}
	}
	if err := s.Put("s", key, t1, 10, nil); !errors.Is(err, ErrName) {
		t.Errorf("kind 10: %v", err)
	}
	if _, err := c.Versions("s", key, 6); !errors.Is(err, ErrName) {
		t.Errorf("kind 6: %v", err)
	}
	for _, sub := range []string{"..", "/x", "a/../..", "."} {
		if _, err := Open(root, Options{Subdir: sub}); !errors.Is(err, ErrName) {
			t.Errorf("subfolder %q: %v", sub, err)
		}
	}
	// The stage stays usable after an invalid name.
	if err := s.Put("s", key, t1, Raw, []byte("x")); err != nil {
		t.Fatal(err)
	}
	want(t, s.Commit(), nil)
	want(t, len(tree(t, root)), 1)
}

func TestVersionsAndCompanions(t *testing.T) {
	c, root := open(t, Options{})
	dir := "s1/01/23456789abcdef0123456789abcdef/"
	// Names of the first implementation: without a time, or with the old layout.
	plant(t, root, dir+key+".bin", "old", t1.Add(-2*time.Hour))
	plant(t, root, dir+key+".requests.txt", "old request", t1)
	plant(t, root, dir+key+"_20200102030405.cookies.txt", "old cookies", t1)
	plant(t, root, dir+key+"_part2.bin", "labelled", t1.Add(-time.Hour))
	// Names that are not files of the cache.
	plant(t, root, dir+"."+key+"_20240506T070809.123Z.bin.1-2-3.tmp", "half", t1)
	plant(t, root, dir+key+"x.bin", "?", t1)
	plant(t, root, dir+key+".txt", "?", t1)
	plant(t, root, dir+"notes", "?", t1)
	if err := os.Mkdir(filepath.Join(root, dir, key+"_d.bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(root, dir, key+"_l.bin")); err != nil {
		t.Fatal(err)
	}
	for i, at := range []time.Time{t3, t1, t2} { // written in any order
		put(t, c, "s1", key, at, Raw, fmt.Sprint("body", i))
	}
	put(t, c, "s1", key, t2, Headers, "headers2")
	put(t, c, "s1", key, t2, Requests, "request2")

	vs, err := c.Versions("s1", key, Raw)
	want(t, err, nil)
	want(t, texts(t, c, vs), []string{"old", "labelled", "body1", "body2", "body0"})
	want(t, vs[1].Label(), "part2")
	v, ok, err := c.Newest("s1", key, Raw)
	if !ok || err != nil || !v.Time.Equal(t3) {
		t.Errorf("%+v %t %v", v, ok, err)
	}
	for _, q := range []struct {
		of   Version
		kind Kind
		text string
	}{
		{vs[0], Requests, "old request"}, {vs[0], Headers, ""}, {vs[1], Headers, ""}, {vs[3], Headers, "headers2"},
		{vs[3], Requests, "request2"}, {vs[4], Headers, ""}, {vs[3], Raw, "body2"},
	} {
		v, ok, err := c.Companion(q.of, q.kind)
		got := ""
		if ok {
			got = texts(t, c, []Version{v})[0]
		}
		if got != q.text || err != nil || ok != (q.text != "") || ok && v.Kind != q.kind {
			t.Errorf("companion %d of %s: %q %v", q.kind, q.of.Path, got, err)
		}
	}
	cookies, err := c.Versions("s1", key, Cookies)
	want(t, err, nil)
	if len(cookies) != 1 || cookies[0].Time.Year() != 2020 || cookies[0].Label() != "" {
		t.Errorf("%+v", cookies)
	}
	for _, site := range []string{"s2", ""} {
		vs, err = c.Versions(site, key, Raw)
		want(t, err, nil)
		want(t, len(vs), 0)
	}
}

func TestStage(t *testing.T) {
	c, root := open(t, Options{})
	s := c.Stage()
	for i := range 20 {
		for _, k := range []Kind{Raw, Headers, Requests} {
			if err := s.Put("s", fmt.Sprintf("%032x", i), t1, k, []byte(fmt.Sprint(i, k))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Put("s", fmt.Sprintf("%032x", 7), t1, Raw, []byte("again")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutLabelled("s", key, "a.b-c", Raw, []byte("labelled")); err != nil {
		t.Fatal(err)
	}
	if err := s.PutLabelled("s", key, "", Meta, []byte("bare")); err != nil {
		t.Fatal(err)
	}
	if vs, err := c.Versions("s", fmt.Sprintf("%032x", 7), Raw); err != nil || len(vs) != 0 {
		t.Errorf("visible before Commit: %v %v", vs, err)
	}
	want(t, s.Commit(), nil)
	want(t, len(tree(t, root)), 62)
	vs, _ := c.Versions("s", fmt.Sprintf("%032x", 7), Raw)
	want(t, texts(t, c, vs), []string{"again"})
	if _, err := os.Stat(filepath.Join(root, "s/01", key[2:], key+"_a.b-c.bin")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(root, "s/01", key[2:], key+".meta.txt")); err != nil {
		t.Error(err)
	}
	s.Abort()
	want(t, len(tree(t, root)), 62)
	want(t, errors.Is(s.Commit(), ErrDone), true)
	want(t, errors.Is(s.Put("s", key, t1, Raw, nil), ErrDone), true)

	s = c.Stage()
	if err := s.Put("s", key, t2, Raw, []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.Abort()
	want(t, len(tree(t, root)), 62)
	want(t, c.Stage().Commit(), nil)
}

func TestSizeLimit(t *testing.T) {
	c, root := open(t, Options{MaxFile: 10})
	s := c.Stage()
	want(t, errors.Is(s.Put("s", key, t1, Raw, make([]byte, 11)), ErrTooLarge), true)
	want(t, s.Put("s", key, t1, Raw, make([]byte, 10)), nil)
	want(t, s.Commit(), nil)
	plant(t, root, "s/01/"+key[2:]+"/"+key+".dyn", "12345678901", t1)
	v, ok, _ := c.Newest("s", key, Dynamic)
	_, err := c.Read(v)
	want(t, ok && errors.Is(err, ErrTooLarge), true)
}

// TestSyncEach covers systems without syncfs.
func TestSyncEach(t *testing.T) {
	c, root := open(t, Options{})
	s := c.Stage()
	for i := range 3 * syncers {
		if err := s.Put("s", fmt.Sprintf("%032x", i), t1, Raw, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{".", "s", "gone"}
	for _, f := range s.files {
		names = append(names, f.dir, s.staging+"/"+f.temp)
	}
	want(t, s.syncEach(names), nil)
	want(t, s.Commit(), nil)
	want(t, len(tree(t, root)), 3*syncers)
}

// After an error of the disk Commit stores nothing.
func TestDiskErrorLeavesNothing(t *testing.T) {
	c, root := open(t, Options{})
	plant(t, root, "blocked", "a file with the name of the site's folder", t1)
	s := c.Stage()
	want(t, s.Put("s", key, t1, Raw, []byte("x")), nil)
	err := s.Put("blocked", key, t1, Raw, []byte("x"))
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("put below a file: %v", err)
	}
	want(t, s.Put("s", key, t2, Raw, nil), err)
	want(t, s.Commit(), err)
	want(t, tree(t, root), []string{"blocked"})
}

// Neither reads nor writes follow a link out of the root.
func TestLinksOut(t *testing.T) {
	c, root := open(t, Options{})
	outside := t.TempDir()
	plant(t, outside, "01/"+key[2:]+"/"+key+".bin", "secret", t1)
	if err := os.Symlink(outside, filepath.Join(root, "s")); err != nil {
		t.Fatal(err)
	}
	if vs, err := c.Versions("s", key, Raw); err == nil {
		t.Errorf("%+v", vs)
	}
	if _, err := c.Read(Version{Path: "../x"}); err == nil {
		t.Error("read outside")
	}
	s := c.Stage()
	if err := s.Put("s", key, t1, Raw, []byte("x")); err == nil {
		t.Error("written outside")
	}
	s.Abort()
	if err := c.DeleteURLs("s", []string{key}); err == nil {
		t.Error("deleted outside")
	}
	want(t, c.DeleteSite("s"), nil) // the link itself
	want(t, len(tree(t, outside)), 1)
	want(t, len(tree(t, root)), 0)
}

func TestTrim(t *testing.T) {
	c, root := open(t, Options{})
	for i := range 5 {
		at := t1.Add(time.Duration(i) * time.Minute)
		for _, k := range []Kind{Raw, Headers, Chain} {
			put(t, c, "s", key, at, k, fmt.Sprint(i))
		}
	}
	dir := "s/01/" + key[2:] + "/"
	plant(t, root, dir+key+".bin", "oldest", t1.Add(-time.Hour))
	plant(t, root, dir+key+".headers.txt", "oldest", t1.Add(-time.Hour))
	plant(t, root, dir+key+"_label.bin", "label", t1.Add(-time.Hour))
	trim := func(md5 string, keep, removed int) {
		all, err := c.List("s", md5)
		want(t, err, nil)
		surplus := Surplus(all, keep)
		want(t, len(surplus), removed)
		want(t, c.Remove(surplus), nil)
		want(t, c.Remove(surplus), nil)
	}
	trim(key, 0, 0)
	trim(key, 2, 11)
	for kind, left := range map[Kind][]string{Raw: {"label", "3", "4"}, Headers: {"3", "4"}, Chain: {"3", "4"}} {
		vs, err := c.Versions("s", key, kind)
		want(t, err, nil)
		want(t, texts(t, c, vs), left)
	}
	trim(key, 9, 0)
	trim("ff"+key[2:], 1, 0)
}

func TestDelete(t *testing.T) {
	c, root := open(t, Options{Subdir: "extra"})
	keys := []string{"00" + key[2:], "00" + key[2:31] + "0", "ff" + key[2:], "fe" + key[2:]}
	for _, k := range keys {
		put(t, c, "s", k, t1, Raw, "x")
		put(t, c, "s-2", k, t1, Raw, "x")
	}
	want(t, c.DeleteURLs("s", []string{keys[0]}), nil)
	want(t, c.DeleteURLs("s", []string{keys[0]}), nil)
	want(t, c.DeleteURLs("unused", []string{keys[0]}), nil)
	entries, _ := os.ReadDir(filepath.Join(root, "s"))
	want(t, len(entries), 3) // 00 holds another URL
	want(t, c.DeleteURLs("s", keys[1:3]), nil)
	entries, _ = os.ReadDir(filepath.Join(root, "s"))
	want(t, len(entries), 1)

	// The orphan of a killed DeleteSite.
	plant(t, root, deletedPrefix+"s-2-1-1/00/x/y", "x", t1)
	want(t, c.DeleteSite("s"), nil)
	want(t, c.DeleteSite("s"), nil)
	entries, _ = os.ReadDir(root)
	want(t, len(entries), 2) // with the folder of unfinished files
	want(t, len(tree(t, root)), 4)
}

// Commit does not restore files that were deleted after Put.
func TestDeleteDuringStage(t *testing.T) {
	c, root := open(t, Options{})
	s := c.Stage()
	other := "ff" + key[2:]
	for _, k := range []string{key, other} {
		if err := s.Put("s", k, t1, Raw, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	want(t, c.DeleteURLs("s", []string{key}), nil)
	want(t, s.Commit(), nil)
	want(t, tree(t, root), []string{"s/ff/" + key[2:] + "/" + other + "_20240506T070809.123Z.bin"})

	// A missing file in an existing folder is an error.
	s = c.Stage()
	want(t, s.Put("s", other, t2, Raw, []byte("y")), nil)
	if err := os.Remove(filepath.Join(root, s.staging, s.files[0].temp)); err != nil {
		t.Fatal(err)
	}
	want(t, errors.Is(s.Commit(), fs.ErrNotExist), true)
}

func TestDeleteAndPutTogether(t *testing.T) {
	c, root := open(t, Options{NoSync: true})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 100 {
				if g%2 == 0 {
					if err := c.DeleteURLs("s", []string{key}); err != nil {
						t.Error(err)
					}
					continue
				}
				s := c.Stage()
				if err := s.Put("s", key, t1.Add(time.Duration(i)), Raw, []byte("x")); err != nil {
					t.Error(err)
				}
				if err := s.Commit(); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
				s.Abort()
			}
		})
	}
	wg.Wait()
	want(t, c.Close(), nil)
	for _, name := range tree(t, root) {
		if strings.HasPrefix(name, stagingDir) {
			t.Errorf("%s still exists", name)
		}
	}
}

// Sweep removes the files of killed processes only, DeleteSite the folders of a killed DeleteSite.
func TestOrphans(t *testing.T) {
	c, root := open(t, Options{})
	other, err := Open(root, Options{})
	want(t, err, nil)
	n, err := c.Sweep()
	want(t, n, 0) // nothing was staged yet
	want(t, err, nil)
	s := other.Stage()
	want(t, s.Put("s", key, t1, Raw, []byte("x")), nil)
	plant(t, root, ".staging/1-x/a.bin.1", "x", t1)
	plant(t, root, ".staging/1-x.lock", "", t1)
	plant(t, root, ".staging/2-y.lock", "", t1) // killed before it made its folder
	plant(t, root, deletedPrefix+"s-1-1/a/b", "x", t1)
	n, err = c.Sweep()
	want(t, n, 1)
	want(t, err, nil)
	want(t, s.Commit(), nil)
	want(t, c.DeleteSite("unused"), nil)
	want(t, other.Stage().Put("s", key, t2, Raw, []byte("x")), nil)
	want(t, other.Close(), nil)
	want(t, c.Close(), nil)
	locks, _ := os.ReadDir(filepath.Join(root, stagingDir))
	want(t, len(locks), 0)
	want(t, tree(t, root), []string{"s/01/" + key[2:] + "/" + key + "_20240506T070809.123Z.bin"})
}

// TestMain also runs the process that is killed or has a full disk.
func TestMain(m *testing.M) {
	root := os.Getenv("DC_RAWFILES_TEST_ROOT")
	if root == "" {
		os.Exit(m.Run())
	}
	if err := child(os.Getenv("DC_RAWFILES_TEST_ACTION"), root); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func child(action, root string) error {
	c, err := Open(root, Options{})
	if err != nil {
		return err
	}
	s := c.Stage()
	if action == "full" {
		// A limit on the file size causes the same write errors as a full disk.
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 4096, Max: 4096}); err != nil {
			return err
		}
		if err := s.Put("s", key, t2, Headers, []byte("fits")); err != nil {
			return err
		}
		if err := s.Put("s", key, t2, Raw, make([]byte, 10000)); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("put on a full disk: %v", err)
		}
		if err := s.Commit(); !errors.Is(err, syscall.EFBIG) {
			return fmt.Errorf("commit on a full disk: %v", err)
		}
		return nil
	}
	for i := range 10 {
		if err := s.Put("s", fmt.Sprintf("%032x", i), t2, Raw, []byte("new")); err != nil {
			return err
		}
	}
	return syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

func runChild(t *testing.T, action, root string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "DC_RAWFILES_TEST_ACTION="+action, "DC_RAWFILES_TEST_ROOT="+root)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestFullDisk(t *testing.T) {
	c, root := open(t, Options{})
	put(t, c, "s", key, t1, Raw, "before")
	if out, err := runChild(t, "full", root); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	vs, _ := c.Versions("s", key, Raw)
	want(t, texts(t, c, vs), []string{"before"})
	want(t, len(tree(t, root)), 1)
}

func TestKilledBeforeCommit(t *testing.T) {
	c, root := open(t, Options{})
	first := fmt.Sprintf("%032x", 0)
	put(t, c, "s", first, t1, Raw, "before")
	if out, err := runChild(t, "kill", root); err == nil {
		t.Fatalf("not killed: %s", out)
	}
	want(t, len(tree(t, root)), 1+10)
	vs, _ := c.Versions("s", first, Raw)
	want(t, texts(t, c, vs), []string{"before"})
	n, err := c.Sweep()
	want(t, n, 10)
	want(t, err, nil)
	want(t, len(tree(t, root)), 1)
}

func FuzzParseName(f *testing.F) {
	f.Add("_20240506T070809.123Z.bin")
	f.Add("_x_y.requests.txt")
	f.Add(".dyn")
	f.Fuzz(func(t *testing.T, rest string) {
		p, ok := parseName(key, key+rest)
		if !ok {
			return
		}
		suffix, ok := strings.CutPrefix(key+rest, Version{MD5: key, Name: p.name}.baseName())
		if _, known := p.kind.suffix(); !ok || !known || !strings.HasSuffix(rest, suffix) {
			t.Errorf("%q is %+v", rest, p)
		}
	})
}

func BenchmarkStage(b *testing.B) {
	body := bytes.Repeat([]byte("<p>some text of a page</p>\n"), 1200) // 32 KB
	head := body[:600]
	for _, o := range []struct {
		name string
		Options
		pages int
	}{
		{"sync/64pages", Options{}, 64}, {"sync/1page", Options{}, 1}, {"nosync/64pages", Options{NoSync: true}, 64},
	} {
		b.Run(o.name, func(b *testing.B) {
			c, _ := open(b, o.Options)
			n := 0
			for b.Loop() {
				s := c.Stage()
				for range o.pages {
					n++
					md5 := fmt.Sprintf("%016x%016x", uint64(n)*0x9e3779b97f4a7c15, n)
					for _, f := range []struct {
						k Kind
						d []byte
					}{{Raw, body}, {Headers, head}, {Requests, head}} {
						if err := s.Put("bench", md5, t1, f.k, f.d); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := s.Commit(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n*3)/b.Elapsed().Seconds(), "files/s")
		})
	}
}
