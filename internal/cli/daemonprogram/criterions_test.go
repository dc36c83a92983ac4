package daemonprogram

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqldb/dbtest"
	"hce/dc/internal/storage/sqldb/mariadbtest"
	"hce/dc/internal/storage/sqlstore"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// bench is a store for the criteria of the ini file.
type bench struct {
	*sqlstore.Store
	t   *testing.T
	now time.Time
}

// onBothDatabases runs a test on new databases.
func onBothDatabases(t *testing.T, test func(b *bench)) {
	for _, backend := range dbtest.Backends {
		t.Run(backend, func(t *testing.T) {
			config := sqldb.Config{Driver: backend, Path: t.TempDir() + "/dc.db"}
			if backend == sqldb.DriverMySQL {
				s := mariadbtest.New(t, mariadbtest.Options{})
				config = sqldb.Config{Driver: backend, Server: sqldb.Server{Socket: s.Socket, User: s.User}, Names: s.Names(t)}
			}
			d, err := sqldb.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			b := &bench{t: t, now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)}
			b.Store = sqlstore.Open(d, sqlstore.Options{Now: func() time.Time { return b.now }})
			test(b)
		})
	}
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// site adds a site with more fields and properties.
func (b *bench) site(id, fields, properties string) {
	b.t.Helper()
	r, err := wire.ReadSiteNew(json.RawMessage(fmt.Sprintf(`{"id":%q,"recrawlPeriod":60,%s"properties":{%s}}`, id, fields, properties)), nil)
	b.must(err)
	_, err = b.SiteNew(b.t.Context(), r)
	b.must(err)
}

// url adds a page below a root; fields may use ago(minutes) for dates.
func (b *bench) url(site, name, fields string) {
	b.t.Helper()
	for minutes := range 1000 {
		at := fmt.Sprintf("%q", b.now.Add(-time.Duration(minutes)*time.Minute).Format(schema.DateLayout))
		fields = strings.ReplaceAll(fields, fmt.Sprintf("ago(%d)", minutes), at)
	}
	raw := fmt.Sprintf(`[{"siteId":%q,"url":%q,"parentMd5":%q,%s}]`, site, name, wire.Md5("root"), fields)
	list, err := wire.ReadURLNew(json.RawMessage(raw), nil)
	b.must(err)
	_, _, err = b.URLNew(b.t.Context(), list)
	b.must(err)
}

// there compares the URLs that still have a row.
func (b *bench) there(pages ...string) (there []string) {
	b.t.Helper()
	for _, page := range pages {
		site, url, _ := strings.Cut(page, " ")
		rows, err := b.Rows(b.t.Context(), site, []string{wire.Md5(url)})
		b.must(err)
		if rows[wire.Md5(url)].URL != "" {
			there = append(there, page)
		}
	}
	return there
}

