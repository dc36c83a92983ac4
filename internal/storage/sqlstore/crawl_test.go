package sqlstore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// put stores rows of site s with the given columns.
func (b *bench) put(url string, p schema.Patch) {
	b.Helper()
	b.putIn("s", url, p)
}

// putIn is put for any site.
func (b *bench) putIn(site, url string, p schema.Patch) {
	b.Helper()
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
		row := tables.ClonePatch(p)
		row["URL"], row["URLMd5"], row["Site_Id"] = url, wire.Md5(url), site
		return t.RunCounted(site, []string{wire.Md5(url)}, func() error {
			_, err := t.InsertRow(t.URLsTarget("", site), row)
			return err
		})
	}))
}

func linksOf(urls ...wire.URL) []wire.Link {
	var list []wire.Link
	for _, u := range urls {
		list = append(list, wire.Link{URL: u})
	}
	return list
}

func TestMarkCrawling(t *testing.T) {
	cases := map[string]struct {
		status, batch int64
		done, busy    bool
	}{
		"new":                      {1, 0, false, false},
		"new of an old batch":      {1, 5, false, false},
		"selected for it":          {2, 7, false, false},
		"selected without a batch": {2, 0, false, false},
		"selected for another":     {2, 6, false, true},
		"it is crawling":           {3, 7, false, false},
		"another is crawling":      {3, 6, false, true},
		"selected incrementally":   {8, 7, false, false},
		"crawled by it":            {4, 7, true, false},
		"processed, its crawl":     {7, 7, true, false},
		"crawled by another":       {4, 6, false, false},
		"processed by another":     {7, 6, false, false},
		"undefined":                {0, 0, false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.put("u", schema.Patch{"Status": c.status, "Batch_Id": c.batch, "ErrorMask": int64(3), "Crawled": int64(1)})
			item := wire.NewURL("s", "u")
			item.Depth = 9
			marks, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{item, item})
			b.must(err)
			m := marks[item.URLMd5]
			same(t, "mark", []any{m.Known, m.Done, m.Busy, m.Row.Status, m.Row.ErrorMask, m.Row.Depth}, []any{true, c.done, c.busy, c.status, errormask.Mask(3), int64(0)})
			u := b.row("s", "u")
			if c.done || c.busy {
				same(t, "row", []any{u.Status, u.BatchID, u.ErrorMask}, []any{c.status, c.batch, errormask.Mask(3)})
			} else {
				same(t, "row", []any{u.Status, u.BatchID, u.ErrorMask, u.TcDate, u.UDate}, []any{int64(3), int64(7), errormask.Mask(0), schema.Date("2026-01-05 10:00:00"), schema.Date("2026-01-05 10:00:00")})
			}
		})
	}
	t.Run("without a row", func(t *testing.T) {
		b := newBench(t)
		b.newSite(`{"id":"s"}`)
		item := wire.NewURL("s", "u")
		item.Depth = 9
		marks, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{item})
		b.must(err)
		m := marks[item.URLMd5]
		same(t, "mark", []any{m.Known, m.Done, m.Row.Depth, m.Row.Status}, []any{false, false, int64(9), int64(1)})
		u := b.row("s", "u")
		same(t, "row", []any{u.Status, u.BatchID, u.Depth, u.CDate}, []any{int64(3), int64(7), int64(9), schema.Date("2026-01-05 10:00:00")})
		_, err = b.MarkCrawling(ctx, "nobody", 7, []wire.URL{item})
		same(t, "unknown site", wire.CodeOf(err), wire.CodeNotFound)
	})
	t.Run("batch 0 is never done", func(t *testing.T) {
		b := newBench(t)
		b.newSite(`{"id":"s"}`)
		b.put("u", schema.Patch{"Status": int64(4)})
		marks, err := b.MarkCrawling(ctx, "s", 0, []wire.URL{wire.NewURL("s", "u")})
		b.must(err)
		same(t, "done", marks[wire.Md5("u")].Done, false)
		same(t, "status", b.row("s", "u").Status, int64(3))
	})
}

