package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// allRows reads the rows of a site, sorted by key.
func (b *bench) allRows(site string) (rows []wire.URL) {
	b.Helper()
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		rows = nil
		return t.EachURL("SELECT "+tables.URLColumnList+" FROM "+t.SiteTable(sqldb.URLs, site)+" WHERE Site_Id = ? ORDER BY URLMd5", []any{site}, func(u wire.URL) { rows = append(rows, u) })
	}))
	return rows
}

// A store that remembers links and raises their Freq later leaves the same rows as one that
// looks up every link and raises Freq at once, whatever else happens to the site.
func TestMemoryOfLinksChangesNothing(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { testMemoryOfLinks(t, seed) })
	}
}

func testMemoryOfLinks(t *testing.T, seed uint64) {
	const pages, linkedOnly = 50, 15
	r := rand.New(rand.NewPCG(20260105, seed))
	with, without := newBench(t), newBench(t)
	with.db.Options.FreqDelay = 20 * time.Second
	with.SetMemory([]int{outcomes.MaxRemembered, 0, 64, 1}[seed], []outcomes.FreqLimits{
		outcomes.DefaultFreqLimits,
		{Few: 3, Longest: time.Minute, Most: 10_000, Part: 2},
		{Few: 1, Longest: time.Hour, Most: 300, Part: 5},
		{Few: 10, Longest: 40 * time.Second, Most: 100_000, Part: 1},
	}[seed])
	both := func(do func(b *bench) any) {
		t.Helper()
		without.restart()
		got, want := do(with), do(without)
		same(t, "answer", got, want)
	}
	newSite := func(b *bench) any { return b.newSite(`{"id":"s","urls":["0"]}`) }
	both(newSite)
	rules := []*wire.LinkRules{nil, wire.DefaultLinkRules(), {KeepKnown: true, Status: 1}, {Status: 1, TcDate: "NOW()", UDate: "NOW()", Age: "Depth - 1"},
		{Status: 4, UDate: "UDate"}, {Status: 1, UDate: "NOW()", RemoveMost: 5, RemoveWhere: "Status = 1", RemoveBy: "URLMd5"}}
	text := func() string { return fmt.Sprint(min(r.IntN(pages), r.IntN(pages))) }
	crawl := func() {
		var items []wire.URL
		var results []wire.Fetched
		batch := int64(1 + r.IntN(3))
		for range 1 + r.IntN(6) {
			u := wire.NewURL("s", fmt.Sprint(linkedOnly+r.IntN(pages-linkedOnly)))
			if slices.ContainsFunc(items, func(o wire.URL) bool { return o.URLMd5 == u.URLMd5 }) {
				continue
			}
			items = append(items, u)
			result := wire.Fetched{URLMd5: u.URLMd5, Crawled: true, First: r.IntN(4) > 0, Rules: rules[r.IntN(len(rules))],
				Set: schema.Patch{"Status": int64(4), "Size": int64(5), "UDate": string(schema.DateOf(with.now))}}
			for range r.IntN(12) {
				row := wire.NewURL("s", text())
				row.ParentMd5, row.Depth, row.UDate = u.URLMd5, int64(r.IntN(3)), schema.DateOf(with.now)
				link := wire.Link{URL: row, Chain: r.IntN(20) == 0}
				if r.IntN(5) == 0 {
					link.Update = schema.Patch{"Priority": int64(3)}
				}
				result.Links = append(result.Links, link)
			}
			results = append(results, result)
		}
		held := slices.Clone(items)
		if r.IntN(5) == 0 {
			held = held[1:]
		}
		both(func(b *bench) any {
			marks, err := b.MarkCrawling(ctx, "s", batch, slices.Clone(held))
			b.must(err)
			saved, err := b.FinishCrawl(ctx, "s", batch, results)
			b.must(err)
			return fmt.Sprint(len(marks), saved)
		})
	}
	for step := range 120 {
		switch n := r.IntN(40); {
		case n < 26:
			crawl()
		case n < 28:
			// Not a page that a batch makes again: see linkMemory.
			md5 := wire.Md5(fmt.Sprint(r.IntN(linkedOnly)))
			both(func(b *bench) any {
				answer, err := b.URLDelete(ctx, []wire.URLDeleteRequest{{SiteID: "s", URLMd5: md5, DelayedType: int64(step % 2)}})
				b.must(err)
				return answer
			})
		case n < 33:
			seconds := time.Duration(r.IntN(90)) * time.Second
			with.now, without.now = with.now.Add(seconds), without.now.Add(seconds)
		case n < 36:
			set := schema.Patch{"RecrawlPeriod": []int64{0, 0, 1, 3}[r.IntN(4)], "MaxURLs": []int64{0, 0, 30}[r.IntN(3)]}
			both(func(b *bench) any {
				answer, err := b.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: set})
				b.must(err)
				return answer
			})
		case n < 38:
			with.must(with.FlushAll(ctx))
		case n == 38:
			with.must(with.FlushAll(ctx))
			both(func(b *bench) any {
				answer, err := b.SiteCleanup(ctx, []wire.SiteCleanupRequest{{ID: "s", DelayedType: 1, SaveRootURLs: step%2 == 0, State: 1}})
				b.must(err)
				return answer
			})
		default:
			with.must(with.FlushAll(ctx))
			both(func(b *bench) any {
				_, err := b.SiteDelete(ctx, []wire.SiteDeleteRequest{{ID: "s", DelayedType: 1}})
				b.must(err)
				return newSite(b)
			})
		}
		if step%6 == 5 {
			with.must(with.FlushAll(ctx))
			got, want := with.allRows("s"), without.allRows("s")
			same(t, "number of rows", len(got), len(want))
			for i := range min(len(got), len(want)) {
				same(t, "row", got[i], want[i])
			}
			with.checkCounters("s", fmt.Sprint("step ", step))
		}
		if t.Failed() {
			t.Fatalf("at step %d", step)
		}
	}
}
