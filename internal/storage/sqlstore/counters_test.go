package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// counts computes the counters of a site from every row (docs/spec/storage.md 4.0.4).
func (b *bench) counts(site string) map[string]int64 {
	b.Helper()
	c := map[string]int64{}
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		var speeds int64
		err := t.EachURL("SELECT "+tables.URLColumnList+" FROM "+t.SiteTable(sqldb.URLs, site)+" WHERE Site_Id = ?", []any{site}, func(u wire.URL) {
			own := !(u.Status == 4 && u.Crawled == 0)
			add := func(name string, n int64, when bool) {
				if when {
					c[name] += n
				}
			}
			add("Resources", 1, u.Status == 4 && u.Crawled > 0 && u.Size > 0 && u.ErrorMask&4198399 == 0 && (u.ContentType == "text/html" || u.ContentType == "Text/HTML"))
			add("Contents", 1, u.Status == 7 && u.TagsCount > 0 && u.Processed > 0)
			add("CollectedURLs", 1, u.ParentMd5 != "" && own)
			add("NewURLs", 1, u.Status == 1)
			add("Size", u.Size, own)
			add("Errors", 1, u.ErrorMask != 0 && own)
			if own {
				c["ErrorMask"] |= int64(u.ErrorMask)
			}
			if u.CrawlingTime > 0 && own {
				c["AVGSpeedCounter"]++
				speeds += u.Size * 1000 / u.CrawlingTime
			}
			add("OwnURLs", 1, own)
			add("InFlight", 1, u.Status == 2 || u.Status == 3 || u.Status == 8)
			add("InProcess", 1, u.Status == 5 || u.Status == 6)
		})
		if err != nil {
			return err
		}
		if c["AVGSpeedCounter"] > 0 {
			c["AVGSpeed"] = speeds / c["AVGSpeedCounter"]
		}
		var deleted int64
		_, err = t.Row("SELECT COUNT(*) FROM "+t.SiteTable(sqldb.Deleted, site)+" WHERE Site_Id = ?", []any{site}, &deleted)
		c["DeletedURLs"] = deleted
		return err
	}))
	return c
}

func (b *bench) checkCounters(site, after string) {
	b.Helper()
	s := b.site(site)
	p := schema.PatchOf(&s, wire.SiteColumns)
	want := b.counts(site)
	// A full site has bits of its own.
	p["ErrorMask"] = p["ErrorMask"].(int64) &^ int64(errormask.MaxItems|errormask.SiteMaxResources)
	for _, name := range counters.CountedColumns {
		if p[name] != want[name] {
			b.Errorf("after %s: %s = %v, want %d from the rows", after, name, p[name], want[name])
		}
	}
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		for _, name := range []string{"OwnURLs", "InFlight", "InProcess"} {
			var n int64
			if _, err := t.Row("SELECT "+name+" FROM "+t.DB.Table(sqldb.Sites, "sites")+" WHERE Id = ?", []any{site}, &n); err != nil {
				return err
			}
			if n != want[name] {
				b.Errorf("after %s: %s = %d, want %d from the rows", after, name, n, want[name])
			}
		}
		return nil
	}))
}