func TestFinishCrawl(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","maxURLs":5,"urls":["u"]}`)
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{wire.NewURL("s", "u"), wire.NewURL("s", "v"), wire.NewURL("s", "w")})
	b.must(err)
	b.put("lost", schema.Patch{"Status": int64(3), "Batch_Id": int64(6)})
	link := func(text string) wire.URL {
		l := wire.NewURL("s", text)
		l.ParentMd5 = wire.Md5("u")
		return l
	}
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{
		{URLMd5: wire.Md5("u"), Crawled: true, SiteBits: errormask.Robots, Links: linksOf(link("u"), link("x"), link("x"), link("y")),
			Set: schema.Patch{"Status": int64(4), "Size": int64(2000), "ContentType": "Text/HTML", "CrawlingTime": int64(500), "LastModified": "2025-05-05 00:00:00", "PDate": nil}},
		{URLMd5: wire.Md5("v"), Set: schema.Patch{"Status": int64(1), "Batch_Id": int64(0)}}, // not started
		{URLMd5: wire.Md5("lost"), Set: schema.Patch{"Status": int64(4)}, Crawled: true, SiteBits: errormask.BadURL, Links: linksOf(link("late"))},
		{URLMd5: wire.Md5("none"), Set: schema.Patch{"Status": int64(4)}},
	}))
	u := b.row("s", "u")
	same(t, "row", []any{u.Status, u.BatchID, u.Crawled, u.Size, u.LastModified, u.PDate}, []any{int64(4), int64(7), int64(1), int64(2000), schema.Date("2025-05-05 00:00:00"), schema.Date("")})
	same(t, "not started", []int64{b.row("s", "v").Status, b.row("s", "v").BatchID, b.row("s", "v").Crawled}, []int64{1, 0, 0})
	same(t, "of another batch", []int64{b.row("s", "lost").Status, b.row("s", "lost").Crawled}, []int64{3, 0})
	x := b.row("s", "x")
	same(t, "link", []any{x.Status, x.ParentMd5, x.HTTPMethod, x.CDate}, []any{int64(1), wire.Md5("u"), "get", schema.Date("2026-01-05 10:00:00")})
	s := b.site("s")
	same(t, "links within MaxURLs", []string{b.row("s", "y").URL, b.row("s", "late").URL}, []string{"", ""})
	same(t, "site", []any{s.Resources, s.Size, s.AVGSpeed, s.AVGSpeedCounter, s.NewURLs, s.CollectedURLs, s.ErrorMask, s.TcDate},
		[]any{int64(1), int64(2000), int64(4000), int64(1), int64(2), int64(1), errormask.Robots | errormask.MaxItems, schema.Date("2026-01-05 10:00:00")})

	// The same result stored twice changes nothing.
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: wire.Md5("u"), Crawled: true, Set: schema.Patch{"Status": int64(1)}}}))
	same(t, "second time", []int64{b.row("s", "u").Status, b.row("s", "u").Crawled}, []int64{4, 1})
	_, err = b.FinishCrawl(ctx, "nobody", 7, nil)
	same(t, "unknown site", wire.CodeOf(err), wire.CodeNotFound)
}

