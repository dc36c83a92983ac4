package repository

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/catalog"
	"hce/dc/internal/apps/archive/pagexml"
	"hce/dc/internal/testkit/testwait"
)

func differences(t *testing.T, r *Repository) string {
	t.Helper()
	list, err := r.Check(t.Context())
	mustSucceed(t, err)
	return strings.Join(list, "\n")
}

// damages are ways to harm the database of a closed archive.
var damages = map[string]struct {
	harm    func(file string) error
	aside   bool // it is no whole database
	missing bool // rows are missing
}{
	"lost":            {harm: os.Remove},
	"empty":           {harm: func(file string) error { return os.Truncate(file, 0) }},
	"text":            {harm: func(file string) error { return os.WriteFile(file, []byte(strings.Repeat("x", 20000)), 0o600) }, aside: true},
	"header":          {harm: func(file string) error { return overwrite(file, 0, make([]byte, 100)) }, aside: true},
	"page size":       {harm: func(file string) error { return overwrite(file, 16, []byte{0, 3}) }, aside: true},
	"first page":      {harm: func(file string) error { return overwrite(file, 100, make([]byte, 3996)) }, aside: true},
	"half":            {harm: func(file string) error { return cut(file, 2) }, aside: true},
	"last page":       {harm: func(file string) error { return cut(file, 1.1) }, aside: true},
	"zeros inside":    {harm: func(file string) error { return overwrite(file, 4096, make([]byte, 3*4096)) }, aside: true},
	"noise inside":    {harm: func(file string) error { return overwrite(file, 2*4096, []byte(strings.Repeat("noise", 4000))) }, aside: true},
	"a folder":        {harm: func(file string) error { return errors.Join(os.Remove(file), os.MkdirAll(file+"/x", 0o700)) }, aside: true},
	"a broken link":   {harm: func(file string) error { return errors.Join(os.Remove(file), os.Symlink("/nonexistent/x", file)) }, aside: true},
	"log is a folder": {harm: func(file string) error { return os.MkdirAll(file+"-wal/x", 0o700) }, aside: true},
	"log is noise": {harm: func(file string) error {
		return os.WriteFile(file+"-wal", []byte(strings.Repeat("noise", 4000)), 0o600)
	}},
	"log is a stub": {harm: func(file string) error {
		return os.WriteFile(file+"-wal", []byte("\x37\x7f\x06\x82\x00\x2d\xe2\x18"), 0o600)
	}},
	"other tables":     {harm: func(file string) error { return otherTables(file, "CREATE TABLE pages (a); CREATE TABLE commits (b)") }, aside: true},
	"a column less":    {harm: func(file string) error { return statement(file, "ALTER TABLE pages DROP COLUMN title") }, aside: true},
	"rows are missing": {harm: func(file string) error { return statement(file, "DELETE FROM pages WHERE url LIKE '%/1?%'") }, missing: true},
	"a row is changed": {harm: func(file string) error { return statement(file, "UPDATE pages SET title = 'x' WHERE url LIKE '%/b'") }, missing: true},
}

func overwrite(file string, at int64, text []byte) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(text, at)
	return errors.Join(err, f.Close())
}

func cut(file string, by float64) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.Truncate(file, int64(float64(info.Size())/by))
}

// statement changes a database. VACUUM: a page that a program without checksums changed is damaged otherwise.
func statement(file, text string) error {
	out, err := exec.Command("sqlite3", file, text+"; VACUUM").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func otherTables(file, text string) error {
	return errors.Join(os.Remove(file), statement(file, text))
}

// damagedArchive returns the folder of a closed archive with two versions, and what its database has.
func damagedArchive(t *testing.T) (dir, rows string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "archive")
	mustSucceed(t, Init(dir))
	r, err := Open(dir)
	mustSucceed(t, err)
	pages := map[string]string{"/a": "one", "/b": "two"}
	for i := range 12 { // several pages of the database
		pages[fmt.Sprintf("/%d?%s", i, strings.Repeat("long", 300))] = fmt.Sprint("page ", i)
	}
	crawl(t, r, start, pages)
	mustSucceed(t, r.SetTag(t.Context(), one(t, r, "/b", archive.Tag(host, start)), "words", "1"))
	crawl(t, r, start.Add(time.Hour), map[string]string{"/a": "three"})
	rows = dump(t, r)
	mustSucceed(t, r.Close())
	return dir, rows
}

