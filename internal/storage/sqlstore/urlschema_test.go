package sqlstore

import (
	"fmt"
	"testing"

	"hce/dc/internal/storage/sqlstore/sites"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func TestTakeSchema(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["u"],"maxURLs":6}`)
	b.put("again", schema.Patch{"Status": int64(7), "State": int64(2), "Crawled": int64(2), "Processed": int64(1), "Size": int64(5)})
	b.put("held", schema.Patch{"Status": int64(3), "Batch_Id": int64(9)})
	template := wire.NewURL("s", "u")
	take := func(batch int64) (bool, error) {
		return b.TakeSchema(ctx, "s", batch, template, child("first"), []wire.URL{child("again"), child("again"), child("held"), child("first"), child("u"), child("new"), child("new"), child("more"), child("toomany")})
	}
	rows := func() string {
		text := ""
		for _, url := range []string{"u", "first", "again", "held", "new", "more", "toomany"} {
			u := b.row("s", url)
			text += fmt.Sprintf("%s %d/%d/%d/%d ", url, u.Status, u.State, u.BatchID, u.Crawled)
		}
		return text
	}
	taken, err := take(7)
	b.must(err)
	const want = "u 4/0/7/1 first 2/0/7/0 again 1/0/0/3 held 3/0/9/0 new 1/0/0/0 more 1/0/0/0 toomany 0/0/0/0 "
	same(t, "taken", taken, true)
	same(t, "rows", rows(), want)
	same(t, "parent", b.row("s", "first").ParentMd5, template.URLMd5)
	b.checkCounters("s", "schema")

	taken, err = take(7)
	b.must(err)
	same(t, "second run", []any{taken, rows()}, []any{false, want})
	marks, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{child("first"), template})
	b.must(err)
	same(t, "marks", []bool{marks[wire.Md5("first")].Busy, marks[wire.Md5("u")].Done}, []bool{false, true})

	b.put("other", schema.Patch{"Status": int64(2), "Batch_Id": int64(9)})
	taken, err = b.TakeSchema(ctx, "s", 7, wire.NewURL("s", "other"), child("x"), nil)
	b.must(err)
	same(t, "held by another", []any{taken, b.row("s", "x").URL}, []any{false, ""})
	taken, err = b.TakeSchema(ctx, "s", 8, wire.NewURL("s", "unknown"), child("x"), nil)
	b.must(err)
	same(t, "without a row", []any{taken, b.row("s", "unknown").Crawled, b.row("s", "x").Status}, []any{true, int64(1), int64(2)})
	b.checkCounters("s", "second schema")
	_, err = b.TakeSchema(ctx, "nobody", 8, template, child("x"), nil)
	same(t, "unknown site", wire.CodeOf(err), wire.CodeNotFound)
}

func TestElsewhere(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.newSite(`{"id":"full","urls":["http://full.test/"],"maxURLs":2,"requestDelay":77,"urlType":1}`)
	put := func(sel int64, urls ...string) int {
		r := wire.Fetched{URLMd5: wire.Md5("u"), Select: sel}
		for _, u := range urls {
			r.Elsewhere = append(r.Elsewhere, wire.Link{URL: child(u)})
		}
		skipped, err := b.PutElsewhere(ctx, []wire.Fetched{r})
		b.must(err)
		return skipped
	}
	for range 2 {
		same(t, "skipped", put(wire.SelectQualify, "http://full.test/a", "http://full.test/a", "http://full.test/b", "http://none.test/c", "no host", ""), 2)
		a := b.row("full", "http://full.test/a")
		same(t, "row", []any{a.Status, a.RequestDelay, a.Type, a.ParentMd5}, []any{int64(1), int64(77), int64(1), wire.Md5("u")})
		same(t, "no room", b.row("full", "http://full.test/b").URL, "")
		same(t, "general", b.row("0", "http://none.test/c").Status, int64(1))
	}
	auto := wire.Md5("http://auto.test/")
	same(t, "skipped", put(wire.SelectAuto, "http://auto.test/a", "http://auto.test/b", "no host"), 1)
	same(t, "made", []any{b.site(auto).State, b.row(auto, "http://auto.test/b").Status}, []any{int64(1), int64(1)})
	for _, site := range []string{"full", "0", auto} {
		b.checkCounters(site, "elsewhere")
	}
}

func TestConditions(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.put("u", schema.Patch{"Status": int64(4), "Size": int64(10), "ContentType": "text/html"})
	cases := map[string]struct {
		site, url, sql string
		want, refused  bool
	}{
		"true":                   {"s", "u", "Size=10 AND ContentType LIKE 'TEXT%'", true, false},
		"false":                  {"s", "u", "Size>10", false, false},
		"a number":               {"s", "u", "Size", true, false},
		"below zero":             {"s", "u", "Size-20", false, false},
		"null":                   {"s", "u", "PDate > NOW()", false, false},
		"blank":                  {"s", "u", " ", true, false},
		"no column":              {"s", "u", "'2026-01-05' > DATE_SUB(NOW(), INTERVAL 1 DAY)", true, false},
		"sub-select":             {"s", "u", "(SELECT COUNT(*) FROM urls_%SITE_ID%)", true, false},
		"no row, no column":      {"s", "none", "1=1", true, false},
		"no row":                 {"s", "none", "Size<100", false, false},
		"no site, no column":     {"nobody", "u", "DATE(NOW())='2026-01-05'", true, false},
		"no site":                {"nobody", "u", "Size<100", false, false},
		"hostile id":             {"'; DROP", "u", "1=1", true, false},
		"unknown column":         {"s", "u", "Nothing=1", false, true},
		"function":               {"s", "u", "SLEEP(10)", false, true},
		"out of its parentheses": {"s", "u", "0) OR (1", false, true},
		"another table":          {"s", "none", "(SELECT COUNT(*) FROM mysql.user)", false, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			verdict, err := b.Condition(ctx, c.site, wire.Md5(c.url), c.sql)
			b.must(err)
			same(t, "verdict", []bool{verdict.True, verdict.Err != nil}, []bool{c.want, c.refused})
		})
	}
	texts, err := b.URLTexts(ctx, "s", []string{wire.Md5("u"), wire.Md5("none")})
	b.must(err)
	known, err := b.KnownURLs(ctx, "s", []string{wire.Md5("u"), wire.Md5("none")})
	b.must(err)
	same(t, "texts and keys", []any{len(texts), texts[wire.Md5("u")], len(known), known[wire.Md5("u")]}, []any{1, "u", 1, true})
	texts, err = b.URLTexts(ctx, "nobody", []string{wire.Md5("u")})
	b.must(err)
	same(t, "unknown site", len(texts), 0)
}

func TestProxiesOfASite(t *testing.T) {
	b := newBench(t)
	add := func(site, host string, p schema.Patch) {
		_, err := b.ProxyNew(ctx, []wire.ProxyRequest{{SiteID: site, Host: host, Row: p}})
		b.must(err)
	}
	add("s", "own:1", schema.Patch{"State": int64(1), "Priority": int64(5), "FaultsMax": int64(2)})
	add("*", "any:1", schema.Patch{"State": int64(1), "Priority": int64(5)})
	add("*", "first:1", schema.Patch{"State": int64(1), "Priority": int64(1)})
	add("0", "general:1", schema.Patch{"State": int64(1), "Priority": int64(9)})
	add("s", "off:1", schema.Patch{"State": int64(0)})
	add("t", "other:1", schema.Patch{"State": int64(1)})
	hosts := func() string {
		list, err := b.Proxies(ctx, "s")
		b.must(err)
		text := ""
		for _, p := range list {
			text += fmt.Sprintf("%s/%d ", p.Host, p.Faults)
		}
		return text
	}
	same(t, "proxies", hosts(), "first:1/0 own:1/0 any:1/0 general:1/0 ")
	b.must(b.ProxyFault(ctx, "s", "own:1", false))
	b.must(b.ProxyFault(ctx, "s", "any:1", false))
	b.must(b.ProxyFault(ctx, "s", "other:1", true))
	b.must(b.ProxyFault(ctx, "s", "first:1", true))
	same(t, "faults", hosts(), "own:1/1 any:1/1 general:1/0 ")
	b.must(b.ProxyFault(ctx, "s", "own:1", false))
	same(t, "too many faults", hosts(), "any:1/1 general:1/0 ")
	for i := range 60 {
		add("s", fmt.Sprint("many:", i), schema.Patch{"State": int64(1)})
	}
	list, err := b.Proxies(ctx, "s")
	b.must(err)
	same(t, "at most", len(list), sites.MaxProxies)
}
