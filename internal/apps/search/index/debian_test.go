//go:build sqlite_fts5

package index

import (
	"bytes"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"golang.org/x/net/html"

	"hce/dc/internal/apps/search"
)

// manuals are the pages of Debian's documentation packages, by language.
var manuals = []struct{ language, pattern string }{
	{"en", "/usr/share/doc/postgresql-doc-*/html/*.html"},
	{"en", "/usr/share/debian-reference/*.en.html"},
	{"de", "/usr/share/debian-reference/*.de.html"},
	{"es", "/usr/share/debian-reference/*.es.html"},
	{"es", "/usr/share/doc/aptitude/html/es/*.html"},
	{"fr", "/usr/share/debian-reference/*.fr.html"},
	{"ru", "/usr/share/doc/aptitude/html/ru/*.html"},
	{"ru", "/usr/share/doc/maint-guide-ru/html/*.ru.html"},
	{"ru", "/usr/share/doc/debian/FAQ/ru/*.html"},
}

// BenchmarkQuality asks questions about documentation that Debian packages install, and prints for each
// set how often the right page is first, here and with SQLite FTS5 (make bench-search).
func BenchmarkQuality(b *testing.B) {
	x, db := emptyIndex(b), newTable(b)
	var pages []search.Document
	for _, m := range manuals {
		paths, err := filepath.Glob(m.pattern)
		if err != nil || len(paths) == 0 {
			b.Fatalf("%s: no pages (%v); install the packages that make bench-search names", m.pattern, err)
		}
		for _, path := range paths {
			pages = append(pages, sections(b, path, m.language)...)
		}
	}
	for part := range slices.Chunk(pages, 500) {
		if err := x.Apply(Change{Put: part}); err != nil {
			b.Fatal(err)
		}
	}
	insert(b, db, pages)
	for b.Loop() {
		for _, set := range questionSets(pages) {
			here := measure(b, &x.reader, set.list)
			other := askTable(b, db, set.list)
			fmt.Printf("%-14s %4d questions: first %.3f (FTS5 %.3f), gain %.3f (FTS5 %.3f)\n",
				set.name, here.questions, here.firstShare(), other.firstShare(), here.meanGain(), other.meanGain())
			if here.firstShare() < other.firstShare() || here.meanGain() < other.meanGain() {
				b.Errorf("%s is below FTS5", set.name)
			}
		}
	}
	frequentWords(b, x, pages)
}

