package expr

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
)

func init() {
	sql.Register("expr_sqlite", &sqlite3.SQLiteDriver{ConnectHook: func(c *sqlite3.SQLiteConn) error {
		for _, f := range SQLiteFunctions() {
			register := c.RegisterFunc
			if f.Aggregate {
				register = c.RegisterAggregator
			}
			if err := register(f.Name, f.Impl, true); err != nil {
				return fmt.Errorf("register %s: %w", f.Name, err)
			}
		}
		return nil
	}})
}

// testNow is a Monday.
var testNow = time.Date(2026, 1, 5, 14, 30, 45, 0, time.UTC)

// urlColumns and siteColumns are the columns of docs/spec/storage.md 1.5 and 1.1 that
// conditions use most.
var urlColumns = map[string]Kind{
	"Site_Id": Key, "URL": Text, "Type": Int, "State": Int, "Status": Int, "Crawled": Int, "Processed": Int,
	"URLMd5": Key, "ContentType": Text, "Charset": Text, "Batch_Id": Int, "ErrorMask": Int, "CrawlingTime": Int,
	"HTTPCode": Int, "HTTPTimeout": Float, "Size": Int, "Freq": Int, "Depth": Int, "ParentMd5": Key, "MRate": Float, "MRateCounter": Int, "UDate": Time,
	"CDate": Time, "TcDate": Time, "PDate": Time, "LastModified": Time, "TagsMask": Int, "TagsCount": Int, "Priority": Int, "TotalTime": Int,
}

var siteColumns = map[string]Kind{
	"Id": Key, "Description": Text, "CDate": Time, "UDate": Time, "TcDate": Time, "TcDateProcess": Time, "Resources": Int, "Contents": Int, "CollectedURLs": Int,
	"Iterations": Int, "State": Int, "Priority": Int, "MaxURLs": Int, "Errors": Int, "Size": Int, "AVGSpeed": Int, "User_Id": Int,
	"RecrawlPeriod": Int, "RecrawlDate": Time, "HTTPTimeout": Float,
}

var proxyColumns = map[string]Kind{
	"Id": Int, "Site_Id": Key, "Host": Text, "Domains": Text, "Priority": Int, "State": Int, "Limits": Text,
}

var (
	urlTable      = Table{Database: "dc_urls", Name: "urls_s1", Columns: urlColumns}
	siteTable     = Table{Database: "dc_sites", Name: "sites", Columns: siteColumns}
	proxyTable    = Table{Database: "dc_sites", Name: "sites_proxy", Columns: proxyColumns}
	propertyTable = Table{Database: "dc_sites", Name: "sites_properties", Columns: map[string]Kind{
		"Site_Id": Key, "URLMd5": Key, "Name": Text, "Value": Text, "UDate": Time, "CDate": Time,
	}}
)

// quoteSQLite drops the database name: one file holds all databases.
func quoteSQLite(_, table string) string { return `"` + table + `"` }

func urlScope() Scope {
	return Scope{Now: testNow, Table: urlTable, Foreign: []Table{siteTable, propertyTable, proxyTable}, Quote: quoteSQLite}
}

func siteScope() Scope {
	return Scope{Now: testNow, Table: siteTable, Foreign: []Table{propertyTable, urlTable}, Quote: quoteSQLite}
}

func proxyScope() Scope { return Scope{Now: testNow, Table: proxyTable, Quote: quoteSQLite} }

var kindNames = map[Kind]string{Int: "INTEGER", Float: "REAL", Text: "TEXT", Key: "TEXT", Time: "TEXT", Blob: "BLOB"}