func (b *bench) same(what string, got, want []string) {
	b.t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// The shipped criteria of aging select pages that did not change for two periods of their site,
// on active and suspended sites that allow it.
func TestAgingCriterions(t *testing.T) {
	onBothDatabases(t, func(b *bench) {
		cfg, _ := read(t, "")
		b.site("a", "", "")
		b.site("slow", `"recrawlPeriod":600,`, "")
		b.site("never", `"recrawlPeriod":0,`, "")
		b.site("no", "", `"MODES_FLAG":"15"`)
		b.site("yes", `"state":3,`, `"MODES_FLAG":"16"`)
		b.site("off", `"state":2,`, "")
		b.site("own", "", `"AGING_URL_CRITERION":"Depth=7"`)
		pages := []string{}
		for _, site := range []string{"a", "slow", "never", "no", "yes", "off", "own"} {
			for name, minutes := range map[string]int{"old": 121, "new": 119} {
				b.url(site, name, fmt.Sprintf(`"UDate":ago(%d),"CDate":ago(500)`, minutes))
				pages = append(pages, site+" "+name)
			}
		}
		b.url("a", "untouched", `"UDate":null,"CDate":ago(130)`)
		b.url("own", "deep", `"UDate":ago(1),"depth":7`)
		pages = append(pages, "a untouched", "own deep")
		run := func(n int64) {
			raw, err := json.Marshal([]any{cfg.Crawl.Aging.Request(n)})
			b.must(err)
			list, err := wire.ReadURLAge(raw, nil)
			b.must(err)
			_, err = b.URLAge(t.Context(), list)
			b.must(err)
		}
		// With a limit of one site, each site has its turn.
		gone := []string{"a old", "a untouched", "yes old", "own deep"}
		cfg.Crawl.Aging.MaxSites = 1
		turns, left := 0, len(gone)
		for n := int64(1); n <= 200 && left > 0; n++ {
			run(n)
			now := len(b.there(gone...))
			if now < left {
				turns++
			}
			left = now
		}
		if turns != 3 || left != 0 {
			t.Errorf("%d sites had a turn, want 3; %d pages remain", turns, left)
		}
		cfg.Crawl.Aging.MaxSites = 0
		run(201)
		want := slices.DeleteFunc(slices.Clone(pages), func(p string) bool {
			return slices.Contains(gone, p)
		})
		b.same("pages that stay", b.there(pages...), want)
	})
}

// The criteria of incremental crawling (docs/spec/daemon.md 2.9, F8) select sites with that
// property and pages that had time to change, but no row of a batch.
func TestIncrementalCriterions(t *testing.T) {
	onBothDatabases(t, func(b *bench) {
		cfg, _ := read(t, "[Application]\n[BatchTasksManager]\nIncrMaxDepth = 3\n")
		i := &cfg.Crawl.Incremental
		b.site("yes", "", `"INCREMENTAL_CRAWLING":"1"`)
		b.site("no", "", `"INCREMENTAL_CRAWLING":"0","MODES_FLAG":"1"`)
		b.site("without", "", "")
		b.site("rests", `"state":3,`, `"INCREMENTAL_CRAWLING":"1"`)
		b.site("notcrawled", "", `"INCREMENTAL_CRAWLING":"1","MODES_FLAG":"2"`)
		const due = `"tcDate":ago(31),"lastModified":ago(61),"depth":3`
		for _, site := range []string{"yes", "no", "without", "rests", "notcrawled"} {
			b.url(site, "due", due+`,"status":7`)
		}
		b.url("yes", "crawled", due+`,"status":4`)
		for name, fields := range map[string]string{
			"new": due + `,"status":1`, "held": due + `,"status":5`, "processing": due + `,"status":6`,
			"failed": due + `,"status":7,"state":2`, "deep": due + `,"depth":4,"status":7`,
			"young":   `"tcDate":ago(29),"lastModified":ago(61),"status":7`,
			"strange": `"tcDate":ago(31),"lastModified":ago(20),"status":7`,
			"unknown": `"tcDate":ago(31),"lastModified":null,"status":7`,
		} {
			b.url("yes", name, fields)
		}
		urls, err := b.URLFetch(t.Context(), []wire.URLFetchRequest{{
			SitesCriterion: i.SitesCriterion, URLsCriterion: i.URLs(), MaxURLs: 100, Algorithm: 1, SkipBusySites: false,
			URLUpdate: schema.Patch{"Status": int64(wire.StatusSelectedIncremental), "Batch_Id": int64(7)},
		}})
		b.must(err)
		var got []string
		for _, u := range urls {
			got = append(got, u.SiteID+" "+u.URL)
		}
		b.same("pages to look at again", got, []string{"yes due", "yes crawled"})
		// After a failed batch regular crawling handles the rows.
		n, err := b.URLReturn(t.Context(), wire.URLReturnRequest{BatchID: 7, Statuses: []int64{2, 3, 8}})
		b.must(err)
		if n != 2 {
			t.Errorf("%d rows returned, want 2", n)
		}
	})
}

// Both draws together select every site of any fetch type (docs/spec/daemon.md F19).
func TestDrawsSelectEverySite(t *testing.T) {
	onBothDatabases(t, func(b *bench) {
		cfg, _ := read(t, "")
		want := map[string][]string{"`FetchType`=2": {"s2 u"}, "`FetchType`<>2": {"s1 u", "s3 u", "s7 u"}}
		for _, kind := range []int{1, 2, 3, 7} {
			site := fmt.Sprint("s", kind)
			b.site(site, fmt.Sprintf(`"fetchType":%d,`, kind), "")
			b.url(site, "u", `"depth":1`)
		}
		for condition, pages := range want {
			sites := cfg.Crawl.SitesCriterion
			sites.Where = "(" + sites.Where + ") AND " + condition
			urls, err := b.URLFetch(t.Context(), []wire.URLFetchRequest{{SitesCriterion: sites, URLsCriterion: cfg.Crawl.URLsCriterion, MaxURLs: 100, Algorithm: 1}})
			b.must(err)
			var got []string
			for _, u := range urls {
				got = append(got, u.SiteID+" "+u.URL)
			}
			b.same(condition, got, pages)
		}
	})
}