// A database that is lost, damaged or wrong is built again from the XML of all versions, also those that
// are gone from the folders, and is equal to the one before. A damaged one is kept.
func TestRecover(t *testing.T) {
	original, before := damagedArchive(t)
	for name, tt := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "archive")
			mustSucceed(t, os.CopyFS(dir, os.DirFS(original)))
			mustSucceed(t, tt.harm(filepath.Join(dir, database)))
			r, err := Open(dir)
			if err == nil {
				mustSucceed(t, r.Close())
			}
			if err != nil && !strings.Contains(err.Error(), "archive db recover") {
				t.Errorf("error of Open: %v", err)
			}
			list, err := Check(t.Context(), dir)
			if err != nil || tt.aside && !strings.Contains(strings.Join(list, "\n"), "archive db recover") || tt.missing && len(list) == 0 {
				t.Errorf("check: %v, %v", list, err)
			}
			done, err := Recover(t.Context(), dir)
			if err != nil || done.Versions != 2 || (len(done.SetAside) > 0) != tt.aside {
				t.Fatalf("%+v, %v", done, err)
			}
			for _, name := range done.SetAside {
				if _, err := os.Lstat(filepath.Join(dir, name)); err != nil || !strings.Contains(name, ".damaged-") {
					t.Errorf("set aside as %s: %v", name, err)
				}
			}
			r = reopen(t, dir)
			if got := dump(t, r); got != before {
				t.Errorf("database:\n%s\nwant:\n%s", got, before)
			}
			if done, err = Recover(t.Context(), dir); err != nil || len(done.SetAside) > 0 {
				t.Errorf("second run: %+v, %v", done, err)
			}
			if commit := crawl(t, r, start.Add(2*time.Hour), map[string]string{"/a": "four"}); commit.Number != 3 {
				t.Errorf("the next number is %d", commit.Number)
			}
			mustSucceed(t, Init(dir)) // accepts what was set aside
		})
	}
}

// Files of an archive besides the database that are damaged, lost or replaced are made again, from git or
// from what is known, and what was there is kept.
func TestRepair(t *testing.T) {
	original, before := damagedArchive(t)
	asFolder := func(name string) error {
		return errors.Join(os.RemoveAll(name), os.MkdirAll(filepath.Join(name, "x"), 0o700))
	}
	write := func(text string) func(string) error {
		return func(name string) error { return os.WriteFile(name, []byte(text), 0o600) }
	}
	page := "content/" + host + "/a/"
	for name, tt := range map[string]struct {
		file  string
		harm  func(name string) error
		aside string // name of a file that is kept with what was there; "": none
	}{
		"nothing":            {page + "data.html", func(string) error { return nil }, ""},
		"page is changed":    {page + "data.html", write("THREE"), "/a/data.html"},
		"page is lost":       {page + "data.html", os.Remove, ""},
		"page is a folder":   {page + "data.html", asFolder, ""},
		"page is a link":     {page + "data.html", func(name string) error { return errors.Join(os.Remove(name), os.Symlink("/etc/passwd", name)) }, "/a/data.html"},
		"page is a pipe":     {page + "data.html", func(name string) error { return errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)) }, "/a/data.html"},
		"metadata are empty": {page + "data.xml", write(""), "/a/data.xml"},
		"folder is a file": {page, func(name string) error {
			return errors.Join(os.RemoveAll(name), os.WriteFile(filepath.Clean(name), []byte("x"), 0o600))
		}, "/a"},
		"folder is lost":            {page, os.RemoveAll, ""},
		"another file":              {page + "mine.txt", write("mine"), "/a/mine.txt"},
		"mark is lost":              {"content/" + host + "/.git/archive-complete", os.Remove, ""},
		"mark is noise":             {"content/" + host + "/.git/archive-complete", write("noise"), ""},
		"tag is wrong":              {"content/" + host + "/.git/" + tagRef(archive.Tag(host, start.Add(time.Hour))), os.Remove, ""},
		"last commit is noise":      {"commit.json", write("{"), "commit.json"},
		"last commit is a folder":   {"commit.json", asFolder, "commit.json"},
		"last commit is lost":       {"commit.json", os.Remove, ""},
		"schema is noise":           {"schema/page.xsd", write("<xs:schema>"), "page.xsd"},
		"schema is a folder":        {"schema/page.xsd", asFolder, "page.xsd"},
		"schema is lost":            {"schema/page.xsd", os.Remove, ""},
		"folder of schemas is lost": {"schema", os.RemoveAll, ""},
		"folder of locks is lost":   {"locks", os.RemoveAll, ""},
		"temporary folder is lost":  {"tmp", os.RemoveAll, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "archive")
			mustSucceed(t, os.CopyFS(dir, os.DirFS(original)))
			mustSucceed(t, tt.harm(filepath.Join(dir, tt.file)))
			done, err := Repair(t.Context(), dir)
			if err != nil || len(done.Left) > 0 {
				t.Fatalf("%+v, %v", done, err)
			}
			kept := strings.Join(done.SetAside, " ")
			if (tt.aside == "") != (kept == "") || !strings.Contains(kept, tt.aside) {
				t.Errorf("set aside %q, want %q", kept, tt.aside)
			}
			r := reopen(t, dir)
			if got := dump(t, r); got != before {
				t.Errorf("database:\n%s", got)
			}
			if got := read(t, r, one(t, r, "/a", archive.Tag(host, start.Add(time.Hour))), "data.html"); got != "three" {
				t.Errorf("page: %q", got)
			}
			if schema, err := r.Schema(); err != nil || !schema.Has("words") {
				t.Errorf("schema %v, %v", schema, err)
			}
			if commit := crawl(t, r, start.Add(2*time.Hour), map[string]string{"/a": "four"}); commit.Number != 3 {
				t.Errorf("the next number is %d", commit.Number)
			}
		})
	}
}

