package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

func (b *bench) deleteURLs(raw string) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadURLDelete(json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.URLDelete(ctx, list)
	b.must(err)
	return answer
}

func (b *bench) cleanURLs(raw string) wire.GeneralResponse {
	b.Helper()
	list, err := wire.ReadURLCleanup(json.RawMessage(raw), nil)
	b.must(err)
	answer, err := b.URLCleanup(ctx, list)
	b.must(err)
	return answer
}

// waiting lists the URLs of a site that wait for URL_PURGE, with their TcDates.
func (b *bench) waiting(site string) string {
	b.Helper()
	var list []string
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		list = nil
		if has, err := t.HasSite(sqldb.Deleted, site); err != nil || !has {
			return err
		}
		return t.Each("SELECT URL, COALESCE(TcDate, '-') FROM "+t.SiteTable(sqldb.Deleted, site)+" WHERE Site_Id = ? ORDER BY URL, TcDate", []any{site}, func(scan func(...any) error) error {
			var url, date string
			err := scan(&url, &date)
			list = append(list, url+" "+date)
			return err
		})
	}))
	return strings.Join(list, ", ")
}

// thrown lists and empties the trash, as site/url or site/.
func (b *bench) thrown(urls ...string) string {
	b.Helper()
	items, err := b.Trash(ctx)
	b.must(err)
	byMd5 := map[string]string{}
	for _, u := range urls {
		byMd5[wire.Md5(u)] = u
	}
	var list []string
	for _, item := range items {
		list = append(list, item.SiteID+"/"+byMd5[item.URLMd5])
	}
	b.must(b.TrashDone(ctx, items))
	return strings.Join(list, " ")
}

func TestURLDelete(t *testing.T) {
	cases := map[string]struct {
		raw     string
		want    []any
		message string
		rows    string // remaining
		waiting string
		trash   string
	}{
		"now":                   {`{"siteId":"s","url":"u1"}`, statuses(true), "", "u2 u3", "", "s/u1"},
		"by key, delayed":       {`{"siteId":"s","url":"` + wire.Md5("u1") + `","urlType":1,"delayedType":0}`, statuses(true), "", "u2 u3", "u1 2026-01-05 09:00:00", ""},
		"id in another case":    {`{"siteId":"S","url":"u1"}`, statuses(true), "", "u2 u3", "", "s/u1"},
		"unknown URL":           {`{"siteId":"s","url":"none"}`, statuses(true), "", "u1 u2 u3", "", "s/"},
		"unknown URL, delayed":  {`{"siteId":"s","url":"none","delayedType":0}`, statuses(true), "", "u1 u2 u3", "", ""},
		"unknown site":          {`{"siteId":"none","url":"u1"}`, statuses(false), "URLDelete[0].siteId: none", "u1 u2 u3", "", ""},
		"neither":               {`{"siteId":"s"}`, statuses(false), "URLDelete[0].url", "u1 u2 u3", "", ""},
		"criterion of nothing":  {`{"siteId":"s","criterions":{}}`, statuses(false), "URLDelete[0].url", "u1 u2 u3", "", ""},
		"criterion":             {`{"siteId":"s","criterions":{"WHERE":"Depth=2","ORDER BY":"URL DESC","LIMIT":1},"delayedType":0}`, statuses(true), "", "u1 u2", "u3 -", ""},
		"criterion finds none":  {`{"siteId":"s","criterions":{"WHERE":"Depth=7"}}`, statuses(true), "", "u1 u2 u3", "", ""},
		"condition is bounded":  {`{"siteId":"s","criterions":{"WHERE":"Depth=1 OR 1=1"}}`, statuses(true), "", "", "", ""},
		"refused, others stand": {`{"siteId":"s","criterions":{"WHERE":"SLEEP(1)"}},{"siteId":"s","url":"u2"}`, statuses(false, true), "URLDelete[0].criterions.WHERE", "u1 u3", "", "s/u2"},
		"refused sub-select":    {`{"siteId":"s","criterions":{"WHERE":"1 IN (SELECT Id FROM dc_sites.trash)"}}`, statuses(false), "trash", "u1 u2 u3", "", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s","properties":{"STATS_FREQ_ENABLED":"1","STATS_LOG_ENABLED":"1"}}`)
			b.newSite(`{"id":"other","urls":["u1"]}`)
			b.newURLs(`[{"siteId":"s","url":"u1","depth":1,"tcDate":"2026-01-05 09:00:00","attributes":[{"k":"v"}]},{"siteId":"s","url":"u2","depth":2},{"siteId":"s","url":"u3","depth":2}]`)
			answer := b.deleteURLs("[" + c.raw + "]")
			same(t, "statuses", answer.Statuses, c.want)
			if (c.message == "") != (answer.ErrorMessage == "") || !strings.Contains(answer.ErrorMessage, c.message) {
				t.Errorf("message = %q, want %q", answer.ErrorMessage, c.message)
			}
			var left []string
			for _, u := range []string{"u1", "u2", "u3"} {
				if b.row("s", u).URL != "" {
					left = append(left, u)
				}
			}
			same(t, "left", strings.Join(left, " "), c.rows)
			same(t, "waiting", b.waiting("s"), c.waiting)
			if trash := b.thrown("u1", "u2", "u3"); c.trash != "" || c.rows == "u1 u2 u3" {
				same(t, "trash", trash, c.trash)
			}
			b.checkCounters("s", name)
			same(t, "other site", b.row("other", "u1").URL, "u1")
			attributes, err := b.Attributes(ctx, "s", wire.Md5("u1"), []string{"*"})
			b.must(err)
			same(t, "attributes", len(attributes) == 1, strings.Contains(c.rows, "u1"))
			for _, u := range []string{"u1", "u2", "u3"} {
				gone := int64(1)
				if strings.Contains(c.rows, u) {
					gone = 0
				}
				f := b.stats("s", u)
				same(t, "counted "+u, []int64{f.FDel, f.FDeleted}, []int64{gone, gone})
				same(t, "noted "+u, int64(len(b.log("s", u, 21))), gone)
			}
		})
	}
}

