package sqlstore

import (
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// crawlOrder is the order of the shipped settings (docs/spec/daemon.md 2.4).
const crawlOrder = "LENGTH(ParentMd5), Priority DESC, Depth, UDate DESC"

// plan returns SQLite's query plan of a text.
func (b *bench) plan(text string, args ...any) string {
	b.Helper()
	var lines []string
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		return t.Each("EXPLAIN QUERY PLAN "+text, args, func(scan func(...any) error) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			lines = append(lines, detail)
			return err
		})
	}))
	return strings.Join(lines, "; ")
}

// Each index of the schema serves a statement. No frequent statement scans or sorts a table
// of URLs.
func TestHotStatementsUseIndexes(t *testing.T) {
	if backend != sqldb.DriverSQLite {
		testHotStatementsOnMySQL(t)
		return
	}
	b := newBench(t)
	selection := func(c wire.Criterion) string {
		var text string
		b.must(b.runReadTx(ctx, "test", func(t *tx) (err error) {
			text, _, err = t.URLQuery("URLMd5", "", "0", c, "")
			return err
		}))
		return text
	}
	named := func(name string) string {
		text, err := b.db.Text(name, "0")
		b.must(err)
		return text
	}
	urls := b.db.SiteTable(sqldb.URLs, "0")
	cases := map[string]struct {
		text, index string
		args        int
	}{
		"crawl":   {selection(wire.Criterion{Where: "Status=1 AND State=0", OrderBy: crawlOrder, Limit: "500"}), "urls.status (Site_Id=? AND Status=? AND State=?)", 5},
		"process": {selection(wire.Criterion{Where: "Type<>6 AND Status=4 AND State=0 AND Crawled>0 AND Size>0 AND (ErrorMask & 4198399)=0 AND HTTPCode=200", OrderBy: crawlOrder, Limit: "500"}), "urls.status (Site_Id=? AND Status=? AND State=?)", 11},
		"fetch":   {selection(wire.Criterion{OrderBy: "CDate ASC", Limit: "20"}), "urls.cdate (Site_Id=?)", 3},
		"export": {selection(wire.Criterion{Where: "`URLMd5` > 'aa' AND (`State`=0 AND `Crawled`>0 AND `HTTPCode` BETWEEN 200 AND 299)", OrderBy: "`URLMd5` ASC", Limit: "100"}),
			"(Site_Id=? AND URLMd5>?)", 8},
		"exported":    {selection(wire.Criterion{Where: "`URLMd5` IN ('aa','bb') AND (`State`=0 AND `Crawled`>0 AND `HTTPCode` BETWEEN 200 AND 299)", Limit: "100"}), "(Site_Id=? AND URLMd5=?)", 9},
		"batch":       {named("urls_in_work"), "urls.status (Site_Id=? AND Status=?)", 1},
		"masks":       {named("site_mask_above"), "COVERING INDEX dc_urls.urls.errors (Site_Id=? AND ErrorMask>?", 2},
		"known links": {"SELECT URLMd5 FROM " + urls + " WHERE Site_Id = ? AND URLMd5 IN (" + tables.Placeholders(500) + ")", "COVERING INDEX sqlite_autoindex_dc_urls.urls_1 (Site_Id=? AND URLMd5=?)", 501},
		"old links": {"SELECT URLMd5, Status FROM " + urls + " AS `urls_0` WHERE Site_Id = ? AND URLMd5 IN (" + tables.Placeholders(500) + ") AND " + outcomes.Resettable + " AND (Status = 1 OR Batch_Id <> ?) AND NOT COALESCE((UDate > ?), 0)",
			"(Site_Id=? AND URLMd5=?)", 503},
		"freq":          {"UPDATE " + urls + " SET Freq = Freq + ? WHERE Site_Id = ? AND URLMd5 IN (" + tables.Placeholders(500) + ")", "(Site_Id=? AND URLMd5=?)", 502},
		"mark":          {"UPDATE " + urls + " SET Status = 3 WHERE Site_Id = ? AND URLMd5 IN (" + tables.Placeholders(500) + ")", "(Site_Id=? AND URLMd5=?)", 501},
		"finish":        {"UPDATE " + urls + " SET Status = 4 WHERE Site_Id = ? AND URLMd5 = ? AND Status = ? AND Batch_Id = ?", "(Site_Id=? AND URLMd5=?)", 4},
		"site of a URL": {"SELECT URLMd5, Site_Id FROM " + b.db.Table(sqldb.Sites, "sites_urls") + " WHERE URLMd5 IN (" + tables.Placeholders(8) + ")", "COVERING INDEX dc_sites.sites_urls.md5 (URLMd5=?)", 8},
		"property":      {"SELECT Value FROM " + b.db.Table(sqldb.Sites, "sites_properties") + " WHERE Site_Id = ? AND Name = ? ORDER BY rowid", "sites_properties.site (Site_Id=? AND Name=?)", 2},
		"site":          {named("site_touch"), "PRIMARY KEY (Id=?)", 4},
		"filters":       {"SELECT * FROM " + b.db.Table(sqldb.Sites, "sites_filters") + " WHERE Site_Id = ? ORDER BY rowid", "sites_filters.site (Site_Id=?)", 1},
		"attributes":    {named("attribute_set"), "(Site_Id=? AND URLMd5=? AND Name=?)", 4},
		"copies":        {"SELECT URL FROM " + b.db.SiteTable(sqldb.Deleted, "0") + " WHERE Site_Id = ? AND URLMd5 = ?", "urls.md5 (Site_Id=? AND URLMd5=?)", 2},
		"next keys":     {"SELECT URLMd5 FROM " + urls + " AS `urls` WHERE (Site_Id = ?) AND (URLMd5 > ?) ORDER BY URLMd5 LIMIT ?", "(Site_Id=? AND URLMd5>?)", 3},
		"next deleted":  {"SELECT URLMd5 FROM " + b.db.SiteTable(sqldb.Deleted, "0") + " WHERE (Site_Id = ?) AND (URLMd5 > ?) ORDER BY URLMd5 LIMIT ?", "urls.md5 (Site_Id=? AND URLMd5>?)", 3},
		"leases":        {named("leases_wanted"), "COVERING INDEX dc_sites.sites.wanted (Id>?)", 2},
		"held links":    {named("links_held_page"), "dc_sites.links_held.site (Site_Id=?)", 2},
		"history":       {"SELECT * FROM " + b.db.SiteTable(sqldb.Logs, "0") + " WHERE Site_Id = ? AND URLMd5 = ?", "log.md5 (Site_Id=? AND URLMd5=?)", 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			args := make([]any, c.args)
			for i := range args {
				args[i] = 1
			}
			plan := b.plan(c.text, args...)
			if !strings.Contains(plan, c.index) || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("plan = %s\nwant %s\nof %s", plan, c.index, c.text)
			}
		})
	}
}

