package keyvalue

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"hce/dc/internal/wire"
)

// Sites ignores rows that are not entries. DropEmpty keeps a file with such rows.
func TestWalkOfOldFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"s.db":          `CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME); INSERT INTO articles VALUES('b', 'x', NULL), ('no id', 'x', NULL), (NULL, 'x', NULL), (x'61', 'x', NULL), ('', 'x', NULL)`,
		"foreign.db":    `CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME); INSERT INTO articles VALUES('no id', 'x', NULL)`,
		"raw.db":        `CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME); CREATE TABLE raw_contents(id VARCHAR(32) PRIMARY KEY, data TEXT)`,
		"empty.db":      `CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME)`,
		"s_fields.db":   `CREATE TABLE titles(url_id VARCHAR(32) PRIMARY KEY, data TEXT)`,
		"not a site.db": `CREATE TABLE articles(id VARCHAR(32) PRIMARY KEY, data TEXT, CDate DATETIME); INSERT INTO articles VALUES('b', 'x', NULL)`,
	} {
		d, err := openFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		_, err = d.Exec(text)
		want(t, err, nil)
		want(t, d.Close(), nil)
	}
	s := open(t, dir, Options{})
	sites, err := s.Sites(ctx)
	want(t, err, nil)
	want(t, sites, []string{"s"})
	page, err := s.Page(ctx, "s", "", 1<<20)
	want(t, err, nil)
	want(t, page, []wire.Entry{{ID: "b", Data: []byte("x")}})
	want(t, s.Delete(ctx, "s", "b"), nil)
	for _, site := range []string{"s", "foreign", "raw", "empty"} {
		want(t, s.DropEmpty(ctx, site), nil)
		want(t, exists(filepath.Join(dir, site+".db")), site != "empty")
	}
	fields, err := openFile(filepath.Join(dir, "s_fields.db"))
	want(t, err, nil)
	defer fields.Close()
	var n int
	want(t, fields.QueryRow("SELECT COUNT(*) FROM sqlite_master WHERE name = 'articles'").Scan(&n), nil)
	want(t, n, 0)
}

func TestSitesOfCorruptFile(t *testing.T) {
	dir := t.TempDir()
	want(t, os.WriteFile(filepath.Join(dir, "s.db"), make([]byte, 5000), 0o644), nil)
	if sites, err := open(t, dir, Options{}).Sites(ctx); err == nil {
		t.Errorf("sites %v", sites)
	}
}

// A process that holds the deleted file open writes to the new file.
func TestDropEmptyUnderOthers(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, Options{})
	p := start(t, dir)
	want(t, p.ask("put s a old"), "[true]")
	want(t, s.DropEmpty(ctx, "s"), nil)
	want(t, get(t, s, "s", "a"), "old")
	want(t, s.Delete(ctx, "s", "a"), nil)
	want(t, s.DropEmpty(ctx, "s"), nil)
	want(t, exists(filepath.Join(dir, "s.db")), false)
	want(t, p.ask("get s a"), "false")
	want(t, p.ask("put s b new"), "[true]")
	want(t, get(t, s, "s", "b"), "new")

	// Deletions during its writes must not lose a stored entry.
	p.send("many t p")
	for range 50 {
		want(t, s.DropEmpty(ctx, "t"), nil)
	}
	want(t, p.answer(), "ok")
	n := 0
	err := s.readSite(ctx, "t", func(c *sql.Conn) error {
		return c.QueryRowContext(ctx, "SELECT COUNT(*) FROM articles").Scan(&n)
	})
	want(t, err, nil)
	want(t, n, 60)
}