// After any operation the counters of a site equal the counts of its rows.
func TestCountersEqualTheRows(t *testing.T) {
	const seed1, seed2 = 20260105, 4
	r := rand.New(rand.NewPCG(seed1, seed2))
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["0","1"]}`)
	pick := func(values ...int64) int64 { return values[r.IntN(len(values))] }
	row := func() schema.Patch {
		p := schema.Patch{"Status": pick(0, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8), "Crawled": pick(0, 0, 1, 2), "Processed": pick(0, 1), "Size": pick(0, 1, 1<<40),
			"ErrorMask": pick(0, 0, 1, 6, 1<<31, 1<<52), "TagsCount": pick(0, 3), "CrawlingTime": pick(0, 1, 333), "ParentMd5": "",
			"ContentType": []string{"", "text/html", "Text/HTML", "text/plain"}[r.IntN(4)]}
		if r.IntN(3) > 0 {
			p["ParentMd5"] = wire.Md5("0")
		}
		for _, name := range tables.SortedColumns(p) {
			if r.IntN(3) == 0 {
				delete(p, name)
			}
		}
		return p
	}
	url := func() string { return fmt.Sprint(r.IntN(40)) }
	operations := []struct {
		name string
		do   func() error
	}{
		{"URL_NEW", func() error {
			p, u := row(), url()
			p["URL"], p["URLMd5"], p["Site_Id"] = u, wire.Md5(u), "s"
			_, _, err := b.URLNew(ctx, []wire.URLNewRequest{{Row: p, SiteSelect: wire.SelectNone}})
			return err
		}},
		{"URL_UPDATE", func() error {
			_, err := b.URLUpdate(ctx, []wire.URLUpdateRequest{{SiteID: "s", URLMd5: wire.Md5(url()), Set: row()}})
			return err
		}},
		{"URL_UPDATE of many", func() error {
			_, err := b.URLUpdate(ctx, []wire.URLUpdateRequest{{SiteID: "s", Set: row(), Criterion: wire.Criterion{Where: "Status IN (4, 7)", Limit: "5"}}})
			return err
		}},
		{"URL_FETCH", func() error {
			_, err := b.URLFetch(ctx, []wire.URLFetchRequest{{Sites: []string{"s"}, URLsCriterion: wire.Criterion{Where: "Status IN (1, 4)", Limit: "7"},
				URLUpdate: schema.Patch{"Status": pick(2, 5), "Batch_Id": int64(1)}}})
			return err
		}},
		{"crawl", func() error {
			u := wire.NewURL("s", url())
			if _, err := b.MarkCrawling(ctx, "s", 1, []wire.URL{u}); err != nil {
				return err
			}
			link := wire.NewURL("s", url())
			link.ParentMd5 = u.URLMd5
			_, err := b.FinishCrawl(ctx, "s", 1, []wire.Fetched{{URLMd5: u.URLMd5, Set: row(), Crawled: r.IntN(2) == 0, Links: linksOf(link)}})
			return err
		}},
		{"process", func() error {
			md5 := wire.Md5(url())
			if _, err := b.MarkProcessing(ctx, "s", 1, []string{md5}); err != nil {
				return err
			}
			return b.process("s", 1, []wire.Extracted{{URLMd5: md5, Set: row(), Processed: r.IntN(2) == 0}})
		}},
		{"URL_RETURN", func() error {
			_, err := b.URLReturn(ctx, wire.URLReturnRequest{BatchID: 1, Fault: r.IntN(2) == 0, MaxAttempts: 2})
			return err
		}},
		{"SITE_UPDATE", func() error {
			u, old := url(), url()
			root := schema.Patch{"URL": u, "URLMd5": wire.Md5(u), "ParentMd5": "", "Status": int64(7)}
			l := wire.SiteLists{UpdateType: pick(0, 1, 2), URLs: []schema.Patch{root}}
			if l.UpdateType == wire.UpdateRows && r.IntN(2) == 0 {
				root["URLMd5"] = wire.Md5(old)
			}
			_, err := b.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: schema.Patch{"State": pick(1, 6), "Errors": int64(9)}, SiteLists: l})
			return err
		}},
		{"URL_DELETE", func() error {
			_, err := b.URLDelete(ctx, []wire.URLDeleteRequest{{SiteID: "s", URLMd5: wire.Md5(url()), DelayedType: pick(0, 1)},
				{SiteID: "s", Criterion: wire.Criterion{Where: "Status IN (4, 7)", Limit: "1"}, DelayedType: pick(0, 1)}})
			return err
		}},
		{"URL_CLEANUP", func() error {
			_, err := b.URLCleanup(ctx, []wire.URLCleanupRequest{{SiteID: "s", URLMd5: wire.Md5(url()), State: pick(0, 1, 2), Status: pick(1, 4, 7), DelayedType: pick(0, 1)}})
			return err
		}},
		{"URL_PURGE", func() error {
			_, err := b.URLPurge(ctx, []wire.URLPurgeRequest{{SiteID: "s", Criterion: wire.Criterion{Limit: "3"}}})
			return err
		}},
		{"URL_AGE", func() error {
			_, err := b.URLAge(ctx, []wire.URLAgeRequest{{URLsCriterion: wire.Criterion{Where: "ErrorMask<>0"}, MaxURLs: 2, DelayedType: pick(0, 1)}})
			return err
		}},
		{"SITE_CLEANUP", func() error {
			if r.IntN(8) > 0 {
				return nil
			}
			_, err := b.SiteCleanup(ctx, []wire.SiteCleanupRequest{{ID: "s", DelayedType: pick(0, 1), MoveURLs: r.IntN(2) == 0, SaveRootURLs: r.IntN(2) == 0, State: 1}})
			return err
		}},
	}
	for i := range 600 {
		o := operations[r.IntN(len(operations))]
		b.must(o.do())
		if i%7 == 0 {
			b.checkCounters("s", o.name)
		}
		if t.Failed() {
			t.Fatalf("at step %d", i)
		}
	}
	// A recount changes nothing.
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error { return t.RecountSite("s") }))
	b.checkCounters("s", "recount")
}

// docs/spec/processing.md 1.5 COUNTER_CRIT_CONTENTS.
func TestCounterProperties(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","properties":{"COUNTER_CRIT_RESOURCES":"Site_Id='%SITE_ID%' AND Status>3","COUNTER_CRIT_NURLS":"","COUNTER_CRIT_CONTENTS":"SLEEP(1)"}}`)
	b.put("a", schema.Patch{"Status": int64(4), "Crawled": int64(1)})
	b.put("b", schema.Patch{"Status": int64(7), "TagsCount": int64(1), "Processed": int64(1)})
	b.put("c", schema.Patch{})
	s := b.site("s")
	same(t, "counters", []int64{s.Resources, s.NewURLs, s.Contents}, []int64{2, 3, 1})
	site, err := b.Site(ctx, "s")
	b.must(err)
	same(t, "for tasks", []int64{site.Resources, site.NewURLs, site.Contents}, []int64{2, 3, 1})
}