// frequentWords measures the 100 most frequent words, one at a time and in pairs.
func frequentWords(b *testing.B, x *Index, pages []search.Document) {
	counts := map[string]int{}
	for _, p := range pages {
		for _, w := range strings.Fields(strings.ToLower(p.Text)) {
			counts[w]++
		}
	}
	var list []string
	for w := range counts {
		if titleKey(w) == w {
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b string) int { return counts[b] - counts[a] })
	var times []time.Duration
	for i, w := range list[:100] {
		for _, text := range []string{w, w + " " + list[(i+1)%100]} {
			start := time.Now()
			if r := x.Run(b.Context(), search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: text, Limit: 10}); r.Error != "" {
				b.Fatal(r.Error)
			}
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	fmt.Printf("%d pages, 100 most frequent words and pairs of them: p50 %v, p99 %v\n", len(pages), times[len(times)/2], times[len(times)*99/100])
}

// sections returns the sections of a page that have a heading; PostgreSQL has one page for each.
func sections(b *testing.B, path, language string) (list []search.Document) {
	raw, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	root, err := html.Parse(bytes.NewReader(raw))
	if err != nil {
		b.Fatal(err)
	}
	url := "http://doc.example/" + strings.TrimPrefix(path, "/usr/share/")
	whole := search.Document{Kind: search.Pages, URL: url, Language: language}
	if strings.Contains(path, "postgresql") {
		whole.Title, whole.Text = visible(root, "title"), visible(root, "body")
		return []search.Document{whole}
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && (n.Data == "h2" || n.Data == "h3") && n.Parent != nil {
			d := whole
			d.URL, d.Title = fmt.Sprintf("%s?section=%d", url, len(list)), visible(n, n.Data)
			if box := sectionOf(n); box != nil && d.Title != "" {
				d.Text = visible(box, box.Data)
				list = append(list, d)
			}
		}
	}
	return list
}

// sectionOf returns the element that has the text below a heading.
func sectionOf(n *html.Node) *html.Node {
	for n != nil && !strings.HasPrefix(class(n), "sect") && n.Data != "section" && n.Data != "body" {
		n = n.Parent
	}
	return n
}

func class(n *html.Node) string {
	for _, a := range n.Attr {
		if a.Key == "class" {
			return a.Val
		}
	}
	return ""
}

// visible returns the text of the first element of a name.
func visible(n *html.Node, name string) string {
	var b strings.Builder
	var walk func(n *html.Node, in bool)
	walk = func(n *html.Node, in bool) {
		in = in || n.Type == html.ElementNode && n.Data == name
		if n.Type == html.TextNode && in {
			b.WriteString(n.Data + " ")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			if c.Data != "script" && c.Data != "style" {
				walk(c, in)
			}
		}
	}
	walk(n, false)
	return strings.Join(strings.Fields(b.String()), " ")
}

type questionSet struct {
	name string
	list []graded
}

// perLanguage is how many questions a language has: five for each page.
const perLanguage = 60

func questionSets(pages []search.Document) (sets []questionSet) {
	commands, chapters := questionSet{name: "SQL commands"}, questionSet{name: "sections"}
	keys := keysOf(pages)
	for i, p := range pages {
		switch name := filepath.Base(p.URL); {
		case !strings.Contains(p.URL, "postgresql"):
		case strings.HasPrefix(name, "sql-") && name != "sql-commands.html":
			commands.list = append(commands.list, titled(keys, pages, i, p.Title))
		case numbered.MatchString(p.Title):
			chapters.list = append(chapters.list, titled(keys, pages, i, numbered.ReplaceAllString(p.Title, "")))
		}
	}
	sets = append(sets, commands, chapters)
	random := rand.New(rand.NewPCG(1, 2))
	for _, language := range []string{"en", "de", "es", "fr", "ru"} {
		var set questionSet
		for _, i := range random.Perm(len(pages)) {
			if p := pages[i]; p.Language == language && len(set.list) < perLanguage {
				set.list = append(set.list, askedFor(random, keys, pages, i)...)
			}
		}
		set.name = language
		sets = append(sets, set)
	}
	return sets
}

func newTable(b *testing.B) *sql.DB {
	db, err := sql.Open("sqlite3", filepath.Join(b.TempDir(), "fts5.db"))
	if err == nil {
		_, err = db.Exec(`CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, body, tokenize = 'unicode61 remove_diacritics 2')`)
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return db
}

func insert(b *testing.B, db *sql.DB, pages []search.Document) {
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range pages {
		if _, err := tx.Exec(`INSERT INTO page VALUES (?, ?, ?)`, p.URL, p.Title, p.Text); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// askTable asks SQLite, with a weight of three for titles: first for all words, then for any.
func askTable(b *testing.B, db *sql.DB, list []graded) (q quality) {
	for _, g := range list {
		var words []string
		for _, w := range strings.Fields(titleKey(g.Question)) {
			words = append(words, `"`+w+`"`)
		}
		found := match(b, db, strings.Join(words, " "))
		if len(found) == 0 {
			found = match(b, db, strings.Join(words, " OR "))
		}
		q.add(g, found)
	}
	return q
}

func match(b *testing.B, db *sql.DB, text string) (urls []string) {
	rows, err := db.Query(`SELECT url FROM page WHERE page MATCH ? ORDER BY bm25(page, 0, 3, 1) LIMIT 10`, text)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var url string
		if err := rows.Scan(&url); err != nil {
			b.Fatal(err)
		}
		urls = append(urls, url)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return urls
}
