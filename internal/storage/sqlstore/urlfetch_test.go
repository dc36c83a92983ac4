package sqlstore

import (
	"encoding/json"
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

// fill makes sites with n rows each, site<i>/u<j>, oldest first.
func (b *bench) fill(sites, n int) {
	b.Helper()
	for i := range sites {
		b.newSite(fmt.Sprintf(`{"id":"s%d","priority":%d,"requestDelay":100}`, i, 100-i))
		var list []string
		for j := range n {
			list = append(list, fmt.Sprintf(`{"siteId":"s%d","url":"%d/%d","CDate":"2025-01-01 00:00:%02d","depth":%d}`, i, i, j, j, j%3))
		}
		b.newURLs("[" + strings.Join(list, ",") + "]")
	}
}

func TestURLFetchSelects(t *testing.T) {
	cases := map[string]struct{ raw, want string }{
		"all sites by priority":    {`{"maxURLs":0}`, "0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3 2/0 2/1 2/2 2/3"},
		"total":                    {`{"maxURLs":5}`, "0/0 0/1 0/2 0/3 1/0"},
		"limit of each site":       {`{"urlsCriterions":{"LIMIT":1}}`, "0/0 1/0 2/0"},
		"offset of each site":      {`{"urlsCriterions":{"LIMIT":"3, 5"}}`, "0/3 1/3 2/3"},
		"condition":                {`{"urlsCriterions":{"WHERE":"Depth=2"}}`, "0/2 1/2 2/2"},
		"order":                    {`{"sitesList":["s1"],"urlsCriterions":{"ORDER BY":"Depth DESC, CDate DESC"}}`, "1/2 1/1 1/3 1/0"},
		"list in its order":        {`{"sitesList":["s2","nobody","s0","s2"],"urlsCriterions":{"LIMIT":1}}`, "2/0 0/0"},
		"list and criterion":       {`{"sitesList":["s2","s0"],"sitesCriterions":{"WHERE":"Priority>98"},"urlsCriterions":{"LIMIT":1}}`, "0/0"},
		"list and limit":           {`{"sitesList":["s2","s0"],"sitesCriterions":{"LIMIT":1},"urlsCriterions":{"LIMIT":1}}`, "0/0"},
		"only active":              {`{"maxURLs":0,"sitesCriterions":{"ORDER BY":"Id"},"urlsCriterions":{"LIMIT":1}}`, "0/0 1/0 2/0"},
		"any state with a WHERE":   {`{"sitesCriterions":{"WHERE":"Id LIKE 's%'"},"urlsCriterions":{"LIMIT":1}}`, "0/0 1/0 2/0 3/0"},
		"proportional":             {`{"algorithm":1,"maxURLs":6}`, "0/0 0/1 1/0 1/1 2/0 2/1"},
		"proportional, rounds":     {`{"algorithm":1,"maxURLs":11}`, "0/0 0/1 0/2 1/0 1/1 1/2 2/0 2/1 2/2 0/3 1/3"},
		"proportional, few":        {`{"algorithm":1,"maxURLs":2}`, "0/0 1/0"},
		"proportional, all":        {`{"algorithm":1,"maxURLs":100}`, "0/0 0/1 0/2 0/3 1/0 1/1 1/2 1/3 2/0 2/1 2/2 2/3"},
		"proportional, one by one": {`{"algorithm":1,"maxURLs":5}`, "0/0 1/0 2/0 0/1 1/1"},
		"pace":                     {`{"maxURLs":0,"paceTime":250}`, "0/0 0/1 1/0 1/1 2/0 2/1"},
		"pace, at least one":       {`{"maxURLs":0,"paceTime":1}`, "0/0 1/0 2/0"},
		"pace, proportional":       {`{"algorithm":1,"maxURLs":7,"paceTime":300}`, "0/0 0/1 1/0 1/1 2/0 2/1 0/2"},
		"macro of a query":         {`{"maxURLs":0,"urlsCriterions":{"WHERE":"Depth=%D%","SQL":{"D":"SELECT Value FROM sites_properties WHERE Site_Id='%SITE_ID%'"}}}`, "1/1"},
		"site id":                  {`{"maxURLs":0,"urlsCriterions":{"WHERE":"Site_Id='%SITE_ID%' AND Depth=2"}}`, "0/2 1/2 2/2"},
		"sub-select":               {`{"maxURLs":0,"urlsCriterions":{"WHERE":"Depth=(SELECT Value FROM dc_sites.sites_properties WHERE Site_Id='%SITE_ID%')"}}`, "1/1"},
	}
	b := newBench(t)
	b.fill(4, 4)
	b.must(b.Suspend(ctx, "s3", errormask.SiteMaxErrors, 0))
	b.must(b.Suspend(ctx, "0", 0, 0)) // no rows from the general site
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
		_, err := t.InsertRow(t.ListTarget("", tables.PropertiesInfo), schema.Patch{"Site_Id": "s1", "Name": "D", "Value": "1"})
		return err
	}))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, u := range b.fetch("[" + c.raw + "]") {
				got = append(got, u.URL)
			}
			same(t, "urls", strings.Join(got, " "), c.want)
		})
	}
}