// Rows of many results with different columns are written with few statements, and each has its
// own values.
func TestManyResults(t *testing.T) {
	const pages = 150
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	var items []wire.URL
	for i := range pages {
		items = append(items, wire.NewURL("s", fmt.Sprint("page", i)))
	}
	etag := func(i int) string { return fmt.Sprint(`tag'"\`, i) }
	set := func(i int, status int64) schema.Patch {
		p := schema.Patch{"Status": status, "Size": int64(i), "ETag": etag(i), "PDate": nil, "UDate": schema.Expr("NOW()")}
		switch {
		case i%5 == 1:
			p["Charset"], p["CDate"] = "utf-8", nil
		case i%25 == 3:
			p["Depth"] = schema.Expr("Size + 1") // of the stored row
		}
		return p
	}
	check := func(status, depth int64, count func(wire.URL) int64, store func()) {
		t.Helper()
		b.now = b.now.Add(time.Minute)
		_, before, _ := b.db.Counts()
		store()
		if _, after, _ := b.db.Counts(); after-before > 50 {
			t.Errorf("%d statements for %d results", after-before, pages)
		}
		for i, item := range items {
			counted, deep := int64(min(i%7, 1)), int64(0)
			if i%25 == 3 {
				deep = 1 + depth*int64(i)
			}
			u := b.row("s", item.URL)
			same(t, item.URL, []any{u.Status, count(u), u.Size, u.ETag, u.UDate, u.Depth},
				[]any{status, counted, int64(i), etag(i), schema.DateOf(b.now), deep})
		}
		b.checkCounters("s", fmt.Sprint("Status ", status))
	}
	_, err := b.MarkCrawling(ctx, "s", 7, items)
	b.must(err)
	var crawled []wire.Fetched
	var processed []wire.Extracted
	for i, u := range items {
		crawled = append(crawled, wire.Fetched{URLMd5: u.URLMd5, Crawled: i%7 > 0, Set: set(i, 4)})
		processed = append(processed, wire.Extracted{URLMd5: u.URLMd5, Processed: i%7 > 0, Set: set(i, 7)})
	}
	check(4, 0, func(u wire.URL) int64 { return u.Crawled }, func() { b.saved(b.FinishCrawl(ctx, "s", 7, append(crawled, crawled[1]))) })
	_, err = b.MarkProcessing(ctx, "s", 8, tables.KeysOf(items))
	b.must(err)
	check(7, 1, func(u wire.URL) int64 { return u.Processed }, func() { b.must(b.process("s", 8, append(processed, processed[1]))) })
}

// Results of several sites are stored together or, if one of them is gone, not at all.
func TestFinishCrawlOfSites(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"b", "a"} {
		b.newSite(fmt.Sprintf(`{"id":%q,"urls":["u"]}`, id))
		_, err := b.MarkCrawling(ctx, id, 7, []wire.URL{wire.NewURL(id, "u")})
		b.must(err)
	}
	result := []wire.Fetched{{URLMd5: wire.Md5("u"), Set: schema.Patch{"Status": int64(4)}, Crawled: true}}
	list := []wire.SiteFetched{{Site: "b", Results: append(slices.Clone(result), wire.Fetched{URLMd5: wire.Md5("no row")})}, {Site: "a", Results: result}}
	rows := func() string {
		x, y := b.row("a", "u"), b.row("b", "u")
		return fmt.Sprint(x.Status, x.Crawled, y.Status, y.Crawled)
	}
	_, err := b.Store.FinishCrawl(ctx, 7, append(slices.Clone(list), wire.SiteFetched{Site: "gone", Results: result}), nil)
	same(t, "one site is gone", []any{wire.CodeOf(err), rows()}, []any{wire.CodeNotFound, "3 0 3 0"})
	saved, err := b.Store.FinishCrawl(ctx, 7, list, nil)
	b.must(err)
	same(t, "rows", rows(), "4 1 4 1")
	same(t, "gone", []any{saved[0].Gone, saved[1].Gone}, []any{[]string{wire.Md5("no row")}, []string(nil)})
	b.checkCounters("a", "together")
	b.checkCounters("b", "together")
}

// A full site that leaves out links gets the bit of its limit.
func TestFullSiteIsMarked(t *testing.T) {
	for _, c := range []struct {
		limits string
		want   errormask.Mask
		links  int64
	}{
		{`"maxURLs":3`, errormask.MaxItems, 2},
		{`"maxURLs":4`, 0, 3},
		{`"maxResources":2`, errormask.SiteMaxResources, 1},
		{`"maxURLs":3,"maxResources":9`, errormask.MaxItems, 2},
		{`"maxURLs":9,"maxResources":2`, errormask.SiteMaxResources, 1},
		{`"maxURLs":0`, 0, 3},
	} {
		b := newBench(t)
		b.newSite(`{"id":"s",` + c.limits + `}`)
		_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{wire.NewURL("s", "u")})
		b.must(err)
		links := linksOf(wire.NewURL("s", "l1"), wire.NewURL("s", "l2"), wire.NewURL("s", "l3"))
		b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: wire.Md5("u"), Crawled: true, Links: links,
			Set: schema.Patch{"Status": int64(4), "Size": int64(1), "ContentType": "text/html"}}}))
		s := b.site("s")
		same(t, c.limits, []any{s.ErrorMask, s.NewURLs, s.State, s.Errors}, []any{c.want, c.links, int64(1), int64(0)})
	}
}

func TestMaxURLsIgnoresRowsOfOtherNodes(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","maxURLs":3}`)
	for i := range 5 {
		b.put(fmt.Sprint("foreign", i), schema.Patch{"Status": int64(4), "Crawled": int64(0)})
	}
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{wire.NewURL("s", "u")})
	b.must(err)
	links := []wire.URL{wire.NewURL("s", "l1"), wire.NewURL("s", "foreign1"), wire.NewURL("s", "l2"), wire.NewURL("s", "l3")}
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: wire.Md5("u"), Set: schema.Patch{"Status": int64(4)}, Crawled: true, Links: linksOf(links...)}}))
	same(t, "rows", b.site("s").NewURLs, int64(2))
}

