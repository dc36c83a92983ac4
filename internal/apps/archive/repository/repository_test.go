package repository

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	"hce/dc/internal/apps/archive/catalog"
)

const host = "example.org"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, archive.Zone)

func newArchive(t testing.TB) *Repository {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "archive")
	if err := Init(dir); err != nil {
		t.Fatal(err)
	}
	return reopen(t, dir)
}

func reopen(t testing.TB, dir string) *Repository {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// crawl commits pages: path to content.
func crawl(t testing.TB, r *Repository, at time.Time, pages map[string]string) archive.Commit {
	t.Helper()
	c, err := stage(t.Context(), r, at, pages)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := c.Commit(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

func stage(ctx context.Context, r *Repository, at time.Time, pages map[string]string) (*Crawl, error) {
	return stageOf(ctx, r, host, at, pages)
}

func stageOf(ctx context.Context, r *Repository, host string, at time.Time, pages map[string]string) (*Crawl, error) {
	c, err := r.Begin(ctx, host, at)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		kind := "text/html"
		if strings.HasSuffix(name, ".xml") {
			kind = "application/xml"
		}
		err := c.Add(Page{URL: "https://" + host + name, MIMEType: kind, Title: "Title of " + name, Created: at.Add(-time.Hour), Content: []byte(pages[name])})
		if err != nil {
			return nil, errors.Join(err, c.Abort())
		}
	}
	return c, nil
}

func read(t testing.TB, r *Repository, m archive.Meta, name string) string {
	t.Helper()
	f, err := r.Open(t.Context(), m, name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func query(t testing.TB, r *Repository, where string) []archive.Meta {
	t.Helper()
	list, err := r.Query(t.Context(), archive.Query{Where: where})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// one returns the version of a page.
func one(t testing.TB, r *Repository, path, tag string) archive.Meta {
	t.Helper()
	list := query(t, r, fmt.Sprintf("url = 'https://%s%s' AND commitTag = '%s'", host, path, tag))
	if len(list) != 1 {
		t.Fatalf("%d versions of %s at %s", len(list), path, tag)
	}
	return list[0]
}

func write(t testing.TB, r *Repository, m archive.Meta, name, content string) error {
	t.Helper()
	w, err := r.Create(t.Context(), m, name)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	return w.Close()
}

func mustSucceed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustFail(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// Three crawls of a changing site give three commits, and every version reads back byte for byte.
func TestVersions(t *testing.T) {
	r := newArchive(t)
	versions := []map[string]string{
		{"/": "home 1", "/a": "page a\r\n\x00\xff", "/a/b.html": "below a", "/old.html": "<p>old</p>", "/feed.xml": "<feed/>"},
		{"/": "home 2", "/a": "page a\r\n\x00\xff", "/a/b.html": "", "/new?x=1&y=/z": "query"},
		{"/": "home 3", "/old.html": "back again"},
	}
	var commits []archive.Commit
	for i, pages := range versions {
		commits = append(commits, crawl(t, r, start.Add(time.Duration(i)*time.Hour), pages))
	}
	r = reopen(t, r.Dir())
	listed, err := r.Commits(t.Context(), 0, 0)
	mustSucceed(t, err)
	if !slices.EqualFunc(listed, commits, func(a, b archive.Commit) bool {
		return a.Number == b.Number && a.CommitTag == b.CommitTag && a.Time.Equal(b.Time)
	}) {
		t.Errorf("commits %v, want %v", listed, commits)
	}
	for i, pages := range versions {
		tag := archive.Tag(host, start.Add(time.Duration(i)*time.Hour))
		if n := len(query(t, r, "commitTag = '"+tag+"'")); n != len(pages) {
			t.Errorf("version %d has %d pages, want %d", i, n, len(pages))
		}
		for path, content := range pages {
			m := one(t, r, path, tag)
			if m.Title != "Title of "+path || !m.CommitTime.Equal(listed[i].Time) || !m.CreateTime.Equal(listed[i].Time.Add(-time.Hour)) {
				t.Errorf("%+v", m)
			}
			if got := read(t, r, m, DataName(m.URL, m.MIMEType)); got != content {
				t.Errorf("version %d of %s: %q, want %q", i, path, got, content)
			}
			list, err := r.List(t.Context(), m)
			if mustSucceed(t, err); len(list) != 2 || list[1].Name != metaFile && list[0].Name != metaFile {
				t.Errorf("files of version %d of %s: %v", i, path, list)
			}
		}
	}
	mustBeSound(t, r)
}

// Clients add files and nodes to the current version only, and never replace any.
func TestClients(t *testing.T) {
	r := newArchive(t)
	crawl(t, r, start, map[string]string{"/a": "one", "/b": "two"})
	first := one(t, r, "/a", archive.Tag(host, start))
	mustSucceed(t, write(t, r, first, "words.txt", "1 one\n"))
	mustSucceed(t, write(t, r, first, "more/deep file.txt", "x"))
	mustSucceed(t, r.SetTag(t.Context(), first, "words", "<n>1</n> &amp; more"))
	check := func() {
		t.Helper()
		if got := read(t, r, first, "words.txt"); got != "1 one\n" {
			t.Errorf("words.txt: %q", got)
		}
		if got := read(t, r, first, "more/deep file.txt"); got != "x" {
			t.Errorf("deep file: %q", got)
		}
		if got, err := r.Tag(t.Context(), first, "words"); got != "<words><n>1</n> &amp; more</words>" || err != nil {
			t.Errorf("tag %q, %v", got, err)
		}
		_, err := r.Tag(t.Context(), first, "other")
		mustFail(t, err, archive.ErrNotFound)
		_, err = r.Open(t.Context(), first, "none.txt")
		mustFail(t, err, archive.ErrNotFound)
	}
	check()
	for _, name := range []string{"words.txt", "WORDS.txt", "words.txt/x", "more", "data.html", "data.xml"} {
		mustFail(t, write(t, r, first, name, "new"), archive.ErrExists)
	}
	mustFail(t, r.SetTag(t.Context(), first, "words", "2"), archive.ErrExists)
	waiting, err := r.Create(t.Context(), first, "late.txt")
	mustSucceed(t, err)
	crawl(t, r, start.Add(time.Hour), map[string]string{"/a": "three"})
	mustFail(t, waiting.Close(), archive.ErrOutdated)
	mustFail(t, write(t, r, first, "later.txt", "x"), archive.ErrOutdated)
	mustFail(t, r.SetTag(t.Context(), first, "later", "x"), archive.ErrOutdated)
	gone := one(t, r, "/b", archive.Tag(host, start))
	mustFail(t, write(t, r, gone, "x.txt", "x"), archive.ErrOutdated)
	check()
	list, err := r.List(t.Context(), one(t, r, "/a", archive.Tag(host, start.Add(time.Hour))))
	if mustSucceed(t, err); len(list) != 2 {
		t.Errorf("files of the new version: %v", list)
	}
	unknown := first
	unknown.URL += "x"
	_, err = r.List(t.Context(), unknown)
	mustFail(t, err, archive.ErrNotFound)
	mustBeSound(t, r)
}

// mustBeSound compares database, files and XML with git, and the database with one that is built again.
func mustBeSound(t testing.TB, r *Repository) {
	t.Helper()
	differences, err := r.Check(t.Context())
	if mustSucceed(t, err); len(differences) > 0 {
		t.Errorf("differences:\n%s", strings.Join(differences, "\n"))
	}
	before := dump(t, r)
	if _, err := Recover(t.Context(), r.Dir()); err != nil {
		t.Fatal(err)
	}
	if after := dump(t, r); after != before {
		t.Errorf("the database differs after it was built again:\n%s\nbefore:\n%s", after, before)
	}
}

func dump(t testing.TB, r *Repository) string {
	t.Helper()
	var b strings.Builder
	mustSucceed(t, r.catalog.EachCommit(t.Context(), func(c catalog.Commit) error {
		fmt.Fprintf(&b, "%+v\n", c)
		return nil
	}))
	return b.String()
}