// A site whose PROCESS_CTYPES is text/html leaves other types as they are. All other sites
// have pages of all types processed or marked.
func TestDueProcess(t *testing.T) {
	b := newBench(t)
	sites := map[string]string{
		"default": `{"PROCESS_CTYPES":"text/html"}`, "list": `{"PROCESS_CTYPES":"text/html,application/pdf"}`, "all": `{"PROCESS_CTYPES":"*"}`, "none": `{}`,
	}
	for site, properties := range sites {
		b.newSite(`{"id":"` + site + `","urls":[],"properties":` + properties + `}`)
		for _, kind := range []string{"text/html", "application/pdf", "image/png"} {
			b.putIn(site, site+"/"+kind, schema.Patch{"Status": int64(4), "State": int64(0), "Crawled": int64(1), "Size": int64(9), "HTTPCode": int64(200), "ContentType": kind})
		}
	}
	var got []string
	for _, u := range b.fetch(fmt.Sprintf(`[{"maxURLs":0,"urlsCriterions":{"WHERE":%q}}]`, wire.DueProcess)) {
		got = append(got, u.URL)
	}
	slices.Sort(got)
	same(t, "due", strings.Join(got, " "), "all/application/pdf all/image/png all/text/html default/text/html "+
		"list/application/pdf list/image/png list/text/html none/application/pdf none/image/png none/text/html")
}

// Answers with a page are processed whatever their code, and the condition and IsPageCode agree.
func TestDuePageCodes(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":[]}`)
	var want []string
	for _, code := range []int64{199, 200, 201, 202, 203, 204, 205, 206, 207, 226, 299, 300, 301, 304, 404} {
		b.putIn("s", fmt.Sprint(code), schema.Patch{"Status": int64(4), "Crawled": int64(1), "Size": int64(9), "HTTPCode": code, "ContentType": "text/html"})
		if wire.IsPageCode(code) {
			want = append(want, fmt.Sprint(code))
		}
	}
	var got []string
	for _, u := range b.fetch(fmt.Sprintf(`[{"maxURLs":0,"urlsCriterions":{"WHERE":%q}}]`, wire.DueProcess)) {
		got = append(got, u.URL)
	}
	slices.Sort(got)
	same(t, "due", strings.Join(got, " "), strings.Join(want, " "))
	same(t, "page codes", strings.Join(want, " "), "200 201 202 203 207 226 299 300")
}