// openTest creates a database with the tables above and the rows a to h of site s1.
func openTest(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("expr_sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, table := range []Table{urlTable, siteTable, propertyTable, proxyTable} {
		text := ""
		for _, name := range columnsOf(table) {
			text += ", " + quoteBackticks(name) + " " + kindNames[table.Columns[name]]
		}
		run(t, db, "CREATE TABLE "+quoteBackticks(table.Name)+" ("+text[2:]+")")
	}
	run(t, db, "CREATE INDEX url_status ON urls_s1 (Status, State)")
	run(t, db, "CREATE INDEX url_key ON urls_s1 (URLMd5)")
	run(t, db, "CREATE INDEX url_date ON urls_s1 (UDate)")
	rows := []struct {
		key, parent, ctype     string
		status, state, crawled int
		size, mask, code, tags int64
		udate                  any
	}{
		{"a", "", "text/html", 1, 0, 0, 0, 0, 0, 0, "2026-01-05 14:00:00"},
		{"b", "a", "TEXT/HTML", 4, 0, 1, 1000, 0, 200, 0, "2026-01-05 13:00:00"},
		{"c", "a", "text/html ", 4, 0, 2, 2000, 1 << 20, 200, 0, "2026-01-04 14:30:45"},
		{"d", "a", "image/png", 4, 0, 1, 3000, 0, 200, 0, "2025-12-31 23:59:59"},
		{"e", "a", "text/html", 4, 0, 1, 10, 4, 404, 0, "2026-01-05 14:30:45"},
		{"f", "b", "text/xml", 7, 0, 3, 500, 0, 200, 5, "2026-01-01 00:00:00"},
		{"g", "b", "", 2, 0, 0, 0, 1 << 52, 0, 0, "2026-01-05 10:00:00"},
		{"h", "b", "text/html", 4, 2, 0, 0, 0, 0, 0, nil},
	}
	for i, r := range rows {
		run(t, db, `INSERT INTO urls_s1 (Site_Id, URL, Type, URLMd5, ParentMd5, ContentType, Status, State, Crawled, Processed, Size,
			ErrorMask, HTTPCode, TagsCount, UDate, CDate, TcDate, PDate, Depth, Priority, HTTPTimeout, MRate, TagsMask, Batch_Id)
			VALUES ('s1', ?, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '2025-06-01 00:00:00', '2026-01-05 00:00:00', ?, ?, ?, 30000, 0.5, ?, 0)`,
			"http://x.org/"+r.key, r.key, r.parent, r.ctype, r.status, r.state, r.crawled, r.tags/5, r.size, r.mask, r.code, r.tags, r.udate, r.udate, i, 10*i, r.tags)
	}
	for _, s := range []struct {
		id            string
		state, period int
		recrawl       any
	}{{"s1", 1, 60, "2026-01-05 00:00:00"}, {"s2", 1, 1440, "2026-02-01 00:00:00"}, {"s3", 3, 10, nil}, {"0", 1, 0, nil}} {
		run(t, db, `INSERT INTO sites (Id, State, RecrawlPeriod, RecrawlDate, Priority, User_Id, Iterations, Resources, Contents, CollectedURLs, Errors, Size, AVGSpeed, CDate, TcDate)
			VALUES (?, ?, ?, ?, 100, 1, 3, 1, 2, 3, 4, 5, 6, '2026-01-01 00:00:00', '2026-01-05 00:00:00')`, s.id, s.state, s.period, s.recrawl)
	}
	for _, p := range [][3]string{{"s1", "MODES_FLAG", "9"}, {"s2", "MODES_FLAG", "2"}, {"s1", "OTHER", "x"}, {"s3", "INCREMENTAL_CRAWLING", "1"}} {
		run(t, db, "INSERT INTO sites_properties (Site_Id, URLMd5, Name, Value) VALUES (?, '', ?, ?)", p[0], p[1], p[2])
	}
	return db
}

func columnsOf(table Table) []string { return slices.Sorted(maps.Keys(table.Columns)) }

func run(t testing.TB, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.Exec(text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// cell evaluates an expression and returns its value.
func cell(db *sql.DB, q SQL) (any, error) {
	var v any
	err := db.QueryRow("SELECT "+q.Text, q.Args...).Scan(&v)
	if b, ok := v.([]byte); ok {
		v = string(b)
	}
	return v, err
}

// firstColumn returns the first column of a query as texts.
func firstColumn(t testing.TB, db *sql.DB, text string, args []any) []string {
	t.Helper()
	rows, err := db.Query(text, args...)
	if err != nil {
		t.Fatalf("%s %v: %v", text, args, err)
	}
	defer rows.Close()
	list := []string{}
	for rows.Next() {
		var s sql.NullString
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s.String)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s %v: %v", text, args, err)
	}
	return list
}