func TestProcessing(t *testing.T) {
	cases := map[string]struct {
		status, batch int64
		taken         bool
	}{
		"crawled":               {4, 3, true},
		"selected for it":       {5, 9, true},
		"selected for another":  {5, 8, false},
		"it is processing":      {6, 9, true},
		"another is processing": {6, 8, false},
		"processed":             {7, 9, false},
		"being crawled":         {3, 9, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.put("u", schema.Patch{"Status": c.status, "Batch_Id": c.batch, "Crawled": int64(1)})
			md5 := wire.Md5("u")
			rows, err := b.MarkProcessing(ctx, "s", 9, []string{md5, wire.Md5("none"), md5})
			b.must(err)
			row, taken := rows[md5]
			same(t, "taken", []any{taken, len(rows) == 1}, []any{c.taken, c.taken})
			results := []wire.Extracted{{URLMd5: md5, Processed: true, Set: schema.Patch{"Status": int64(7), "TagsCount": int64(2), "Processed": int64(9), "Site_Id": "0"}}, {URLMd5: wire.Md5("none"), Set: schema.Patch{"Status": int64(7)}}}
			b.must(b.process("s", 9, results))
			b.must(b.process("s", 9, results))
			u, s := b.row("s", "u"), b.site("s")
			if !c.taken {
				same(t, "left alone", []int64{u.Status, u.BatchID, u.Processed}, []int64{c.status, c.batch, 0})
				return
			}
			same(t, "before", []int64{row.Status, row.BatchID}, []int64{c.status, c.batch})
			same(t, "after", []int64{u.Status, u.BatchID, u.Processed, u.TagsCount, s.Contents}, []int64{7, 9, 1, 2, 1})
			same(t, "site", s.TcDateProcess, schema.Date("2026-01-05 10:00:00"))
		})
	}
}

