package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
)

// purge returns the statuses as "site:number site:number".
func (b *bench) purge(raw string) string {
	b.Helper()
	list, err := wire.ReadURLPurge(json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.URLPurge(ctx, list)
	b.must(err)
	var texts []string
	for _, s := range answer.Statuses {
		pair := s.([]any)
		texts = append(texts, fmt.Sprintf("%v:%v", pair[0], pair[1]))
	}
	return strings.Join(texts, " ")
}

func TestURLPurge(t *testing.T) {
	cases := map[string]struct{ raw, want, waiting, trash string }{
		"by url":             {`{"siteId":"s","url":"u1"}`, "s:1", "u2 -, u3 -", "s/u1"},
		"all copies of one":  {`{"siteId":"s","url":"u2"}`, "s:1", "u1 2026-01-05 09:00:00, u3 -", "s/u2"},
		"by key":             {`{"siteId":"s","url":"` + wire.Md5("u3") + `","urlType":1}`, "s:1", "u1 2026-01-05 09:00:00, u2 -", "s/u3"},
		"other case":         {`{"siteId":"S","url":"u1"}`, "s:1", "u2 -, u3 -", "s/u1"},
		"by criterion":       {`{"siteId":"s","criterions":{"WHERE":"URL='u1' OR URL='u3'","ORDER BY":"URL DESC","LIMIT":1}}`, "s:1", "u1 2026-01-05 09:00:00, u2 -", "s/u3"},
		"every one":          {`{"siteId":"s"}`, "s:3", "", "s/u1 s/u2 s/u3"},
		"unknown":            {`{"siteId":"s","url":"none"},{"siteId":"none"}`, "s:0 none:0", "u1 2026-01-05 09:00:00, u2 -, u3 -", ""},
		"no limits":          {`{"siteId":null}`, "", "u1 2026-01-05 09:00:00, u2 -, u3 -", ""},
		"offset below 0":     {`{"siteId":null,"siteLimits":[-1,5]}`, "", "u1 2026-01-05 09:00:00, u2 -, u3 -", ""},
		"of all sites":       {`{"siteId":null,"siteLimits":[0,-1]}`, "r:1 s:3", "", "r/ s/u1 s/u2 s/u3"},
		"the first site":     {`{"siteId":null,"siteLimits":[0,1]}`, "r:1", "u1 2026-01-05 09:00:00, u2 -, u3 -", "r/"},
		"from the third":     {`{"siteId":null,"siteLimits":[2,9]}`, "s:3", "", "s/u1 s/u2 s/u3"}, // 0, r, s
		"behind the last":    {`{"siteId":null,"siteLimits":[3,9]}`, "", "u1 2026-01-05 09:00:00, u2 -, u3 -", ""},
		"as many as none":    {`{"siteId":null,"siteLimits":[0,0]}`, "", "u1 2026-01-05 09:00:00, u2 -, u3 -", ""},
		"criterion of sites": {`{"siteId":null,"siteLimits":[0,-1],"criterions":{"WHERE":"URL='u1'"}}`, "s:1", "u2 -, u3 -", "s/u1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s","properties":{"STATS_FREQ_ENABLED":"1"}}`)
			b.newSite(`{"id":"r","urls":["x"]}`)
			b.newURLs(`[{"siteId":"s","url":"u1","tcDate":"2026-01-05 09:00:00"},{"siteId":"s","url":"u2"},{"siteId":"s","url":"u3"}]`)
			b.deleteURLs(`[{"siteId":"s","criterions":{"WHERE":"1=1"},"delayedType":0},{"siteId":"r","url":"x","delayedType":0}]`)
			if name == "all copies of one" {
				b.newURLs(`[{"siteId":"s","url":"u2"}]`)
				b.deleteURLs(`[{"siteId":"s","url":"u2","delayedType":0}]`)
				same(t, "before", b.waiting("s"), "u1 2026-01-05 09:00:00, u2 -, u2 -, u3 -")
			}
			same(t, "statuses", b.purge("["+c.raw+"]"), c.want)
			same(t, "waiting", b.waiting("s"), c.waiting)
			trash := strings.Fields(b.thrown("u1", "u2", "u3"))
			same(t, "trash", strings.Join(sorted(trash), " "), c.trash)
			b.checkCounters("s", name)
			b.checkCounters("r", name)
			purged := int64(1)
			if strings.Contains(c.waiting, "u1") {
				purged = 0
			}
			same(t, "counted", b.stats("s", "u1").FPurged, purged)
		})
	}
	b := newBench(t)
	for _, raw := range []string{`[{"siteId":"0","criterions":{"WHERE":"Nope=1"}}]`, `[{"siteId":"none","criterions":{"WHERE":"Nope=1"}}]`} {
		list, err := wire.ReadURLPurge(json.RawMessage(raw), nil)
		b.must(err)
		if _, err := b.URLPurge(ctx, list); err == nil || !strings.Contains(err.Error(), "URLPurge[0].criterions.WHERE") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	if _, err := wire.ReadURLPurge(json.RawMessage(`[{"siteId":"a","url":"","urlType":1}]`), nil); err == nil {
		t.Error("an empty key is accepted")
	}
}

func sorted(list []string) []string {
	for i := range list {
		for j := i; j > 0 && list[j] < list[j-1]; j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

// Contents of a URL that was crawled after its deletion stay; those of an unchanged URL are
// removed.
func TestPurgeOfExistingURLs(t *testing.T) {
	cases := map[string]struct {
		deleted, back, trash string
	}{
		"crawled again":      {`"2026-01-05 09:00:00"`, `"2026-01-05 09:30:00"`, ""},
		"back, untouched":    {`"2026-01-05 09:00:00"`, `"2026-01-05 09:00:00"`, "s/u"},
		"back, new":          {`"2026-01-05 09:00:00"`, `null`, ""},
		"never crawled":      {`null`, `null`, "s/u"},
		"crawled first time": {`null`, `"2026-01-05 09:30:00"`, ""},
	}
	for name, c := range cases {
		for _, how := range []string{"URL_DELETE", "SITE_DELETE"} {
			t.Run(name+" "+how, func(t *testing.T) {
				b := newBench(t)
				b.newSite(`{"id":"s"}`)
				b.newURLs(`[{"siteId":"s","url":"u","tcDate":` + c.deleted + `}]`)
				if how == "URL_DELETE" {
					b.deleteURLs(`[{"siteId":"s","url":"u","delayedType":0}]`)
				} else {
					b.deleteSite("s", wire.Delayed)
					b.newSite(`{"id":"s"}`)
				}
				same(t, "waiting", b.site("s").DeletedURLs, int64(1))
				b.newURLs(`[{"siteId":"s","url":"u","tcDate":` + c.back + `}]`)
				same(t, "purged", b.purge(`[{"siteId":"s"}]`), "s:1")
				same(t, "trash", b.thrown("u"), c.trash)
				same(t, "row", b.row("s", "u").URL, "u")
				b.checkCounters("s", name)
			})
		}
	}
}

func (b *bench) deleteSite(id string, delayed int64) {
	b.Helper()
	answer, err := b.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: id, DelayedType: delayed}})
	b.must(err)
	same(b, "SITE_DELETE", answer.Statuses, statuses(0))
}

// tables counts the rows of a site in a database, and on MySQL its tables.
func (b *bench) has(site string) (left []string) {
	b.Helper()
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		left = nil
		for _, database := range sqldb.SiteDatabases {
			there, err := t.HasSite(database, site)
			if err != nil {
				return err
			}
			if there {
				left = append(left, database)
			}
		}
		return nil
	}))
	return left
}

// docs/spec/storage.md 6.2 #5: contents of a delayed deleted site wait for a purge, and the
// purge of its last row removes the rest.
func TestDelayedSiteDeleteWaitsForThePurge(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["root"],"properties":{"STATS_FREQ_ENABLED":"1"}}`)
	b.newURLs(`[{"siteId":"s","url":"u","attributes":[{"k":"v"}]},{"siteId":"s","url":"v"}]`)
	b.must(second(b.Contents().PutAll(ctx, "s", []wire.Entry{{ID: wire.Md5("u"), Data: []byte("x")}})))
	b.deleteURLs(`[{"siteId":"s","url":"v","delayedType":0}]`)
	b.deleteSite("s", wire.Delayed)
	same(t, "site", b.site("s").State, int64(wire.SiteNotFound))
	same(t, "waiting", b.waiting("s"), "root -, u -, v -")
	same(t, "trash", b.thrown(), "")
	b.deleteSite("s", wire.Delayed) // again: nothing changes
	same(t, "waiting", b.waiting("s"), "root -, u -, v -")
	_, there, err := b.Contents().Get(ctx, "s", wire.Md5("u"))
	b.must(err)
	same(t, "contents", there, true)

	verified, err := b.URLVerify(ctx, []wire.URLVerifyRequest{{SiteID: "s", URLMd5: wire.Md5("u"), Database: "dc_urls_deleted"}, {SiteID: "s", URLMd5: wire.Md5("u"), Database: "dc_urls"}})
	b.must(err)
	same(t, "URL_VERIFY", []bool{verified[0] != nil, verified[1] != nil}, []bool{true, false})
	same(t, "one", b.purge(`[{"siteId":"s","url":"u"}]`), "s:1")
	same(t, "its trash", b.thrown("u"), "s/u")
	same(t, "the rest", b.purge(`[{"siteId":null,"siteLimits":[0,-1]}]`), "s:2")
	same(t, "trash of the site", strings.HasSuffix(b.thrown("root", "v"), " s/"), true)
	same(t, "left", len(b.has("s")), 0)
	same(t, "again", b.purge(`[{"siteId":"s"},{"siteId":null,"siteLimits":[0,-1]}]`), "s:0")
	same(t, "free", b.newSite(`{"id":"s","urls":["root"]}`).ErrorCode, 0)
	b.checkCounters("s", "SITE_NEW")

	// A site without rows has nothing to purge: the contents are removed at once.
	b.newSite(`{"id":"empty"}`)
	b.deleteSite("empty", wire.Delayed)
	same(t, "empty", []any{b.thrown(), len(b.has("empty"))}, []any{"empty/", 0})

	// An immediate deletion also removes waiting rows.
	b.newSite(`{"id":"now","urls":["x"]}`)
	b.deleteSite("now", wire.Delayed)
	b.deleteSite("now", wire.Immediate)
	same(t, "now", []any{b.thrown(), len(b.has("now"))}, []any{"now/", 0})
}

func second(_ any, err error) error { return err }

// SITE_NEW of an id that waits for its purge, the purge and another deletion may run in any
// order: an existing site is complete, a deleted site has only rows that wait.
func TestConcurrentPurgeAndSiteNew(t *testing.T) {
	b := newBench(t)
	other, err := sqldb.Open(ctx, b.config)
	b.must(err)
	defer other.Close()
	stores := []*Store{b.Store, Open(other, b.db.Options)}
	var wg sync.WaitGroup
	run := func(do func(s *Store, i int) error) {
		for _, s := range stores {
			wg.Go(func() {
				for i := range 15 {
					if err := do(s, i); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	run(func(s *Store, i int) error {
		r, err := wire.ReadSiteNew(json.RawMessage(`{"id":"s","urls":["a","b"]}`), nil)
		if err == nil {
			_, err = s.SiteNew(ctx, r)
		}
		return err
	})
	run(func(s *Store, i int) error {
		_, err := s.URLPurge(ctx, []wire.URLPurgeRequest{{SiteID: "s"}})
		return err
	})
	run(func(s *Store, i int) error {
		_, err := s.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "s", DelayedType: int64(i % 3 / 2)}})
		return err
	})
	wg.Wait()
	if b.site("s").State == wire.SiteNotFound {
		same(t, "SITE_NEW", b.newSite(`{"id":"s","urls":["a","b"]}`).ErrorCode, 0)
	}
	b.checkCounters("s", "all of it")
	b.newURLs(`[{"siteId":"s","url":"c"}]`)
	same(t, "rows", []string{b.row("s", "a").URL, b.row("s", "b").URL, b.row("s", "c").URL}, []string{"a", "b", "c"})
	b.deleteSite("s", wire.Delayed)
	b.purge(`[{"siteId":"s","criterions":{"LIMIT":null}}]`)
	same(t, "left", len(b.has("s")), 0)
}
