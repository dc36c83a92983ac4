// Package colly crawls a site with the library Colly, as its users would store a site: a
// file for each body and a row of an SQLite database for each page. With Extract another row has what
// the library go-trafilatura finds in the page.
//
//	pages, err := colly.Crawl(root, 4, dir, colly.Store)
package colly

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/markusmobius/go-trafilatura"
	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"hce/dc/bench/floor"
)

const schema = `CREATE TABLE pages (
	url TEXT PRIMARY KEY, depth INTEGER, code INTEGER, type TEXT,
	size INTEGER, fetched INTEGER, file TEXT);
	CREATE TABLE articles (
	url TEXT PRIMARY KEY, title TEXT, author TEXT, date TEXT, language TEXT, description TEXT, text TEXT)`

// Work is what is done with a page.
type Work int

const (
	Store   Work = iota // the body and a row
	Extract             // also the article
)

// Crawl fetches all URLs that start with root and are reachable from it, with as many
// requests at a time as parallel. It returns the number of rows with text/html.
//
// A kill of the program loses no row; a power failure may lose the last ones, because a
// commit syncs nothing (WAL, synchronous = NORMAL). Files are not synced either.
func Crawl(root *url.URL, parallel int, dir string, work Work) (pages int, err error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "pages.db")+"?_journal_mode=WAL&_synchronous=NORMAL")
	if err != nil {
		return 0, fmt.Errorf("open database: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1) // SQLite has one writer
	if _, err := db.Exec(schema); err != nil {
		return 0, fmt.Errorf("create table: %w", err)
	}
	insert, err := db.Prepare("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return 0, fmt.Errorf("prepare row: %w", err)
	}
	defer insert.Close()
	article, err := db.Prepare("INSERT OR REPLACE INTO articles VALUES (?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return 0, fmt.Errorf("prepare row: %w", err)
	}
	defer article.Close()

	var fault firstError
	c := colly.NewCollector(colly.Async(), colly.MaxBodySize(100<<20),
		colly.URLFilters(regexp.MustCompile("^"+regexp.QuoteMeta(root.String()))))
	c.SetRequestTimeout(time.Minute)
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: parallel}); err != nil {
		return 0, fmt.Errorf("limit requests: %w", err)
	}
	c.WithTransport(&http.Transport{MaxIdleConnsPerHost: parallel})
	c.OnResponse(func(r *colly.Response) {
		file := filepath.Join(dir, fmt.Sprintf("%08d", r.Request.ID))
		fault.add(os.WriteFile(file, r.Body, 0o644))
		_, err := insert.Exec(r.Request.URL.String(), r.Request.Depth, r.StatusCode,
			r.Headers.Get("Content-Type"), len(r.Body), time.Now().UnixMilli(), file)
		fault.add(err)
		if work == Extract && r.StatusCode == 200 && strings.HasPrefix(r.Headers.Get("Content-Type"), "text/html") {
			fault.add(storeArticle(article, r.Request.URL, r.Body))
		}
	})
	c.OnHTML(urlSelector(), func(e *colly.HTMLElement) {
		// Colly would fetch a page once for each fragment.
		link, _, _ := strings.Cut(e.Attr(floor.Attributes[e.Name]), "#")
		// An error says that the URL is known or belongs to another site.
		_ = e.Request.Visit(link)
	})
	if err := c.Visit(root.String()); err != nil {
		return 0, fmt.Errorf("visit %s: %w", root, err)
	}
	c.Wait()
	fault.add(db.QueryRow("SELECT count(*) FROM pages WHERE code = 200 AND type LIKE 'text/html%'").Scan(&pages))
	return pages, fault.err
}

// storeArticle stores the article of a page. A page without one has no row.
func storeArticle(insert *sql.Stmt, page *url.URL, body []byte) error {
	x, err := trafilatura.Extract(bytes.NewReader(body), trafilatura.Options{OriginalURL: page, ExcludeComments: true})
	if err != nil {
		return nil
	}
	m := x.Metadata
	_, err = insert.Exec(page.String(), m.Title, m.Author, m.Date.Format(time.DateOnly), m.Language, m.Description, x.ContentText)
	return err
}

// urlSelector matches every element with a URL in the attribute that floor reads.
func urlSelector() string {
	var parts []string
	for name, attribute := range floor.Attributes {
		parts = append(parts, name+"["+attribute+"]")
	}
	return strings.Join(parts, ",")
}

// firstError keeps the first error of several goroutines. The zero value is ready for use.
type firstError struct {
	mu  sync.Mutex
	err error
}

func (f *firstError) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		f.err = err
	}
}