// A row is processed no sooner than its processingDelay after its crawl. A kill loses nothing:
// only the row and the clock decide.
func TestProcessingDelay(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":[]}`)
	crawled := string(schema.DateOf(b.now))
	for url, c := range map[string]struct {
		delay int64
		date  any
	}{
		"none": {0, crawled}, "500": {500, crawled}, "1000": {1000, crawled}, "1001": {1001, crawled}, "long": {3600_000, crawled},
		"no date": {9000, nil}, "clock set back": {9000, string(schema.DateOf(b.now.Add(24 * time.Hour)))},
	} {
		b.putIn("s", url, schema.Patch{"Status": int64(4), "ProcessingDelay": c.delay, "TcDate": c.date})
	}
	begin, always := b.now, "clock set back,no date,none"
	for _, c := range []struct {
		after time.Duration
		want  string
	}{
		{0, always}, {time.Second, always}, {2 * time.Second, "1000,500," + always}, {3 * time.Second, "1000,1001,500," + always},
		{time.Hour, "1000,1001,500," + always}, {time.Hour + time.Second, "1000,1001,500,clock set back,long,no date,none"},
	} {
		b.now = begin.Add(c.after)
		var got []string
		for _, u := range b.fetch(fmt.Sprintf(`[{"sitesList":["s"],"maxURLs":0,"urlsCriterions":{"WHERE":%q}}]`, wire.ProcessingDelayOver)) {
			got = append(got, u.URL)
		}
		slices.Sort(got)
		same(t, fmt.Sprintf("due after %v", c.after), strings.Join(got, ","), c.want)
	}
}

