package archivetest

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/apps/archive"
)

// Crawler stores a crawl of a domain in the archive under test.
type Crawler func(t testing.TB, domain string, pages map[string]string) archive.Commit

// Suite runs the laws of archive.Store. open returns an empty archive, and what crawls into it.
func Suite(t *testing.T, open func(t *testing.T) (archive.Store, Crawler)) {
	for name, law := range map[string]func(*testing.T, archive.Store, Crawler){
		"versions are read back":      versionsAreReadBack,
		"queries select and sort":     queriesSelectAndSort,
		"files are never overwritten": filesAreNeverOverwritten,
		"outdated versions are kept":  outdatedVersionsAreKept,
		"one of many writers wins":    oneOfManyWritersWins,
		"an aborted file has no name": anAbortedFileHasNoName,
		"tags are added once":         tagsAreAddedOnce,
		"names stay in their folder":  namesStayInTheirFolder,
		"unknown things":              unknownThings,
		"commits continue":            commitsContinue,
	} {
		t.Run(name, func(t *testing.T) {
			store, crawl := open(t)
			law(t, store, crawl)
		})
	}
}

// Page returns the current version of the only page in the archive.
func Page(t testing.TB, s archive.Store) archive.Meta {
	t.Helper()
	list, err := s.Query(t.Context(), archive.Query{OrderBy: "commitTime DESC", Limit: 1})
	if err != nil || len(list) != 1 {
		t.Fatalf("query: %d versions, %v", len(list), err)
	}
	return list[0]
}

// Read returns a file, which must exist.
func Read(t testing.TB, s archive.Store, m archive.Meta, name string) string {
	t.Helper()
	r, err := s.Open(t.Context(), m, name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Write adds a file.
func Write(t testing.TB, s archive.Store, m archive.Meta, name, text string) error {
	t.Helper()
	w, err := s.Create(t.Context(), m, name)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, text); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}

// Want checks the kind of an error.
func Want(t testing.TB, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func versionsAreReadBack(t *testing.T, s archive.Store, crawl Crawler) {
	texts := []string{"<p>one", "<p>two", "<p>three"}
	for _, text := range texts {
		crawl(t, "example.org", map[string]string{"/a.html": text})
	}
	list, err := s.Query(t.Context(), archive.Query{OrderBy: "commitTime"})
	if err != nil || len(list) != len(texts) {
		t.Fatalf("%d versions, %v", len(list), err)
	}
	for i, m := range list {
		if got := Read(t, s, m, "data.html"); got != texts[i] {
			t.Errorf("version %d: %q, want %q", i, got, texts[i])
		}
		if m.CommitTag != archive.Tag(m.Domain, m.CommitTime) || m.URL != "http://example.org/a.html" || m.MIMEType != "text/html" {
			t.Errorf("version %d: %+v", i, m)
		}
		files, err := s.List(t.Context(), m)
		if err != nil || len(files) == 0 || files[0] != (archive.File{Name: "data.html", Size: int64(len(texts[i]))}) {
			t.Errorf("version %d: files %v, %v", i, files, err)
		}
	}
}

func queriesSelectAndSort(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "a", "/b.html": "b", "/c.bin": "\x00\x01"})
	list, err := s.Query(t.Context(), archive.Query{Where: "mimeType = 'text/html' AND domain = 'example.org'", OrderBy: "url DESC"})
	if err != nil || len(list) != 2 || list[0].URL != "http://example.org/b.html" {
		t.Errorf("%v, %v", list, err)
	}
	list, err = s.Query(t.Context(), archive.Query{Where: "url = 'nowhere'"})
	if err != nil || list == nil || len(list) != 0 {
		t.Errorf("no match: %v, %v", list, err)
	}
	for _, bad := range []archive.Query{{Where: "1; DROP TABLE versions"}, {Where: "SLEEP(1)"}, {Where: "a = 1"}, {OrderBy: "url; x"}, {Where: "("}} {
		_, err := s.Query(t.Context(), bad)
		Want(t, bad.Where+bad.OrderBy, err, archive.ErrInvalid)
	}
}

func filesAreNeverOverwritten(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	if err := Write(t, s, m, "notes/words.txt", "12"); err != nil {
		t.Fatal(err)
	}
	Want(t, "second write", Write(t, s, m, "notes/words.txt", "13"), archive.ErrExists)
	Want(t, "write to the page", Write(t, s, m, "data.html", "13"), archive.ErrExists)
	if a, b := Read(t, s, m, "notes/words.txt"), Read(t, s, m, "data.html"); a != "12" || b != "<p>one" {
		t.Errorf("files %q and %q", a, b)
	}
	if err := Write(t, s, m, "empty", ""); err != nil || Read(t, s, m, "empty") != "" {
		t.Errorf("empty file: %v", err)
	}
}

