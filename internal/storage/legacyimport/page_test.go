package legacyimport

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/wire"
)

func TestMain(m *testing.M) { os.Exit(mariadbtest.Main(m)) }

// newSource creates original databases with a table sites and runs statements in them.
// {urls} and the like become names of databases.
func newSource(t *testing.T, statements ...string) *source {
	t.Helper()
	server := mariadbtest.Start(t)
	names := server.Names(t)
	pool, err := sql.Open("mysql", server.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	pool.SetMaxOpenConns(1)
	before := []string{"SET sql_mode = ''"}
	for _, name := range names {
		before = append(before, "CREATE DATABASE "+name)
	}
	before = append(before, "USE "+names[sqldb.Sites], "CREATE TABLE {sites}.sites (Id varchar(32) PRIMARY KEY) ENGINE=MyISAM DEFAULT CHARSET=utf8")
	for _, text := range append(before, statements...) {
		for long, name := range names {
			text = strings.ReplaceAll(text, "{"+strings.TrimPrefix(long, "dc_")+"}", name)
		}
		if _, err := pool.Exec(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	s, err := openSource(t.Context(), Options{Server: sqldb.Server{Socket: server.Socket, User: server.User}, Names: names})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.pool.Close() })
	return s
}

// Each copy of a key, even of the empty one, is read exactly once for every page size.
func TestPagesOfCopies(t *testing.T) {
	s := newSource(t, "CREATE TABLE {urls_deleted}.urls_s (URL varchar(4096), URLMd5 varchar(32), KEY (URLMd5)) ENGINE=MyISAM DEFAULT CHARSET=utf8",
		"INSERT INTO {urls_deleted}.urls_s SELECT seq, MD5(seq DIV 4) FROM seq_1_to_23",
		"INSERT INTO {urls_deleted}.urls_s VALUES ('x', ''), ('y', ''), ('z', '')",
		"UPDATE {urls_deleted}.urls_s SET URLMd5 = UPPER(URLMd5) WHERE URL % 2 = 1")
	for most := 1; most < 30; most++ {
		var urls []string
		at, pages := wire.Bookmark{}, 0
		for ; !at.Done; pages++ {
			page, next, err := s.deletedURLs(t.Context(), "s", at, most)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) > most || pages > 40 {
				t.Fatalf("page %d has %d rows", pages, len(page))
			}
			for _, p := range page {
				urls = append(urls, p.Text("URL"))
			}
			at = next
		}
		slices.Sort(urls)
		if len(urls) != 26 || len(slices.Compact(urls)) != 26 {
			t.Errorf("pages of %d: %d rows, %d of them different", most, len(urls), len(slices.Compact(urls)))
		}
	}
}

// Pages of large values end early. A value above valueMax is dropped.
func TestPagesOfLargeValues(t *testing.T) {
	s := newSource(t, "CREATE TABLE {contents}.contents_s (id varchar(32) PRIMARY KEY, data longblob NOT NULL) ENGINE=MyISAM DEFAULT CHARSET=utf8",
		"INSERT INTO {contents}.contents_s SELECT MD5(seq), REPEAT('x', 3000000) FROM seq_1_to_7",
		fmt.Sprintf("INSERT INTO {contents}.contents_s VALUES (MD5('large'), REPEAT('x', %d)), (MD5('largest that fits'), REPEAT('x', %d)), (MD5('empty'), '')", valueMax+1, valueMax))
	found, pages := 0, 0
	for at := (wire.Bookmark{}); !at.Done; pages++ {
		page, next, err := s.readContents(t.Context(), "s", at)
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, e := range page {
			size += len(e.Data)
		}
		if size > pageBytes+valueMax {
			t.Errorf("a page of %d bytes", size)
		}
		found, at = found+len(page), next
	}
	if found != 9 || pages < 3 || s.changes["contents.data: too long, left out"] != 1 {
		t.Errorf("%d entries in %d pages, %v", found, pages, s.changes)
	}
}

// The connection cannot write.
func TestReadOnly(t *testing.T) {
	s := newSource(t)
	if _, err := s.pool.Exec("INSERT INTO " + s.quotedName(sqldb.Sites, "sites") + " VALUES ('x')"); err == nil || !strings.Contains(err.Error(), "READ ONLY") {
		t.Error(err)
	}
	for _, missing := range []func() (int, error){
		func() (int, error) {
			p, _, err := s.readURLs(t.Context(), "missing", wire.Bookmark{}, 10)
			return len(p), err
		},
		func() (int, error) {
			p, _, err := s.readJournal(t.Context(), "missing", wire.Bookmark{}, 10)
			return len(p), err
		},
		func() (int, error) { p, _, err := s.readProxies(t.Context(), wire.Bookmark{}, 10); return len(p), err },
	} {
		if n, err := missing(); n != 0 || err != nil {
			t.Errorf("missing table: %d rows, %v", n, err)
		}
	}
}