func (b *bench) stats(site, url string) wire.FreqRow {
	b.Helper()
	answers, err := b.URLStats(ctx, []wire.URLRecordsRequest{{SiteID: site, URLMd5: wire.Md5(url)}})
	b.must(err)
	if answers[0] == nil || len(answers[0].FreqRows) == 0 {
		return wire.FreqRow{}
	}
	return answers[0].FreqRows[0]
}

// log lists the objects of journal rows with a code.
func (b *bench) log(site, url string, code int) []string {
	b.Helper()
	answers, err := b.URLHistory(ctx, []wire.URLRecordsRequest{{SiteID: site, URLMd5: wire.Md5(url), Criterion: wire.Criterion{Where: fmt.Sprint("OpCode=", code)}}})
	b.must(err)
	var list []string
	if answers[0] != nil {
		for _, row := range answers[0].LogRows {
			list = append(list, row.Object)
		}
	}
	return list
}

func TestJournalHasReasonOfDeletion(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["root"],"properties":{"STATS_LOG_ENABLED":"1"}}`)
	b.newURLs(`[{"siteId":"s","url":"u","parentMd5":"` + wire.Md5("root") + `"}]`)
	b.deleteURLs(`[{"siteId":"s","url":"u","delayedType":0,"reason":6}]`)
	same(t, "by a client", b.log("s", "u", 21), []string{`{"criterions":{},"delayedType":0,"reason":6,"siteId":"s","url":"u","urlType":0}`})
	r, err := wire.ReadSiteUpdate(json.RawMessage(`{"id":"s","updateType":1,"urls":["root"]}`), nil)
	b.must(err)
	_, err = b.SiteUpdate(ctx, r)
	b.must(err)
	if log := b.log("s", "root", 21); len(log) != 1 || !strings.Contains(log[0], `"reason":7`) {
		t.Errorf("by SITE_UPDATE: %s", log)
	}
}

// A request for more rows than PageRows changes all of them, with each kind of selection.
func TestManyRowsTakeSeveralTransactions(t *testing.T) {
	const rows = 2*tables.PageRows + 100
	b := newBench(t)
	fill := func() {
		b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
			var urls []*wire.URL
			for i := range rows {
				u := linkTo(i)
				urls = append(urls, &u)
			}
			fresh, err := t.MissingURLs("s", urls)
			b.must(err)
			return t.AddURLs("s", fresh)
		}))
	}
	b.newSite(`{"id":"s","urls":["http://example.com/"]}`)
	left := func(what string, live, waiting int64) {
		t.Helper()
		s := b.site("s")
		same(t, what, []int64{s.NewURLs, s.DeletedURLs}, []int64{live, waiting})
		b.checkCounters("s", what)
	}
	fill()
	same(t, "cleanup", b.cleanURLs(`[{"siteId":"s","criterions":{"WHERE":"Depth>=0"},"status":4}]`).Statuses, statuses(true))
	left("cleaned", 0, 0)
	same(t, "cleanup, limited", b.cleanURLs(fmt.Sprintf(`[{"siteId":"s","criterions":{"WHERE":"Status=4 AND ParentMd5<>''","ORDER BY":"URL","LIMIT":%d},"delayedType":0}]`, rows)).Statuses, statuses(true))
	left("cleaned again", rows, rows)
	same(t, "delete", b.deleteURLs(`[{"siteId":"s","url":"x"},{"siteId":"s","criterions":{"WHERE":"ParentMd5<>''"},"delayedType":0},{"siteId":"s","url":"y"}]`).Statuses, statuses(true, true, true))
	left("deleted", 0, 2*rows)
	fill()
	same(t, "delete, limited", b.deleteURLs(fmt.Sprintf(`[{"siteId":"s","criterions":{"ORDER BY":"LENGTH(ParentMd5) DESC","LIMIT":%d}}]`, rows-1)).Statuses, statuses(true))
	left("deleted, limited", 1, 2*rows)
	same(t, "purge", b.purge(fmt.Sprintf(`[{"siteId":"s","criterions":{"LIMIT":%d}}]`, 2*tables.PageRows+50)), fmt.Sprintf("s:%d", tables.PageRows+25)) // each has two copies
	left("purged, limited", 1, 2*(rows-tables.PageRows-25))
	same(t, "purge", b.purge(`[{"siteId":"s","criterions":{"LIMIT":null}}]`), fmt.Sprintf("s:%d", rows-tables.PageRows-25))
	left("purged", 1, 0)
	fill()
	_, err := b.URLAge(ctx, []wire.URLAgeRequest{{URLsCriterion: wire.Criterion{Where: "ParentMd5<>''"}, MaxURLs: rows - 1, DelayedType: wire.Delayed}})
	b.must(err)
	left("aged", 1, rows-1)
}

func TestURLCleanup(t *testing.T) {
	cases := map[string]struct {
		raw          string
		row          string // state/status/UDate
		waiting, log string
	}{
		"new again":  {`{"siteId":"s","url":"u"}`, "0/1/2026-01-05 08:00:00", "", "u"},
		"nulls":      {`{"siteId":"s","url":"u","state":null,"status":null}`, "0/1/2026-01-05 08:00:00", "", "u"},
		"as asked":   {`{"siteId":"s","url":"u","state":2,"status":4}`, "2/4/2026-01-05 10:00:00", "", "u"},
		"delayed":    {`{"siteId":"s","url":"u","delayedType":0}`, "0/1/2026-01-05 08:00:00", "u 2026-01-05 10:00:00", "u"},
		"without":    {`{"siteId":"s","url":"none"}`, "2/7/2026-01-05 09:00:00", "", ""},
		"criterions": {`{"siteId":"s","criterions":{"WHERE":"Status=7 OR Status=4"},"state":1}`, "1/1/2026-01-05 08:00:00", "", "u"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s","recrawlPeriod":60,"properties":{"STATS_LOG_ENABLED":"1"}}`)
			b.newURLs(`[{"siteId":"s","url":"u","status":7,"state":2,"crawled":1,"processed":1,"tagsCount":1,"size":9,"UDate":"2026-01-05 09:00:00","tcDate":"2026-01-05 09:00:00","attributes":[{"k":"v"}]},
				{"siteId":"s","url":"undated","status":7}]`)
			same(t, "statuses", b.cleanURLs("["+c.raw+"]").Statuses, statuses(true))
			u := b.row("s", "u")
			same(t, "row", fmt.Sprintf("%d/%d/%s", u.State, u.Status, u.UDate), c.row)
			same(t, "waiting", b.waiting("s"), c.waiting)
			same(t, "noted", len(b.log("s", "u", 23)) == 1, c.log != "")
			b.checkCounters("s", name)
			attributes, err := b.Attributes(ctx, "s", wire.Md5("u"), []string{"*"})
			b.must(err)
			same(t, "attributes", len(attributes), map[bool]int{true: 0, false: 1}[c.log != ""])
		})
	}
	b := newBench(t)
	b.newSite(`{"id":"s","recrawlPeriod":60}`)
	b.newURLs(`[{"siteId":"s","url":"undated","status":7}]`)
	b.cleanURLs(`[{"siteId":"s","url":"undated"}]`)
	same(t, "no UDate", []any{b.row("s", "undated").UDate, b.row("s", "undated").TcDate}, []any{schema.Date(""), schema.Date("2026-01-05 10:00:00")})
	same(t, "wrong ones", b.cleanURLs(`[{"siteId":"no","url":"u"},{"siteId":"s"},{"siteId":"s","criterions":{"ORDER BY":"SLEEP(1)"}}]`).Statuses, statuses(false, false, false))
	_, err := wire.ReadURLCleanup(json.RawMessage(`[{"siteId":"s","url":"u","status":256}]`), nil)
	if err == nil || !strings.Contains(err.Error(), "URLCleanup[0].status") {
		t.Errorf("status 256: %v", err)
	}
}

