package sqlstore

import (
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// late is the row of a link of a trap.
func late(text string) wire.URL {
	u := child(text)
	u.RetryCause = wire.CauseTrap
	return u
}

// waitingURLs are the URLs of site s in Status 1, sorted.
func (b *bench) waitingURLs() string {
	b.Helper()
	rows, err := b.URLFetch(ctx, []wire.URLFetchRequest{{Sites: []string{"s"}, URLsCriterion: wire.Criterion{Where: "`Status`=1", OrderBy: "`URL`"}}})
	b.must(err)
	return strings.Join(tables.MapSlice(rows, func(u wire.URL) string { return u.URL }), " ")
}

// Links of traps wait behind the others, and give way to them when the site is full.
func TestLinksOfTrapsGiveWay(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","maxURLs":5}`)
	b.crawl(wire.Fetched{Links: linksOf(late("t1"), late("t2"), late("t3"), late("t4"), child("a"))})
	same(t, "the real link fits", b.waitingURLs(), "a t1 t2 t3")
	found, err := b.LateURLs(ctx, "s", 2)
	b.must(err)
	same(t, "late URLs", len(found), 2)

	b.crawl(wire.Fetched{URLMd5: wire.Md5("a"), Links: linksOf(child("b"), child("c"), late("t5"))})
	got := b.waitingURLs()
	same(t, "links give way", []any{strings.HasPrefix(got, "b c t"), len(strings.Fields(got)) <= 4}, []any{true, true})
	same(t, "bit", b.site("s").ErrorMask&errormask.MaxItems, errormask.MaxItems)
}

// A batch takes links of traps when no other row waits or is in flight; another request takes all.
func TestLinksOfTrapsAreLast(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.crawl(wire.Fetched{Links: linksOf(late("t1"), child("a"), late("t2"))})
	fetch := func(batch bool) []string {
		rows, err := b.URLFetch(ctx, []wire.URLFetchRequest{{
			Sites: []string{"s"}, SkipBusySites: batch, Own: []string{"s"}, URLsCriterion: wire.Criterion{Where: "`Status`=1 AND `State`=0", OrderBy: "`URL`"},
			URLUpdate: map[bool]schema.Patch{true: {"Status": int64(3), "Batch_Id": int64(9)}}[batch],
		}})
		b.must(err)
		return tables.MapSlice(rows, func(u wire.URL) string { return u.URL })
	}
	same(t, "a client", fetch(false), []string{"a", "t1", "t2"})
	same(t, "a batch", fetch(true), []string{"a"})
	same(t, "while the other is in flight", len(fetch(true)), 0)
	b.saved(b.FinishCrawl(ctx, "s", 9, []wire.Fetched{{URLMd5: wire.Md5("a"), Crawled: true, Set: schema.Patch{"Status": int64(4)}}}))
	same(t, "then", slices.Equal(fetch(true), []string{"t1", "t2"}), true)
}