// Damage inside of git cannot be mended: it is named, and the other domains are repaired.
func TestDamagedGit(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one"})
	c, err := stageOf(t.Context(), r, "example.net", start, nil)
	mustSucceed(t, err)
	mustSucceed(t, c.Add(Page{URL: "https://example.net/", MIMEType: "text/html", Created: start, Content: []byte("other")}))
	_, err = c.Commit(t.Context(), nil)
	mustSucceed(t, err)
	objects, err := filepath.Glob(filepath.Join(r.Dir(), contentFolder, host, ".git", "objects", "??", "*"))
	if mustSucceed(t, err); len(objects) == 0 {
		t.Fatal("no objects")
	}
	for _, name := range objects {
		mustSucceed(t, os.Chmod(name, 0o600))
		mustSucceed(t, os.Truncate(name, 3))
	}
	mustSucceed(t, os.Remove(filepath.Join(r.Dir(), contentFolder, "example.net", "index", "data.html")))
	list, err := Check(t.Context(), r.Dir())
	text := strings.Join(list, "\n")
	if err != nil || !strings.Contains(text, host) || !strings.Contains(text, "example.net/index/data.html is missing; archive repair mends it") {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := Repair(t.Context(), r.Dir()); err == nil || !strings.Contains(err.Error(), host) {
		t.Errorf("repair: %v", err)
	}
	if got := read(t, r, one(t, r, "/a", archive.Tag(host, start)), "data.html"); got != "one" {
		t.Errorf("the newest version: %q", got)
	}
}

// Check names what was changed by hand.
func TestCheck(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one", "/b": "two", "/c": "three"})
	if got := differences(t, r); got != "" {
		t.Fatal(got)
	}
	folder := filepath.Join(r.Dir(), contentFolder, host)
	mustSucceed(t, os.WriteFile(filepath.Join(folder, "a", "data.html"), []byte("ONE"), 0o600))
	mustSucceed(t, os.Remove(filepath.Join(folder, "b", "data.html")))
	mustSucceed(t, os.WriteFile(filepath.Join(folder, "c", "more.txt"), []byte("x"), 0o600))
	mustSucceed(t, r.catalog.Replace(t.Context(), func(add func(catalog.Commit) error) error {
		m := one(t, r, "/a", archive.Tag(host, start))
		m.Title = "changed"
		return add(catalog.Commit{Number: 1, CommitTag: m.CommitTag, Domain: host, Time: m.CommitTime, Pages: []archive.Meta{m}})
	}))
	got := differences(t, r)
	for _, want := range []string{"a/data.html has other bytes", "b/data.html is missing", "c/more.txt is not in git", "/a has other metadata", "/b is missing", "/c is missing"} {
		if !strings.Contains(got, want) {
			t.Errorf("no difference %q in:\n%s", want, got)
		}
	}
}

// A link in a folder of the archive leads nobody out of it.
func TestLinks(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one"})
	m := one(t, r, "/a", archive.Tag(host, start))
	folder := filepath.Join(r.Dir(), contentFolder, host, "a")
	secret := filepath.Join(t.TempDir(), "secret")
	mustSucceed(t, os.Mkdir(secret, 0o700))
	mustSucceed(t, os.WriteFile(filepath.Join(secret, "file"), []byte("secret"), 0o600))
	mustSucceed(t, os.Symlink(filepath.Join(secret, "file"), filepath.Join(folder, "link.txt")))
	mustSucceed(t, os.Symlink(secret, filepath.Join(folder, "folder")))
	for _, name := range []string{"link.txt", "folder/file", "folder", "data.html/x"} {
		if f, err := r.Open(t.Context(), m, name); err == nil {
			f.Close()
			t.Errorf("%s can be read", name)
		}
	}
	if err := write(t, r, m, "folder/new", "x"); err == nil {
		t.Error("a file is written through a link")
	}
	if list, err := os.ReadDir(secret); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A crawl without pages changes nothing, one domain has one crawl at a time, filters drop pages, and two
// crawls of one second have different times.
func TestCrawls(t *testing.T) {
	r := newArchive(t)
	c, err := stage(t.Context(), r, start, map[string]string{"/a": "one", "/b": "two"})
	mustSucceed(t, err)
	_, err = r.Begin(t.Context(), host, start)
	mustFail(t, err, ErrCrawled)
	if want := fmt.Sprintf("process %d", os.Getpid()); !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	mustFail(t, c.Add(Page{URL: "https://other.example/"}), archive.ErrInvalid)
	commit, err := c.Commit(t.Context(), func(m archive.Meta) (bool, error) { return m.URL != "https://"+host+"/b", nil })
	if mustSucceed(t, err); len(query(t, r, "")) != 1 {
		t.Error("the dropped page is stored")
	}
	for name, keep := range map[string]func(archive.Meta) (bool, error){
		"none": func(archive.Meta) (bool, error) { return false, nil }, "fault": func(archive.Meta) (bool, error) { return true, errors.New("fault") },
	} {
		if c, err = stage(t.Context(), r, start, map[string]string{"/a": "new"}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Commit(t.Context(), keep); err == nil {
			t.Errorf("%s: committed", name)
		}
	}
	second := crawl(t, r, start, map[string]string{"/a": "two"})
	if second.CommitTag == commit.CommitTag || !second.Time.Equal(start.Add(time.Second)) {
		t.Errorf("tags %s, %s", commit.CommitTag, second.CommitTag)
	}
	mustBeSound(t, r)
}

// A git that was killed leaves lock files of its references; they stop nobody.
func TestLockFilesOfGit(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one"})
	tag := archive.Tag(host, start)
	for _, name := range []string{branch, tagRef(tag), "HEAD", "packed-refs"} {
		mustSucceed(t, os.WriteFile(filepath.Join(r.Dir(), contentFolder, host, ".git", name+".lock"), nil, 0o600))
	}
	mustSucceed(t, write(t, r, one(t, r, "/a", tag), "x.txt", "x"))
	crawl(t, r, start.Add(time.Hour), map[string]string{"/a": "two"})
	mustBeSound(t, r)
}

// Pages with hostile URLs, titles and types are stored and read back like others.
func TestHostilePages(t *testing.T) {
	r := newArchive(t)
	pages := map[string]string{}
	for _, name := range []string{
		"/.git/config", "/.gitattributes", "/.gitmodules", "/git~1", "/GIT~1/x", "/gitmod~1", "/%2e%2e/%2e%2e/x", "//..//x", "/\\..\\x", "/a\"b", "/con", "/aux.html", "/a.lock", "/x.",
		"/data.xml", "/data.xml/data.xml", "/data.html", "/index", "/", "/?", "/?../../x", "/" + strings.Repeat("n", 3000), "/" + strings.Repeat("d/", 1500), "/%00", "/%0a", "/%ff%fe", "/a%2fb", "/~long/x", "/tags@{1}",
	} {
		href, err := canonical.Canonical("https://" + host + name)
		mustSucceed(t, err)
		pages[strings.TrimPrefix(href, "https://"+host)] = "content of " + name
	}
	commit := crawl(t, r, start, pages)
	c, err := r.Begin(t.Context(), "[::1]:8080", start)
	mustSucceed(t, err)
	mustSucceed(t, c.Add(Page{URL: "http://[::1]:8080/", MIMEType: "x/]]><!--\x00", Title: "]]></title><!-- &amp; \x00\x1b\xff", Created: start, Content: []byte("x")}))
	_, err = c.Commit(t.Context(), nil)
	mustSucceed(t, err)
	mustBeSound(t, r)
	crawl(t, r, start.Add(time.Hour), map[string]string{"/only": "x"})
	for name, content := range pages {
		m := one(t, r, strings.ReplaceAll(name, "'", "''"), commit.CommitTag)
		if got := read(t, r, m, DataName(m.URL, m.MIMEType)); got != content {
			t.Errorf("%s: %q", name, got)
		}
	}
	mustBeSound(t, r)
}

// A person may run git gc: packed references and objects are read like others.
func TestPacked(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one"})
	crawl(t, r, start.Add(time.Hour), map[string]string{"/a": "two"})
	for i, want := range []string{"one", "two"} {
		for _, args := range [][]string{{"pack-refs", "--all"}, {"gc", "--quiet"}} {
			_, err := r.domainNamed(host).git.runCommand(t.Context(), nil, nil, args...)
			mustSucceed(t, err)
		}
		m := one(t, r, "/a", archive.Tag(host, start.Add(time.Duration(i)*time.Hour)))
		if got := read(t, r, m, "data.html"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		mustSucceed(t, write(t, r, one(t, r, "/a", archive.Tag(host, start.Add(time.Hour))), fmt.Sprint(i), "x"))
	}
	mustBeSound(t, r)
}

// The limits of a file and of a node; what is refused leaves nothing.
func TestLimits(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one"})
	m := one(t, r, "/a", archive.Tag(host, start))
	w, err := r.Create(t.Context(), m, "large")
	mustSucceed(t, err)
	block := make([]byte, 1<<20)
	for range MaxFile / len(block) {
		_, err := w.Write(block)
		mustSucceed(t, err)
	}
	_, err = w.Write([]byte{1})
	mustFail(t, err, archive.ErrInvalid)
	mustFail(t, w.Close(), archive.ErrInvalid)
	mustFail(t, r.SetTag(t.Context(), m, "x", strings.Repeat("x", pagexml.MaxContent+1)), archive.ErrInvalid)
	mustFail(t, r.SetTag(t.Context(), m, "x", "<a>"), archive.ErrInvalid)
	w, err = r.Create(t.Context(), m, "aborted")
	mustSucceed(t, err)
	mustSucceed(t, w.Abort())
	if list, err := r.List(t.Context(), m); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if schema, err := r.Schema(); err != nil || schema.Has("x") {
		t.Errorf("schema %v, %v", schema, err)
	}
	mustBeSound(t, r)
}

// Readers, writers and crawls at once: of the writers of one name one wins, and each read gives the bytes
// of its version.
func TestAtOnce(t *testing.T) {
	r := newArchive(t)
	other := reopen(t, r.Dir()) // as another process
	crawl(t, r, start, map[string]string{"/a": "version 0"})
	done := make(chan struct{})
	var wg sync.WaitGroup
	var won, reads atomic.Int64
	for i := range 4 {
		store := []*Repository{r, other}[i%2]
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				list, err := store.Query(t.Context(), archive.Query{OrderBy: "commitTime DESC"})
				if err != nil {
					t.Error(err)
					return
				}
				m := list[n%len(list)]
				f, err := store.Open(t.Context(), m, "data.html")
				if err != nil {
					t.Error(err)
					return
				}
				text, err := io.ReadAll(f)
				f.Close()
				if want := fmt.Sprintf("version %d", int(m.CommitTime.Sub(start).Hours())); err != nil || string(text) != want {
					t.Errorf("%q, %v, want %s", text, err, want)
				}
				reads.Add(1)
				switch err := write(t, store, list[0], fmt.Sprintf("file%d", n%3), "x"); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, archive.ErrExists) && !errors.Is(err, archive.ErrOutdated):
					t.Error(err)
				}
			}
		})
	}
	for i := 1; i < 4; i++ {
		crawl(t, r, start.Add(time.Duration(i)*time.Hour), map[string]string{"/a": fmt.Sprintf("version %d", i)})
		seen := reads.Load()
		testwait.Until(t, "readers read this version", func() bool { return reads.Load() >= seen+4 || t.Failed() })
	}
	close(done)
	wg.Wait()
	stored := int64(0)
	for _, m := range query(t, r, "") {
		list, err := r.List(t.Context(), m)
		mustSucceed(t, err)
		stored += int64(len(list)) - 2
	}
	if stored != won.Load() || stored == 0 {
		t.Errorf("%d files are stored, %d writes succeeded", stored, won.Load())
	}
	mustBeSound(t, r)
}
