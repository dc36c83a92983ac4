package catalog

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/apps/archive"
	sqltext "hce/dc/sql"
)

var first = time.Date(2026, 3, 1, 23, 30, 0, 0, archive.Zone)

// commit returns a commit with pages of these names.
func commit(number int64, domain string, names ...string) Commit {
	at := first.Add(time.Duration(number) * time.Hour)
	c := Commit{Number: number, Domain: domain, Time: at, CommitTag: archive.Tag(domain, at)}
	for _, name := range names {
		kind := "text/html"
		if strings.HasSuffix(name, ".png") {
			kind = "image/png"
		}
		c.Pages = append(c.Pages, archive.Meta{
			URL: "https://" + domain + "/" + name, MIMEType: kind, Title: "It's " + name, Path: "content/" + domain + "/" + name, Domain: domain,
			CommitTime: at, CreateTime: first.AddDate(-1, 0, 0), CommitTag: c.CommitTag,
		})
	}
	return c
}

func newCatalog(t *testing.T) *Catalog {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	for _, commit := range []Commit{commit(1, "a.example", "x", "y.png"), commit(2, "b.example", "x"), commit(5, "a.example", "x", "Z")} {
		for range 2 { // the second one changes nothing
			if err := c.Add(t.Context(), commit); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

func TestQuery(t *testing.T) {
	c := newCatalog(t)
	for _, tt := range []struct {
		where, order string
		limit        int
		want         string // number/name
	}{
		{"", "", 0, "1/x 1/y.png 2/x 5/Z 5/x"},
		{"", "commitTime DESC, url DESC", 0, "5/x 5/Z 2/x 1/y.png 1/x"},
		{"", "", 2, "1/x 1/y.png"},
		{"mimeType = 'image/png'", "", 0, "1/y.png"},
		{"mimeType LIKE 'text/%' AND domain = 'a.example'", "url", 0, "5/Z 1/x 5/x"},
		{"MIMETYPE='TEXT/HTML' AND Url='https://b.example/x'", "", 0, "2/x"},
		{"title = 'It''s x'", "", 0, "1/x 2/x 5/x"},
		{`title = "It\'s Z"`, "", 0, "5/Z"},
		{"commitTime > '2026-03-02 01:00:00'", "", 0, "2/x 5/Z 5/x"},
		{"commitTime >= '2026-03-02T04:30:00'", "", 0, "5/Z 5/x"},
		{"DATE(commitTime) = '2026-03-02' AND createTime < '2026-01-01'", "mimeType, url", 1, "1/y.png"},
		{"commitTag = 'b.example@2026-03-02T01:30:00'", "", 0, "2/x"},
		{"path LIKE 'content/a.example/%' AND url <> 'https://a.example/x'", "", 0, "1/y.png 5/Z"},
		{"commitTime > DATE_ADD(NOW(), INTERVAL 1 DAY) AND commitTime < NOW()", "", 0, ""},
	} {
		list, err := c.Query(t.Context(), archive.Query{Where: tt.where, OrderBy: tt.order, Limit: tt.limit})
		if err != nil {
			t.Errorf("%s: %v", tt.where, err)
			continue
		}
		var got []string
		for _, m := range list {
			got = append(got, fmt.Sprintf("%d/%s", int(m.CommitTime.Sub(first).Hours()), m.URL[strings.LastIndex(m.URL, "/")+1:]))
		}
		if text := strings.Join(got, " "); text != tt.want {
			t.Errorf("%s, %s: %s, want %s", tt.where, tt.order, text, tt.want)
		}
	}
}

// A condition of a client reads the columns of the pages, and nothing else.
func TestHostileQueries(t *testing.T) {
	c := newCatalog(t)
	for _, q := range []archive.Query{
		{Where: "1); DELETE FROM pages; --"}, {Where: "1 -- x"}, {Where: "number = 1"}, {Where: "EXISTS (SELECT 1 FROM commits)"}, {Where: "url IN (SELECT name FROM sqlite_master)"},
		{Where: "load_extension('x')"}, {Where: "1) UNION SELECT 1"}, {Where: "readfile('/etc/passwd')"}, {Where: "SLEEP(9)"}, {Where: "rowid = 1"}, {Where: "?"},
		{OrderBy: "url LIMIT 1"}, {OrderBy: "url; DROP TABLE pages"}, {OrderBy: "(SELECT 1 FROM commits)"}, {OrderBy: "nothing"}, {Limit: -1},
		{Where: strings.Repeat("(", 10000)}, {Where: "'"}, {Where: "\x00"}, {Where: "SELECT"},
	} {
		if list, err := c.Query(t.Context(), q); !errors.Is(err, archive.ErrInvalid) {
			t.Errorf("%.60v: %d rows, %v", q, len(list), err)
		}
	}
	if _, err := c.read.Exec("DELETE FROM pages"); err == nil {
		t.Error("the connections of readers can write")
	}
}

func TestCommits(t *testing.T) {
	c := newCatalog(t)
	for _, tt := range []struct {
		after int64
		limit int
		want  string
	}{{0, 0, "[1 2 5]"}, {1, 1, "[2]"}, {2, 10, "[5]"}, {5, 10, "[]"}} {
		list, err := c.Commits(t.Context(), tt.after, tt.limit)
		if err != nil {
			t.Fatal(err)
		}
		numbers := []int64{}
		for _, commit := range list {
			numbers = append(numbers, commit.Number)
		}
		if fmt.Sprint(numbers) != tt.want {
			t.Errorf("after %d: %v, want %s", tt.after, numbers, tt.want)
		}
	}
	if newest, found, err := c.Newest(t.Context(), "a.example"); err != nil || !found || newest.Number != 5 || !newest.Time.Equal(first.Add(5*time.Hour)) {
		t.Errorf("newest %v, %v, %v", newest, found, err)
	}
	if _, found, err := c.Newest(t.Context(), "c.example"); err != nil || found {
		t.Errorf("unknown domain: %v, %v", found, err)
	}
	if _, err := c.Page(t.Context(), "https://a.example/x", "b.example@x"); !errors.Is(err, archive.ErrNotFound) {
		t.Errorf("unknown version: %v", err)
	}
}

// Replace stores the new rows, or leaves the old ones.
func TestReplace(t *testing.T) {
	c := newCatalog(t)
	dump := func() (text string) {
		if err := c.EachCommit(t.Context(), func(commit Commit) error {
			text += fmt.Sprintf("%d %s %d\n", commit.Number, commit.CommitTag, len(commit.Pages))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return text
	}
	before := dump()
	broken := errors.New("broken")
	if err := c.Replace(t.Context(), func(add func(Commit) error) error {
		return errors.Join(add(commit(9, "c.example", "x")), broken)
	}); !errors.Is(err, broken) || dump() != before {
		t.Errorf("%v: %s", err, dump())
	}
	if err := c.Replace(t.Context(), func(add func(Commit) error) error { return add(commit(9, "c.example", "x")) }); err != nil || !strings.HasPrefix(dump(), "9 c.example@") {
		t.Errorf("%v: %s", err, dump())
	}
}

// A file that is no database is told apart from other faults.
func TestDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "archive.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !Damaged(err) {
		t.Errorf("error %v", err)
	}
}

// Each file of sql/archive is one statement that SQLite accepts.
func TestStatements(t *testing.T) {
	c := newCatalog(t)
	entries, err := sqltext.Archive.ReadDir("archive")
	if err != nil || len(entries) < 8 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".sql")
		if name == "create" {
			continue
		}
		statement := strings.NewReplacer("{condition}", "1", "{order}", "").Replace(statementText(name))
		s, err := c.write.PrepareContext(context.Background(), statement)
		if err != nil || strings.Contains(statement, ";") {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Close()
	}
}