func TestURLFetchMarks(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"empty","priority":1000}`)
	b.fill(3, 3)
	const request = `[{"maxURLs":4,"urlsCriterions":{"WHERE":"Status=1 AND State=0"},"skipBusySites":true,
		"siteUpdate":{"tcDate":"NOW()"},"urlUpdate":{"status":2,"batchId":7,"UDate":"NOW()"}}]`
	urls := b.fetch(request)
	same(t, "rows", len(urls), 4)
	same(t, "in the answer", []any{urls[0].Status, urls[0].BatchID, urls[0].UDate}, []any{int64(2), int64(0), schema.Date("")})
	u := b.row("s0", "0/0")
	same(t, "stored", []any{u.Status, u.BatchID, u.UDate}, []any{int64(2), int64(7), schema.Date("2026-01-05 10:00:00")})
	same(t, "gave rows", []schema.Date{b.site("s0").TcDate, b.site("s2").TcDate, b.site("empty").TcDate}, []schema.Date{"2026-01-05 10:00:00", "", ""})
	urls = b.fetch(request) // s0 and s1 have rows in flight
	same(t, "busy sites are skipped", []any{len(urls), urls[0].SiteID}, []any{3, "s2"})
	same(t, "nothing is due", b.fetch(request), []wire.URL{})
}

// A batch may go on with the sites that it keeps busy itself, but not while they are held.
func TestURLFetchOfOwnSites(t *testing.T) {
	b := newBench(t)
	b.fill(3, 3)
	list, err := wire.ReadURLFetch(json.RawMessage(`[{"maxURLs":3,"algorithm":1,"urlsCriterions":{"WHERE":"Status=1 AND State=0"},"skipBusySites":true,
		"urlUpdate":{"status":2,"batchId":7}}]`), nil)
	b.must(err)
	take := func(own ...string) (sites []string) {
		list[0].Own = own
		rows, err := b.URLFetch(ctx, list)
		b.must(err)
		for _, u := range rows {
			sites = append(sites, u.SiteID)
		}
		slices.Sort(sites)
		return sites
	}
	same(t, "free sites", take(), []string{"s0", "s1", "s2"})
	same(t, "all are busy", take(), []string(nil))
	same(t, "own sites", take("s0", "s2"), []string{"s0", "s0", "s2"})
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error { _, err := t.Do("site_hold", "2026-01-05 11:00:00", "s2"); return err }))
	same(t, "one is held", take("s1", "s2"), []string{"s1", "s1"})
}

func TestURLFetchRefusals(t *testing.T) {
	b := newBench(t)
	b.fill(1, 1)
	for raw, want := range map[string]string{
		`{"sitesCriterions":{"WHERE":"1 UNION SELECT 1"}}`:                   "URLFetch[0].sitesCriterions.WHERE",
		`{"urlsCriterions":{"ORDER BY":"(SELECT SLEEP(1))"}}`:                "URLFetch[0].urlsCriterions.ORDER BY",
		`{"urlsCriterions":{"LIMIT":"-1"}}`:                                  "URLFetch[0].urlsCriterions.LIMIT",
		`{"urlsCriterions":{"SQL":{"X":"DELETE FROM sites"},"WHERE":"%X%"}}`: "URLFetch[0].urlsCriterions.SQL.X",
		`{"siteUpdate":{"tcDate":"SLEEP(1)"}}`:                               "URLFetch[0].siteUpdate.tcDate",
		`{"urlUpdate":{"status":2,"tcDate":"SLEEP(1)"}}`:                     "URLFetch[0].urlUpdate.tcDate",
	} {
		list, err := wire.ReadURLFetch(json.RawMessage("["+raw+"]"), nil)
		b.must(err)
		_, err = b.URLFetch(ctx, list)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
	same(t, "nothing changed", b.row("s0", "0/0").Status, int64(1))
}

// A site whose hosts ask for a delay is not selected until the delay, a crawled page or a
// minute has passed.
func TestURLFetchSkipsHeldSites(t *testing.T) {
	const request = `[{"maxURLs":1,"urlsCriterions":{"WHERE":"Status=1 AND State=0"},"skipBusySites":true,"urlUpdate":{"status":2,"batchId":7}}]`
	for name, c := range map[string]struct {
		until   schema.Date
		crawled bool // another row of the site, in the same chunk
		held    time.Duration
	}{
		"ten seconds":          {"2026-01-05 10:00:10", false, 10 * time.Second},
		"an hour":              {"2026-01-05 11:00:00", false, time.Minute},
		"the site has others":  {"2026-01-05 10:00:10", true, 0},
		"nobody wants to wait": {"", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.newURLs(`[{"siteId":"s","url":"u"}]`)
			same(t, "selected", len(b.fetch(request)), 1)
			other := wire.NewURL("s", "other")
			u := wire.NewURL("s", "u")
			_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{u, other})
			b.must(err)
			results := []wire.Fetched{
				{URLMd5: u.URLMd5, Set: schema.Patch{"Status": int64(1)}, HeldUntil: c.until},
				{URLMd5: other.URLMd5, Set: schema.Patch{"Status": int64(4)}, Crawled: c.crawled},
			}
			b.saved(b.FinishCrawl(ctx, "s", 7, results))
			if c.held > 0 {
				b.now = b.now.Add(c.held - time.Second)
				same(t, "while it is held", len(b.fetch(request)), 0)
				b.now = b.now.Add(time.Second)
			}
			same(t, "afterwards", len(b.fetch(request)), 1)
		})
	}
}

// A row that waits for its next request is not selected for a batch before; a request of a client reads it.
func TestURLFetchSkipsRowsThatWait(t *testing.T) {
	const request = `[{"maxURLs":9,"urlsCriterions":{"WHERE":"Status=1 AND State=0"},"skipBusySites":true,"urlUpdate":{"status":2,"batchId":7}}]`
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.newURLs(`[{"siteId":"s","url":"u"}]`)
	u := wire.NewURL("s", "u")
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{u})
	b.must(err)
	date := schema.DateOf(b.now.Add(10 * time.Second))
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: u.URLMd5, Set: schema.Patch{"Status": int64(1), "Retries": int64(1), "RetryDate": string(date), "RetryCause": "503"}}}))
	same(t, "of a client", len(b.fetch(`[{"maxURLs":9,"urlsCriterions":{"WHERE":"RetryDate > NOW()"}}]`)), 1)
	same(t, "too early", len(b.fetch(request)), 0)
	b.now = b.now.Add(10 * time.Second)
	if rows := b.fetch(request); len(rows) != 1 || rows[0].URL != "u" || rows[0].Retries != 1 || rows[0].RetryCause != "503" {
		t.Errorf("%+v", rows)
	}
}

// A site gives its rows in several rounds. Rows that are equal in the order of the request come
// once each, and the counters are those of the rows: MySQL gives such a row to several offsets.
func TestTakeInRounds(t *testing.T) {
	b := newBench(t)
	const rows, round = 60, 50 // of this site and of the general one
	b.newSite(`{"id":"s"}`)
	var list []string
	for i := range rows {
		list = append(list, fmt.Sprintf(`{"siteId":"s","url":"http://s.test/%d.html"}`, i))
	}
	b.newURLs("[" + strings.Join(list, ",") + "]")
	selection, err := wire.ReadURLFetch(json.RawMessage(`[{"maxURLs":`+fmt.Sprint(2*round)+`,"algorithm":1,"skipBusySites":false,
		"sitesCriterions":{"WHERE":"State=1","ORDER BY":"Priority DESC, TcDate ASC"},
		"urlsCriterions":{"WHERE":"Status=1 AND State=0","ORDER BY":"LENGTH(ParentMd5) ASC, Priority DESC, Depth ASC, UDate DESC"},
		"urlUpdate":{"status":2,"batchId":7,"UDate":"NOW()","tcDate":"NOW()"}}]`), nil)
	b.must(err)
	taken := map[string]bool{}
	for len(taken) < rows {
		got, _, err := b.Take(ctx, selection, 7)
		b.must(err)
		if len(got) == 0 {
			t.Fatalf("%d of %d rows were taken", len(taken), rows)
		}
		for _, u := range got {
			if taken[u.URLMd5] {
				t.Fatalf("%s was taken twice", u.URL)
			}
			taken[u.URLMd5] = true
		}
		b.checkCounters("s", "rounds")
	}
}

// Take leaves the same rows, counters, journals and event counters as URLFetch and MarkCrawling or
// MarkProcessing, and returns the rows that these return.
func TestTake(t *testing.T) {
	crawling := func(b *bench, rows []wire.URL) (marked []wire.URL) {
		for _, u := range rows {
			marks, err := b.MarkCrawling(ctx, u.SiteID, 7, []wire.URL{u})
			b.must(err)
			marked = append(marked, marks[u.URLMd5].Row)
		}
		return marked
	}
	processing := func(b *bench, rows []wire.URL) (marked []wire.URL) {
		for _, u := range rows {
			taken, err := b.MarkProcessing(ctx, u.SiteID, 7, []string{u.URLMd5})
			b.must(err)
			marked = append(marked, taken[u.URLMd5])
		}
		return marked
	}
	for _, kind := range []struct {
		name              string
		due, selected     int
		siteDate, members string
		mark              func(b *bench, rows []wire.URL) []wire.URL
		second            int // rows of the second time
	}{
		{"crawl", wire.StatusNew, wire.StatusSelectedCrawling, "tcDate", `"skipBusySites":true,`, crawling, 1}, // all sites are busy, except for the list
		{"incremental", wire.StatusProcessed, wire.StatusSelectedIncremental, "tcDate", `"skipBusySites":true,`, crawling, 1},
		{"process", wire.StatusCrawled, wire.StatusSelectedProcessing, "tcDateProcess", "", processing, 3},
	} {
		t.Run(kind.name, func(t *testing.T) {
			request := fmt.Sprintf(`[{"maxURLs":5,"algorithm":1,%[4]s"urlsCriterions":{"WHERE":"Status=%[1]d AND State=0"},
				"siteUpdate":{"%[3]s":"NOW()"},"urlUpdate":{"status":%[2]d,"batchId":7,"UDate":"NOW()","tcDate":"NOW()"}},
				{"sitesList":["s2"],"maxURLs":1,"urlsCriterions":{"WHERE":"Status=%[1]d"},"urlUpdate":{"status":%[2]d,"batchId":7,"tcDate":"NOW()","UDate":"NOW()"}}]`,
				kind.due, kind.selected, kind.siteDate, kind.members)
			list, err := wire.ReadURLFetch(json.RawMessage(request), nil)
			if err != nil {
				t.Fatal(err)
			}
			run := func(take func(b *bench) []wire.URL) []any {
				b := newBench(t)
				b.db.Options.StatsFreq, b.db.Options.StatsLog = true, true
				b.fill(3, 3)
				for i := range 3 {
					site := fmt.Sprintf("s%d", i)
					b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
						for j := range 3 {
							set := schema.Patch{"Status": int64(kind.due)}
							if i == 1 && j == 1 {
								set["ErrorMask"], set["Attempts"] = int64(6), int64(1)
							}
							if err := t.SetKeys(t.URLsTarget("test", site), []string{wire.Md5(fmt.Sprintf("%d/%d", i, j))}, set); err != nil {
								return err
							}
						}
						return t.RecountSite(site)
					}))
				}
				b.now = b.now.Add(time.Hour)
				got := []any{take(b), take(b)}
				for i := range 3 {
					site := fmt.Sprintf("s%d", i)
					b.checkCounters(site, "take")
					got = append(got, b.site(site))
					stats, err := b.URLStats(ctx, []wire.URLRecordsRequest{{SiteID: site}})
					b.must(err)
					got = append(got, stats[0].FreqRows)
					for j := range 3 {
						md5 := wire.Md5(fmt.Sprintf("%d/%d", i, j))
						history, err := b.URLHistory(ctx, []wire.URLRecordsRequest{{SiteID: site, URLMd5: md5}})
						b.must(err)
						got = append(got, b.row(site, fmt.Sprintf("%d/%d", i, j)), history[0].LogRows)
					}
				}
				return got
			}
			want := run(func(b *bench) []wire.URL {
				selected, err := b.URLFetch(ctx, list)
				b.must(err)
				return kind.mark(b, selected)
			})
			got := run(func(b *bench) []wire.URL {
				rows, trash, err := b.Take(ctx, list, 7)
				b.must(err)
				if trash {
					t.Error("trash")
				}
				return rows
			})
			if len(got[0].([]wire.URL)) != 6 || len(got[1].([]wire.URL)) != kind.second {
				t.Errorf("%d and %d rows", len(got[0].([]wire.URL)), len(got[1].([]wire.URL)))
			}
			for i := range want {
				same(t, fmt.Sprint("part ", i), got[i], want[i])
			}
		})
	}
}

// The time that a selection takes bounds the rows of a site by the delay of each of its hosts.
func TestTakeOfManyHosts(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","requestDelay":500}`)
	var list []string
	for i := range 80 {
		list = append(list, fmt.Sprintf(`{"siteId":"s","url":"http://h%d.test/%d.html"}`, i%9, i))
	}
	b.newURLs("[" + strings.Join(list, ",") + "]")
	for _, hosts := range []int64{1, 3} {
		selection, err := wire.ReadURLFetch(json.RawMessage(`[{"maxURLs":0,"paceTime":5000,"sitesCriterions":{"WHERE":"State=1"},
			"urlsCriterions":{"WHERE":"Status=1","LIMIT":"100"},"urlUpdate":{"status":2,"batchId":7}}]`), nil)
		b.must(err)
		selection[0].Hosts = func(string) int64 { return hosts }
		rows, _, err := b.Take(ctx, selection, 7)
		b.must(err)
		same(t, fmt.Sprint(hosts, " hosts"), int64(len(rows)), 10*hosts)
	}
}