func TestURLReturn(t *testing.T) {
	rows := map[string]schema.Patch{
		"selected": {"Status": int64(2), "Batch_Id": int64(7)}, "crawling": {"Status": int64(3), "Batch_Id": int64(7)},
		"incremental": {"Status": int64(8), "Batch_Id": int64(7)}, "process": {"Status": int64(5), "Batch_Id": int64(7), "Crawled": int64(1)},
		"processing": {"Status": int64(6), "Batch_Id": int64(7), "Crawled": int64(1)}, "done": {"Status": int64(4), "Batch_Id": int64(7), "Crawled": int64(1)},
		"other": {"Status": int64(3), "Batch_Id": int64(8)}, "tired": {"Status": int64(3), "Batch_Id": int64(7), "Attempts": int64(2)},
	}
	cases := map[string]struct {
		r    wire.URLReturnRequest
		n    int
		want map[string]string // status/state/batch
	}{
		"of a batch": {wire.URLReturnRequest{BatchID: 7}, 6, map[string]string{"selected": "1/0/0", "crawling": "1/0/0", "incremental": "1/0/0",
			"process": "4/0/0", "processing": "4/0/0", "done": "4/0/7", "other": "3/0/8", "tired": "1/0/0"}},
		"of all others":    {wire.URLReturnRequest{Except: []int64{7}}, 1, map[string]string{"crawling": "3/0/7", "other": "1/0/0"}},
		"processing alone": {wire.URLReturnRequest{Statuses: []int64{5, 6}}, 2, map[string]string{"crawling": "3/0/7", "other": "3/0/8", "process": "4/0/0"}},
		"of all":           {wire.URLReturnRequest{}, 7, map[string]string{"crawling": "1/0/0", "other": "1/0/0"}},
		"elsewhere":        {wire.URLReturnRequest{BatchID: 7, Sites: []string{"0", "nobody"}}, 0, map[string]string{"crawling": "3/0/7"}},
		"fault": {wire.URLReturnRequest{BatchID: 7, Fault: true, MaxAttempts: 3, Sites: []string{"s"}}, 6,
			map[string]string{"crawling": "1/0/0", "processing": "4/0/0", "tired": "4/2/0"}},
		"fault, no bound": {wire.URLReturnRequest{BatchID: 7, Fault: true}, 6, map[string]string{"tired": "1/0/0"}},
		"no fault":        {wire.URLReturnRequest{BatchID: 7, MaxAttempts: 1}, 6, map[string]string{"tired": "1/0/0"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			for url, p := range rows {
				b.put(url, p)
			}
			n, err := b.URLReturn(ctx, c.r)
			b.must(err)
			same(t, "returned", n, c.n)
			for url, want := range c.want {
				u := b.row("s", url)
				same(t, url, fmt.Sprintf("%d/%d/%d", u.Status, u.State, u.BatchID), want)
			}
		})
	}
}

// The return of stuck rows (docs/spec/daemon.md 2.8): the oldest first, in equal shares of
// the sites, without recently changed rows and rows of active batches.
func TestURLReturnOfStuckRows(t *testing.T) {
	b := newBench(t)
	stuck := func(site, name string, n int, minutes int, batch int64) {
		for i := range n {
			p := schema.Patch{"Status": int64(3), "Batch_Id": batch, "Attempts": int64(1),
				"UDate": b.now.Add(-time.Duration(minutes)*time.Minute + time.Duration(i)*time.Second).Format(schema.DateLayout)}
			b.putIn(site, fmt.Sprint(name, i), p)
		}
	}
	for _, site := range []string{"a", "b", "c"} {
		b.newSite(`{"id":"` + site + `"}`)
	}
	stuck("a", "old", 6, 90, 7)
	stuck("a", "fresh", 2, 59, 7)
	stuck("b", "old", 1, 80, 8)
	stuck("c", "live", 2, 90, 9)
	left := func() (n int) {
		for _, key := range []string{"a old0", "a old1", "a old2", "a old3", "a old4", "a old5", "b old0", "a fresh0", "c live0"} {
			site, url, _ := strings.Cut(key, " ")
			if b.row(site, url).Status == 3 {
				n++
			}
		}
		return n
	}
	for i, want := range []struct{ max, n int64 }{{1, 1}, {4, 4}, {4, 2}, {0, 0}} {
		n, err := b.URLReturn(ctx, wire.URLReturnRequest{Except: []int64{9}, Age: 3600, MaxURLs: want.max})
		b.must(err)
		same(t, fmt.Sprint("round ", i), int64(n), want.n)
		switch i {
		case 0: // the oldest of all
			same(t, "oldest", b.row("a", "old0").Status, int64(1))
		case 1: // three of a and all of b, which has fewer than its share
			same(t, "b", b.row("b", "old0").Status, int64(1))
			same(t, "a", []int64{b.row("a", "old3").Status, b.row("a", "old4").Status}, []int64{1, 3})
		}
	}
	same(t, "left", left(), 2) // the recent row and the row of an active batch
	u := b.row("a", "old0")
	same(t, "no attempt", []int64{u.State, u.BatchID}, []int64{0, 0})
	_, err := b.URLReturn(ctx, wire.URLReturnRequest{Fault: true, MaxAttempts: 2, BatchID: 9})
	b.must(err)
	same(t, "an end that counts", b.row("c", "live0").State, int64(2))
}