func TestURLAge(t *testing.T) {
	cases := map[string]struct {
		raw, left, aged string
		delayed         bool
	}{
		"of all sites":           {`{"urlsCriterions":{"WHERE":"Depth=1"}}`, "a0 b0", "a1 a2 b9", true}, // the criterion of b: Depth=9
		"a site's own criterion": {`{"urlsCriterions":{"WHERE":"1=0"},"sitesCriterions":{"WHERE":"Id='b'"}}`, "a0 a1 a2 b0", "b9", false},
		"limit of each site":     {`{"urlsCriterions":{"WHERE":"Site_Id='%SITE_ID%'","ORDER BY":"URL","LIMIT":1},"sitesCriterions":{"ORDER BY":"Id"}}`, "a1 a2 b0", "a0 b9", false},
		"limit of all":           {`{"urlsCriterions":{"WHERE":"1=1","ORDER BY":"URL DESC"},"sitesCriterions":{"WHERE":"Id='a'"},"maxURLs":2}`, "a0 b0 b9", "a1 a2", true},
		"limit of nothing":       {`{"urlsCriterions":{"WHERE":"1=1"},"maxURLs":0}`, "a0 a1 a2 b0 b9", "", false},
		"each once": {`{"urlsCriterions":{"WHERE":"URL='a1'"},"sitesCriterions":{"WHERE":"Id='a'"},"maxURLs":2},
			{"urlsCriterions":{"WHERE":"Depth=1","ORDER BY":"URL"},"sitesCriterions":{"WHERE":"Id='a'"},"maxURLs":2}`, "a0 b0 b9", "a1 a2", false},
		"no WHERE":     {`{"urlsCriterions":{"LIMIT":3}}`, "a0 a1 a2 b0", "b9", false}, // the criterion of b
		"no criterion": {`{}`, "a0 a1 a2 b0", "b9", true},
		"no such site": {`{"urlsCriterions":{"WHERE":"1=1"},"sitesCriterions":{"WHERE":"Id='no'"}}`, "a0 a1 a2 b0 b9", "", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"a","properties":{"STATS_LOG_ENABLED":"1","STATS_FREQ_ENABLED":"1"}}`)
			b.newSite(`{"id":"b","properties":{"AGING_URL_CRITERION":"Depth=9"}}`)
			b.newURLs(`[{"siteId":"a","url":"a0"},{"siteId":"a","url":"a1","depth":1},{"siteId":"a","url":"a2","depth":1},{"siteId":"b","url":"b0","depth":1},{"siteId":"b","url":"b9","depth":9}]`)
			list, err := wire.ReadURLAge(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			if c.delayed {
				for i := range list {
					list[i].DelayedType = wire.Delayed
				}
			}
			answer, err := b.URLAge(ctx, list)
			b.must(err)
			same(t, "answer", answer, wire.GeneralResponse{Statuses: statuses()})
			var left, aged []string
			for _, u := range []string{"a0", "a1", "a2", "b0", "b9"} {
				if b.row(u[:1], u).URL != "" {
					left = append(left, u)
				} else {
					aged = append(aged, u)
				}
				if u[:1] == "a" {
					f := b.stats("a", u)
					gone := int64(1)
					if b.row("a", u).URL != "" {
						gone = 0
					}
					same(t, "counted "+u, []int64{f.FAged, f.FDel, f.FDeleted, int64(len(b.log("a", u, 21)))}, []int64{gone, gone, gone, gone})
				}
			}
			same(t, "aged", strings.Join(aged, " "), c.aged)
			same(t, "left", strings.Join(left, " "), c.left)
			trash := strings.Fields(b.thrown())
			waiting := strings.TrimSuffix(b.waiting("a")+", "+b.waiting("b"), ", ")
			if c.delayed {
				same(t, "trash", len(trash), 0)
				same(t, "waiting", strings.Count(waiting, " -"), len(aged))
			} else {
				same(t, "trash", len(trash), len(aged))
				same(t, "waiting", waiting, "")
			}
			b.checkCounters("a", name)
			b.checkCounters("b", name)
		})
	}
	b := newBench(t)
	b.newSite(`{"id":"bad","urls":["u"],"properties":{"AGING_URL_CRITERION":"SLEEP(1)","STATS_LOG_ENABLED":"1"}}`)
	b.newSite(`{"id":"good","urls":["v","w","x"],"properties":{"AGING_URL_CRITERION":" ","STATS_LOG_ENABLED":"1"}}`)
	_, err := b.URLAge(ctx, []wire.URLAgeRequest{{URLsCriterion: wire.Criterion{Where: "Depth=0", OrderBy: "URL", Limit: "2"}, SitesCriterion: wire.Criterion{OrderBy: "Id"}, MaxURLs: 1}})
	b.must(err)
	same(t, "site with invalid property skipped", []string{b.row("bad", "u").URL, b.row("good", "v").URL, b.row("good", "w").URL}, []string{"u", "", "w"})
	same(t, "above the limit", []int{len(b.log("good", "v", 24)), len(b.log("good", "w", 24)), len(b.log("good", "x", 24))}, []int{1, 1, 0})
	for raw, part := range map[string]string{`{"urlsCriterions":{"WHERE":"x("}}`: "WHERE", `{"urlsCriterions":{"WHERE":"1=1"},"sitesCriterions":{"WHERE":"Nope=1"}}`: "Nope"} {
		list, err := wire.ReadURLAge(json.RawMessage("["+raw+"]"), nil)
		if err == nil {
			_, err = b.URLAge(ctx, list)
		}
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
