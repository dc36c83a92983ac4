package store

import (
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/db"
	"hce/dc/internal/dc"
)

// crawlOrder is the order of the shipped settings (daemon 2.4).
const crawlOrder = "LENGTH(ParentMd5), Priority DESC, Depth, UDate DESC"

// plan tells how SQLite would run a text.
func (b *bench) plan(text string, args ...any) string {
	b.Helper()
	var lines []string
	b.must(b.view(ctx, "test", func(t *tx) error {
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

// Each index of the schema has a statement that wants it, and no statement that
// runs often walks a table of URLs or sorts it.
func TestHotStatementsUseIndexes(t *testing.T) {
	b := newBench(t)
	selection := func(c dc.Criterion) string {
		var text string
		b.must(b.view(ctx, "test", func(t *tx) (err error) {
			text, _, err = t.selection("", "0", c, "")
			return err
		}))
		return "SELECT rowid" + text
	}
	named := func(name string) string {
		text, err := b.db.Text(name)
		b.must(err)
		return text
	}
	urls := b.db.Table(db.URLs, "urls")
	cases := map[string]struct {
		text, index string
		args        int
	}{
		"crawl":         {selection(dc.Criterion{Where: "Status=1 AND State=0", OrderBy: crawlOrder, Limit: "500"}), "urls.status (Site_Id=? AND Status=? AND State=?)", 5},
		"process":       {selection(dc.Criterion{Where: "Type<>6 AND Status=4 AND State=0 AND Crawled>0 AND Size>0 AND (ErrorMask & 4198399)=0 AND HTTPCode=200", OrderBy: crawlOrder, Limit: "500"}), "urls.status (Site_Id=? AND Status=? AND State=?)", 11},
		"fetch":         {selection(dc.Criterion{OrderBy: "CDate ASC", Limit: "20"}), "urls.cdate (Site_Id=?)", 3},
		"batch":         {named("urls_in_work"), "urls.status (Site_Id=? AND Status=?)", 1},
		"masks":         {named("site_masks"), "COVERING INDEX dc_urls.urls.errors (Site_Id=?", 1},
		"known links":   {"SELECT URLMd5 FROM " + urls + " WHERE Site_Id = ? AND URLMd5 IN (" + holes(500) + ")", "COVERING INDEX sqlite_autoindex_dc_urls.urls_1 (Site_Id=? AND URLMd5=?)", 501},
		"mark":          {"UPDATE " + urls + " SET Status = 3 WHERE Site_Id = ? AND URLMd5 IN (" + holes(500) + ")", "(Site_Id=? AND URLMd5=?)", 501},
		"finish":        {"UPDATE " + urls + " SET Status = 4 WHERE Site_Id = ? AND URLMd5 = ? AND Status = ? AND Batch_Id = ?", "(Site_Id=? AND URLMd5=?)", 4},
		"site of a URL": {named("root_before"), "sites_urls.url (URL<?)", 1},
		"property":      {named("site_property"), "sites_properties.site (Site_Id=? AND Name=?)", 2},
		"site":          {named("site_touch"), "PRIMARY KEY (Id=?)", 4},
		"filters":       {"SELECT * FROM " + b.db.Table(db.Sites, "sites_filters") + " WHERE Site_Id = ? ORDER BY rowid", "sites_filters.site (Site_Id=?)", 1},
		"attributes":    {named("attribute_set"), "(Site_Id=? AND URLMd5=? AND Name=?)", 4},
		"copies":        {"SELECT URL FROM " + b.db.Table(db.Deleted, "urls") + " WHERE Site_Id = ? AND URLMd5 = ?", "urls.md5 (Site_Id=? AND URLMd5=?)", 2},
		"history":       {"SELECT * FROM " + b.db.Table(db.Logs, "log") + " WHERE Site_Id = ? AND URLMd5 = ?", "log.md5 (Site_Id=? AND URLMd5=?)", 2},
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

// Two processes that fetch and mark at once never get the same row.
func TestFetchesShareNothing(t *testing.T) {
	b := newBench(t)
	b.fill(2, 50)
	other, err := db.Open(ctx, db.Config{Path: b.path})
	b.must(err)
	defer other.Close()
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for i, s := range []*Store{b.Store, Open(other, b.o), b.Store, Open(other, b.o)} {
		wg.Go(func() {
			for {
				urls, err := s.URLFetch(ctx, []dc.URLFetchRequest{{MaxURLs: 7, URLsCriterion: dc.Criterion{Where: "Status=1", OrderBy: crawlOrder},
					URLUpdate: dc.Patch{"Status": int64(2), "Batch_Id": int64(i + 1)}}})
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
