package storage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
	"hce/dc/internal/wire/urlkey"
)

// sqlite3 runs the program of the system on a file and returns what it prints.
func sqlite3(t *testing.T, file, input string, args ...string) string {
	t.Helper()
	c := exec.Command("sqlite3", append([]string{"-bail", "-init", os.DevNull}, append(args, file)...)...)
	c.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil || errs.Len() > 0 {
		t.Fatalf("sqlite3 %s: %v: %s", clipped(input), err, errs.String())
	}
	return strings.TrimSpace(out.String())
}

func clipped(s string) string { return s[:min(len(s), 200)] }

// crawled returns a node with pages, a broken link and a deleted site.
func crawled(t *testing.T) *node {
	n := withPage(t)
	n.fill()
	n.good(`["SITE_NEW",{"id":"gone","urls":["http://gone.example.test/"]}]`)
	n.good(`["SITE_DELETE",{"id":"gone"}]`)
	var links []wire.Link
	for _, name := range []string{"b", "c", "it's"} {
		link := wire.NewURL(site, root+name)
		link.ParentMd5 = md5
		links = append(links, wire.Link{URL: link})
	}
	found := func(key string, code int64, bits errormask.Mask, links []wire.Link) wire.Fetched {
		return wire.Fetched{URLMd5: key, Crawled: true, First: true, Links: links, Set: schema.Patch{
			"Status": int64(wire.StatusCrawled), "HTTPCode": code, "ErrorMask": int64(bits), "Size": int64(1000), "ContentType": "text/html",
			"RawContentMd5": md5, "CrawlingTime": int64(120), "TcDate": "2026-01-05 10:00:00",
		}}
	}
	save := func(results ...wire.Fetched) {
		t.Helper()
		rows := make([]wire.URL, len(results))
		for i, r := range results {
			rows[i] = wire.URL{SiteID: site, URLMd5: r.URLMd5}
		}
		_, err := n.MarkCrawling(t.Context(), site, 7, rows)
		n.must(err)
		_, err = n.SaveCrawl(t.Context(), site, 7, results)
		n.must(err)
	}
	save(found(md5, 200, 0, links))
	save(found(urlkey.Of(root+"b"), 200, 0, nil), found(urlkey.Of(root+"c"), 404, errormask.HTTP, nil))
	return n
}

// The sqlite3 program of the system checks, vacuums, dumps and restores the database while it is
// open, and the restored file is a store with the same answers.
func TestDatabaseForSQLite3(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		t.Log("the database is no file")
		return
	}
	n := crawled(t)
	before := answers(n)
	for _, statement := range []string{"PRAGMA integrity_check", "VACUUM", "PRAGMA integrity_check", "PRAGMA foreign_key_check"} {
		if out := sqlite3(t, n.config.Path, statement+";"); out != "ok" && out != "" {
			t.Errorf("%s: %s", statement, out)
		}
	}
	if got := answers(n); got != before {
		t.Errorf("after VACUUM:\n%s\nwant\n%s", got, before)
	}
	config := n.config
	config.Path = filepath.Join(t.TempDir(), "restored.db")
	sqlite3(t, config.Path, sqlite3(t, n.config.Path, ".dump"))
	if out := sqlite3(t, config.Path, "PRAGMA integrity_check;"); out != "ok" {
		t.Errorf("the restored file: %s", out)
	}
	if got := answers(newNodeOn(t, config)); got != before {
		t.Errorf("restored:\n%s\nwant\n%s", got, before)
	}
}

// answers returns what the stores answer about the site and its URLs.
func answers(n *node) string {
	return n.good(fmt.Sprintf(`["SITE_STATUS",{"id":%q}]`, site)) + "\n" +
		n.good(fmt.Sprintf(`["URL_FETCH",[{"sitesList":[%q],"urlsCriterions":{"ORDER BY":"LENGTH(ParentMd5), Priority DESC, Depth, UDate DESC, URLMd5"}}]]`, site))
}

var sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")