// A URL whose batches are lost repeatedly gets State 2; one success resets its attempts.
func TestAttempts(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["u"]}`)
	round := func(batch int64, lost bool) {
		_, err := b.MarkCrawling(ctx, "s", batch, []wire.URL{wire.NewURL("s", "u")})
		b.must(err)
		if !lost {
			b.saved(b.FinishCrawl(ctx, "s", batch, []wire.Fetched{{URLMd5: wire.Md5("u"), Set: schema.Patch{"Status": int64(4)}, Crawled: true}}))
		}
		_, err = b.URLReturn(ctx, wire.URLReturnRequest{BatchID: batch, Fault: true, MaxAttempts: 3})
		b.must(err)
	}
	for batch, want := range []string{"1/0", "1/0", "4/0", "1/0", "1/0", "4/2"} {
		round(int64(batch+1), batch != 2)
		u := b.row("s", "u")
		same(t, fmt.Sprint("round ", batch), fmt.Sprintf("%d/%d", u.Status, u.State), want)
	}
	u, s := b.row("s", "u"), b.site("s")
	same(t, "end", []any{u.ErrorMask, s.Errors, s.ErrorMask}, []any{errormask.MaxExecutionTime, int64(1), errormask.MaxExecutionTime})
}

// Rows that a batch holds can be read and can get attempts, while they stay with the batch. Only
// the named rows count, and a row without attempts left ends.
func TestURLHeld(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["u"]}`)
	b.newSite(`{"id":"o","urls":["u"]}`)
	for _, site := range []string{"s", "o"} {
		_, err := b.MarkCrawling(ctx, site, 7, []wire.URL{wire.NewURL(site, "u"), wire.NewURL(site, "v")})
		b.must(err)
	}
	_, err := b.MarkCrawling(ctx, "s", 8, []wire.URL{wire.NewURL("s", "foreign")})
	b.must(err)
	held := func(fault bool, urls ...wire.URLKey) (released int, names []string) {
		released, kept, err := b.URLHeld(ctx, wire.URLReturnRequest{BatchID: 7, Keep: true, Fault: fault, MaxAttempts: 3, URLs: urls})
		b.must(err)
		for _, u := range kept {
			names = append(names, u.SiteID+"/"+u.URL)
		}
		slices.Sort(names)
		return released, names
	}
	guilty := wire.URLKey{SiteID: "s", URLMd5: wire.Md5("u")}
	for round := range 3 {
		n, names := held(false)
		same(t, fmt.Sprint("all rows of the batch, round ", round), []any{n, names}, []any{0, []string{"o/u", "o/v", "s/u", "s/v"}})
		wantN, want := 0, []string{"s/u"}
		if round == 2 {
			wantN, want = 1, nil
		}
		n, names = held(true, guilty)
		same(t, fmt.Sprint("attempt ", round+1), []any{n, names}, []any{wantN, want})
	}
	u := b.row("s", "u")
	same(t, "given up", []any{u.Status, u.State, u.ErrorMask, u.BatchID}, []any{int64(4), int64(2), errormask.MaxExecutionTime, int64(0)})
	for _, row := range []wire.URL{b.row("s", "v"), b.row("o", "u"), b.row("o", "v")} {
		same(t, row.SiteID+"/"+row.URL, []any{row.Status, row.State, row.BatchID}, []any{int64(3), int64(0), int64(7)})
	}
}

func TestSuspend(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["u"]}`)
	b.put("bad", schema.Patch{"Status": int64(4), "Crawled": int64(1), "ErrorMask": int64(errormask.Timeout)})
	b.must(b.Suspend(ctx, "s", errormask.SiteMaxErrors, 3))
	s := b.site("s")
	same(t, "site", []any{s.State, s.Errors, s.ErrorMask, s.TcDate}, []any{int64(3), int64(4), errormask.SiteMaxErrors | errormask.Timeout, schema.Date("2026-01-05 10:00:00")})
	// The site's own bits stay when its rows lose theirs.
	_, err := b.MarkCrawling(ctx, "s", 1, []wire.URL{wire.NewURL("s", "bad")})
	b.must(err)
	same(t, "mask", b.site("s").ErrorMask, errormask.SiteMaxErrors)
	b.must(b.Suspend(ctx, "nobody", 1, 1))
}