// Go adds up rows as the database does, whatever their values.
func TestTalliesAreEqual(t *testing.T) {
	r := rand.New(rand.NewPCG(20260105, 10))
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	pick := func(values ...int64) int64 { return values[r.IntN(len(values))] }
	kinds := []string{"", "text/html", "TEXT/HTML", "text/html ", " text/html", "text/htm_", "%", "t\u00e9xt/html", "text/htm\u017f", "\uff54ext/html", "text/plain"}
	var keys []string
	for i := range 400 {
		u := wire.NewURL("s", fmt.Sprint(i))
		keys = append(keys, u.URLMd5)
		b.put(u.URL, schema.Patch{"Status": pick(0, 1, 2, 3, 4, 4, 4, 5, 6, 7, 7, 8, 9), "Crawled": pick(0, 1, 2), "Processed": pick(0, 1), "Size": pick(0, 1, 12345, 1<<40),
			"ErrorMask": pick(0, 0, 0, 1, 4096, 1<<31, 1<<52), "TagsCount": pick(0, 3), "CrawlingTime": pick(0, 1, 333, 1<<40),
			"ParentMd5": []string{"", u.URLMd5}[r.IntN(2)], "ContentType": kinds[r.IntN(len(kinds))]})
	}
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		for range 100 {
			some := keys[r.IntN(len(keys)):]
			some = some[:r.IntN(min(len(some), 40))]
			stored, err := t.ReadURLs("s", some)
			if err != nil {
				return err
			}
			want, err := t.TallyRows("s", some)
			if err != nil {
				return err
			}
			var rows []*wire.URL
			for _, u := range stored {
				rows = append(rows, &u)
			}
			got, err := t.TallyOf("s", rows)
			if err != nil {
				return err
			}
			same(b, fmt.Sprint(stored), got, want)
		}
		return nil
	}))
}

// Counters follow results whose values only the database can compute, and a row with several
// results in one chunk.
func TestCountersOfExpressions(t *testing.T) {
	for name, results := range map[string][]wire.Fetched{
		"column":     {{Set: schema.Patch{"Status": int64(4), "Size": schema.Expr("Size * 2 + 7"), "CrawlingTime": int64(2)}, Crawled: true}},
		"expression": {{Set: schema.Patch{"Status": int64(4), "Size": int64(5)}, Expressions: []wire.FieldExpression{{Object: wire.ObjectURL, Column: "Size", SQL: "%SIZE% + 100"}}}},
		"two":        {{Set: schema.Patch{"Size": int64(9), "ErrorMask": int64(6)}, Crawled: true}, {Set: schema.Patch{"Status": int64(4), "ErrorMask": int64(0)}}, {Set: schema.Patch{"Status": int64(1)}}},
		"date":       {{Set: schema.Patch{"Status": int64(4), "Size": int64(9), "UDate": schema.Expr("NOW() - INTERVAL 1 DAY")}, Crawled: true}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.put("u", schema.Patch{"Size": int64(3), "ErrorMask": int64(1)})
			b.must(b.runUpdateTx(ctx, "test", func(t *tx) error { return t.RecountSite("s") }))
			_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{wire.NewURL("s", "u")})
			b.must(err)
			for i := range results {
				results[i].URLMd5 = wire.Md5("u")
			}
			b.saved(b.FinishCrawl(ctx, "s", 7, results))
			b.checkCounters("s", name)
		})
	}
}