// The queries of docs/database.md give rows.
func TestDocumentedQueries(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		t.Log("the views are those of SQLite")
		return
	}
	n := crawled(t)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "database.md"))
	n.must(err)
	blocks := sqlBlock.FindAllSubmatch(text, -1)
	if len(blocks) < 6 {
		t.Fatalf("only %d queries", len(blocks))
	}
	for _, block := range blocks {
		if out := sqlite3(t, n.config.Path, string(block[1]), "-readonly"); out == "" {
			t.Errorf("no row: %s", block[1])
		}
	}
	// The page describes each column of each view.
	for _, view := range []string{"sites", "urls", "pages"} {
		part := between(string(text), "\n### "+view+"\n", "\n## ")
		if view == "pages" { // its columns are those of urls and one more
			part = string(text)
		}
		columns := strings.Fields(sqlite3(t, n.config.Path, "SELECT name FROM pragma_table_info('"+view+"');", "-readonly"))
		if len(columns) < 15 {
			t.Errorf("%s has only %q", view, columns)
		}
		for _, column := range columns {
			if !strings.Contains(part, "`"+column+"`") {
				t.Errorf("the page does not describe %s.%s", view, column)
			}
		}
	}
	// Each name in backquotes in the first cell of a table is a column.
	for _, m := range regexp.MustCompile("(?m)^\\| (`[^|]+) \\|").FindAllStringSubmatch(between(string(text), "\n## Views\n", "\n## "), -1) {
		for _, name := range strings.Split(strings.ReplaceAll(m[1], "`", ""), ", ") {
			if sqlite3(t, n.config.Path, "SELECT count(*) FROM (SELECT name FROM pragma_table_info('sites') UNION ALL SELECT name FROM pragma_table_info('pages')) WHERE name = '"+name+"';", "-readonly") == "0" {
				t.Errorf("the page describes %s, which no view has", name)
			}
		}
	}
	for query, want := range map[string]string{
		"SELECT root, urls, errors, waiting FROM sites WHERE site = '" + site + "';": root + "|5|1|2",
		"SELECT url, status, state, parent FROM pages ORDER BY url;":                 page + "|crawled|enabled|" + root + "\n" + root + "b|crawled|enabled|" + page,
		"SELECT http_code FROM urls WHERE url LIKE '%/c';":                           "404",
		"SELECT COUNT(*) FROM sites WHERE site = 'gone';":                            "0",
	} {
		if out := sqlite3(t, n.config.Path, query, "-readonly"); out != want {
			t.Errorf("%s %s, want %s", query, out, want)
		}
	}
}

// between returns the part of a text behind begin and before end.
func between(text, begin, end string) string {
	_, text, _ = strings.Cut(text, begin)
	text, _, _ = strings.Cut(text, end)
	return text
}

// The view pages has the rows of wire.FetchedPage, and the filter of the general site takes the codes of
// wire.PageCodes, whatever code an answer has.
func TestPageCodes(t *testing.T) {
	n := withPage(t)
	n.fill()
	var links []wire.Link
	var results []wire.Fetched
	for code := int64(198); code < 312; code++ {
		for _, mask := range []int64{0, wire.ResourceMask} {
			link := wire.NewURL(site, fmt.Sprintf("%s%d-%d", root, code, mask))
			link.ParentMd5 = md5
			links = append(links, wire.Link{URL: link})
			results = append(results, wire.Fetched{URLMd5: link.URLMd5, Crawled: true, First: true, Set: schema.Patch{
				"Status": int64(wire.StatusCrawled), "HTTPCode": code, "Size": int64(9), "ContentType": "text/html", "TagsMask": mask, "TcDate": "2026-01-05 10:00:00",
			}})
		}
	}
	save := func(results ...wire.Fetched) {
		rows := make([]wire.URL, len(results))
		for i, r := range results {
			rows[i] = wire.URL{SiteID: site, URLMd5: r.URLMd5}
		}
		_, err := n.MarkCrawling(t.Context(), site, 7, rows)
		n.must(err)
		_, err = n.SaveCrawl(t.Context(), site, 7, results)
		n.must(err)
	}
	save(wire.Fetched{URLMd5: md5, Crawled: true, Links: links, Set: schema.Patch{"Status": int64(wire.StatusCrawled), "HTTPCode": int64(200), "TcDate": "2026-01-05 10:00:00"}})
	save(results...)
	choose := func(where string) string {
		keys, err := n.Select("test", site, wire.Criterion{Where: where, Limit: "1000"}).Next(t.Context())
		n.must(err)
		slices.Sort(keys)
		return strings.Join(keys, "\n")
	}
	if got := strings.Count(choose(wire.FetchedPage), "\n"); got < 90 {
		t.Fatalf("only %d pages", got)
	}
	if backend == sqldb.DriverSQLite {
		if got, want := sqlite3(t, n.config.Path, "SELECT md5 FROM pages ORDER BY md5;", "-readonly"), choose(wire.FetchedPage); got != want {
			t.Errorf("the view pages has %d rows, want %d", strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
	}
	general, err := n.Site(t.Context(), wire.GeneralSite)
	n.must(err)
	filter := general.Filters[1].Pattern
	_, codes, _ := strings.Cut(filter, " AND %HTTPCODE%")
	if got, want := choose("`HTTPCode`"+strings.ReplaceAll(codes, "%HTTPCODE%", "`HTTPCode`")), choose(wire.PageCodes); got != want {
		t.Errorf("the filter %s takes %d rows, want %d", filter, strings.Count(got, "\n"), strings.Count(want, "\n"))
	}
}