// Concurrent processes that fetch and mark never get the same row.
func TestConcurrentFetchesGetDifferentRows(t *testing.T) {
	b := newBench(t)
	b.fill(2, 50)
	other, err := sqldb.Open(ctx, b.config)
	b.must(err)
	defer other.Close()
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for i, s := range []*Store{b.Store, Open(other, b.db.Options), b.Store, Open(other, b.db.Options)} {
		wg.Go(func() {
			for {
				urls, err := s.URLFetch(ctx, []wire.URLFetchRequest{{MaxURLs: 7, URLsCriterion: wire.Criterion{Where: "Status=1", OrderBy: crawlOrder},
					URLUpdate: schema.Patch{"Status": int64(2), "Batch_Id": int64(i + 1)}}})
				if err != nil {
					t.Error(err)
				}
				if len(urls) == 0 {
					return
				}
				mu.Lock()
				for _, u := range urls {
					seen[u.URLMd5]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 100 {
		t.Errorf("%d rows of 100 were fetched", len(seen))
	}
	for md5, n := range seen {
		if n != 1 {
			t.Errorf("%s was fetched %d times", md5, n)
		}
	}
	b.checkCounters("s0", "fetches")
}

// explain returns MySQL's query plan of a text: access type, key and remarks of each table.
func (b *bench) explain(text string, args ...any) string {
	b.Helper()
	var lines []string
	b.must(b.db.Update(ctx, func(t *sqldb.Tx) error {
		lines = nil
		return t.Each("EXPLAIN "+text, args, func(scan func(...any) error) error {
			var fields [10]sql.NullString // id, select_type, table, type, possible_keys, key, key_len, ref, rows, Extra
			into := make([]any, len(fields))
			for i := range fields {
				into[i] = &fields[i]
			}
			err := scan(into...)
			lines = append(lines, fields[3].String+" "+fields[5].String+" "+fields[9].String)
			return err
		})
	}))
	return strings.Join(lines, "; ")
}

// The optimizer depends on the contents of the tables, so the rows are inserted and
// analyzed.
func testHotStatementsOnMySQL(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["http://example.com/"]}`)
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
		var rows []*wire.URL
		for i := range 5000 {
			u := linkTo(i)
			u.CDate = schema.DateOf(b.now.Add(time.Duration(i) * time.Second))
			switch {
			case i%10 == 0:
				u.Status, u.Crawled, u.Size, u.HTTPCode = wire.StatusCrawled, 1, 100, 200
			case i%1000 == 1:
				u.Status, u.ErrorMask = wire.StatusCrawling, 4
			}
			rows = append(rows, &u)
		}
		return t.AddURLs("s", rows)
	}))
	b.analyze("s")
	selection := func(c wire.Criterion) (text string, args []any) {
		b.must(b.runReadTx(ctx, "test", func(t *tx) (err error) {
			text, args, err = t.URLQuery("URLMd5", "", "s", c, "")
			return err
		}))
		return text, args
	}
	named := func(name string, args ...any) (string, []any) {
		text, err := b.db.Text(name, "s")
		b.must(err)
		return text, args
	}
	plain := func(text string, args ...any) (string, []any) { return text, args }
	keys := make([]any, 100)
	for i := range keys {
		keys[i] = linkTo(i).URLMd5
	}
	urls := b.db.SiteTable(sqldb.URLs, "s")
	check := func(name, want string) func(text string, args []any) {
		return func(text string, args []any) {
			t.Run(name, func(t *testing.T) {
				plan := b.explain(text, args...)
				if !strings.Contains(plan, want) || strings.Contains(plan, "ALL ") || strings.Contains(plan, "filesort") || strings.Contains(plan, "temporary") {
					t.Errorf("plan = %s\nwant %s\nof %s", plan, want, text)
				}
			})
		}
	}
	check("crawl", " status")(selection(wire.Criterion{Where: "Status=1 AND State=0", OrderBy: crawlOrder, Limit: "500"}))
	check("process", " status")(selection(wire.Criterion{Where: "Type<>6 AND Status=4 AND State=0 AND Crawled>0 AND Size>0 AND (ErrorMask & 4198399)=0 AND HTTPCode=200", OrderBy: crawlOrder, Limit: "500"}))
	check("fetch", "index cdate")(selection(wire.Criterion{OrderBy: "CDate ASC", Limit: "20"}))
	check("batch", "range status")(named("urls_in_work", "s"))
	check("masks", "range errors")(named("site_mask_above", "s", 0))
	check("known links", "range PRIMARY")(plain("SELECT URLMd5 FROM "+urls+" WHERE Site_Id = 's' AND URLMd5 IN ("+tables.Placeholders(len(keys))+")", keys...))
	check("old links", "range PRIMARY")(plain("SELECT URLMd5, Status FROM "+urls+" WHERE Site_Id = 's' AND URLMd5 IN ("+tables.Placeholders(len(keys))+") AND "+outcomes.Resettable+" AND (Status = 1 OR Batch_Id <> 7) AND NOT COALESCE((UDate > '2026-01-01'), 0)", keys...))
	check("freq", "range PRIMARY")(plain("UPDATE "+urls+" SET Freq = Freq + 1 WHERE Site_Id = 's' AND URLMd5 IN ("+tables.Placeholders(len(keys))+")", keys...))
	check("finish", "range PRIMARY")(plain("UPDATE "+urls+" SET Status = 4 WHERE Site_Id = 's' AND URLMd5 = ? AND Status = 3 AND Batch_Id = 1", keys[0]))
	check("site", "range PRIMARY")(named("site_touch", "2026-01-05 10:00:00", 0, 0, "s"))
	check("site of a URL", "range md5")(plain("SELECT URLMd5, Site_Id FROM "+b.db.Table(sqldb.Sites, "sites_urls")+" WHERE URLMd5 IN (?, ?)", keys[0], keys[1]))
	check("attributes", "range name")(named("attribute_set", "v", "s", keys[0], "n"))
	check("copies", "ref md5")(plain("SELECT URL FROM "+b.db.SiteTable(sqldb.Deleted, "s")+" WHERE Site_Id = 's' AND URLMd5 = ?", keys[0]))
	check("next keys", "range PRIMARY")(plain("SELECT URLMd5 FROM "+urls+" AS `urls` WHERE (Site_Id = 's') AND (URLMd5 > ?) ORDER BY URLMd5 LIMIT 100", keys[0]))
	check("history", "ref md5")(plain("SELECT * FROM "+b.db.SiteTable(sqldb.Logs, "s")+" WHERE Site_Id = 's' AND URLMd5 = ?", keys[0]))
}