func outdatedVersionsAreKept(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	w, err := s.Create(t.Context(), m, "late.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(w, "late")
	crawl(t, "example.org", map[string]string{"/a.html": "<p>two"})
	Want(t, "close after a crawl", errors.Join(err, w.Close()), archive.ErrOutdated)
	Want(t, "create", Write(t, s, m, "later.txt", "x"), archive.ErrOutdated)
	Want(t, "tag", s.SetTag(t.Context(), m, "words", "1"), archive.ErrOutdated)
	if got := Read(t, s, m, "data.html"); got != "<p>one" {
		t.Errorf("old version: %q", got)
	}
	for _, m := range []archive.Meta{m, Page(t, s)} {
		_, err = s.Open(t.Context(), m, "late.txt")
		Want(t, "open", err, archive.ErrNotFound)
	}
}

func oneOfManyWritersWins(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	var all sync.WaitGroup
	texts := []string{"first", "second", "third", "fourth"}
	errs := make([]error, len(texts))
	for i, text := range texts {
		all.Go(func() { errs[i] = Write(t, s, m, "one.txt", strings.Repeat(text, 1000)) })
	}
	all.Wait()
	won := ""
	for i, err := range errs {
		if err == nil {
			won += texts[i]
		} else {
			Want(t, "loser", err, archive.ErrExists)
		}
	}
	if got := Read(t, s, m, "one.txt"); won == "" || got != strings.Repeat(won, 1000) {
		t.Errorf("%d bytes, won %q", len(got), won)
	}
}

func anAbortedFileHasNoName(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	w, err := s.Create(t.Context(), m, "part.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = io.WriteString(w, strings.Repeat("part", 50000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Open(t.Context(), m, "part.txt")
	Want(t, "open", err, archive.ErrNotFound)
	if err := Write(t, s, m, "part.txt", "whole"); err != nil || Read(t, s, m, "part.txt") != "whole" {
		t.Errorf("write after an abort: %v", err)
	}
}

func tagsAreAddedOnce(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	_, err := s.Tag(t.Context(), m, "words")
	Want(t, "tag before", err, archive.ErrNotFound)
	if err := s.SetTag(t.Context(), m, "words", "<total>12</total>"); err != nil {
		t.Fatal(err)
	}
	Want(t, "second", s.SetTag(t.Context(), m, "words", "<total>13</total>"), archive.ErrExists)
	text, err := s.Tag(t.Context(), m, "words")
	if err != nil || !strings.Contains(text, "<total>12</total>") {
		t.Errorf("%q, %v", text, err)
	}
	Want(t, "broken XML", s.SetTag(t.Context(), m, "other", "<a>"), archive.ErrInvalid)
	Want(t, "broken name", s.SetTag(t.Context(), m, "a b", "x"), archive.ErrInvalid)
}

func namesStayInTheirFolder(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	for _, name := range []string{"", ".", "..", "../x", "a/../../x", "/etc/passwd", "a//b", "a/", strings.Repeat("n", 5000), "a\x00b", "\xff", "a\nb"} {
		Want(t, fmt.Sprintf("create %.20q", name), Write(t, s, m, name, "x"), archive.ErrInvalid)
		if r, err := s.Open(t.Context(), m, name); err == nil {
			r.Close()
			t.Errorf("open %.20q: no error", name)
		}
	}
}

func unknownThings(t *testing.T, s archive.Store, crawl Crawler) {
	crawl(t, "example.org", map[string]string{"/a.html": "<p>one"})
	m := Page(t, s)
	_, err := s.Open(t.Context(), m, "nothing.txt")
	Want(t, "file", err, archive.ErrNotFound)
	for _, wrong := range []archive.Meta{{URL: m.URL, CommitTag: "example.org@1999-01-01T00:00:00"}, {URL: "http://example.org/x", CommitTag: m.CommitTag}} {
		_, err = s.List(t.Context(), wrong)
		Want(t, "list", err, archive.ErrNotFound)
		_, err = s.Open(t.Context(), wrong, "data.html")
		Want(t, "open", err, archive.ErrNotFound)
		_, err = s.Create(t.Context(), wrong, "x.txt")
		Want(t, "create", err, archive.ErrNotFound)
	}
}

func commitsContinue(t *testing.T, s archive.Store, crawl Crawler) {
	var want []archive.Commit
	for _, domain := range []string{"a.example", "b.example", "a.example"} {
		want = append(want, crawl(t, domain, map[string]string{"/a.html": "x"}))
	}
	var got []archive.Commit
	after := int64(0)
	for {
		list, err := s.Commits(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		got = append(got, list...)
		after = list[len(list)-1].Number
	}
	for i, c := range got {
		if i < len(want) && (c.Number != want[i].Number || c.CommitTag != want[i].CommitTag || !c.Time.Equal(want[i].Time)) {
			t.Errorf("commit %d: %+v, want %+v", i, c, want[i])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d commits, want %d", len(got), len(want))
	}
}
