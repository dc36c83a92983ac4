package sqlstore

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/storage/sqlstore/counters"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// The columns that withoutDefaults leaves out are 0, empty or NULL in a row that does not set them.
func TestDefaultsOfColumns(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
		_, err := t.Exec("INSERT INTO "+t.SiteTable(sqldb.URLs, "s")+" (Site_Id, URLMd5, CDate) VALUES (?, ?, ?)", "s", wire.Md5("u"), t.Now)
		return err
	}))
	u := b.row("s", "u")
	for name, value := range schema.PatchOf(&u, wire.URLColumns) {
		if own := slices.Contains(append(counters.OwnDefaults, "URLMd5"), name); !counters.IsZero(value) != own {
			t.Errorf("%s = %v", name, value)
		}
	}
}

func TestURLNewSelectsTheSite(t *testing.T) {
	cases := map[string]struct {
		raw    string
		status int
		site   string
		text   string
	}{
		"named":                      {`{"siteId":"s1","url":"http://z/1"}`, 0, "s1", ""},
		"named, other case":          {`{"siteId":"S1","url":"http://z/1"}`, 0, "s1", ""},
		"longest root":               {`{"url":"http://a/b/c/d"}`, 0, "s2", ""},
		"shorter root":               {`{"url":"http://a/b!"}`, 0, "s1", ""},
		"the root itself":            {`{"url":"http://a/"}`, 2, "s1", ""},
		"explicit, unknown":          {`{"url":"http://a/x","siteSelect":0}`, 0, "0", ""},
		"explicit, named is unknown": {`{"siteId":"no","url":"http://a/x","siteSelect":0}`, 0, "0", ""},
		"auto, new":                  {`{"url":"https://new.x:8080/p?q","siteSelect":1}`, 0, wire.Md5("https://new.x:8080/"), ""},
		"qualify, unknown":           {`{"url":"https://new.x/p?q","siteSelect":2}`, 0, "0", ""},
		"none":                       {`{"url":"http://nowhere/"}`, 1, "", "URLNew[0].siteId"},
		"none, named is unknown":     {`{"siteId":"no","url":"http://a/x"}`, 1, "", "no"},
		"another value":              {`{"url":"http://nowhere/","siteSelect":7}`, 1, "", "siteSelect"},
		"auto without a host":        {`{"url":"mailto:a","siteSelect":1}`, 1, "", "scheme"},
		"expression":                 {`{"siteId":"s1","url":"u","pDate":"BENCHMARK(9,9)"}`, 1, "", "URLNew[0].pDate"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s1","urls":["http://a/","http://a/bb"]}`)
			b.newSite(`{"id":"s2","urls":["http://a/b/c"],"requestDelay":9,"httpTimeout":77,"urlType":1}`)
			list, err := wire.ReadURLNew(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answer, keys, err := b.URLNew(ctx, list)
			b.must(err)
			same(t, "status", answer.Statuses, statuses(c.status))
			if !strings.Contains(answer.ErrorMessage, c.text) || (c.text == "") != (answer.ErrorMessage == "") {
				t.Errorf("message = %s, want %s", answer.ErrorMessage, c.text)
			}
			if keys[0].SiteID != c.site {
				t.Errorf("site = %s, want %s", keys[0].SiteID, c.site)
			}
			if c.status == 0 {
				u := b.row(c.site, list[0].Row.Text("URL"))
				same(t, "row", []any{u.SiteID, u.Status, u.CDate}, []any{c.site, int64(1), schema.Date("2026-01-05 10:00:00")})
				if c.site == "s2" {
					same(t, "of the site", []any{u.RequestDelay, u.HTTPTimeout, u.Type}, []any{int64(9), 77.0, int64(1)})
				}
			}
		})
	}
	b := newBench(t)
	b.newURLs(`[{"url":"http://auto.x/p","siteSelect":1}]`)
	s := b.site(wire.Md5("http://auto.x/"))
	same(t, "auto site", []any{s.Priority, s.MaxURLsFromPage, s.UserID, len(s.Filters), len(s.Properties), s.URLs[0].URL.URL, s.NewURLs},
		[]any{int64(100), int64(0), int64(0), 1, 5, "http://auto.x/", int64(2)})
}

func TestURLNewOfExistingURL(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["http://a/"]}`)
	answer := b.newURLs(`[{"siteId":"s","url":"http://a/1","attributes":[{"k":"v"},{"two":2}]},{"siteId":"s","url":"http://a/1","status":7},
		{"siteId":"x","url":"u"},{"siteId":"s","url":"http://a/1","urlUpdate":{"status":4,"siteId":"other"},"attributes":[{"k":"w"}]}]`)
	same(t, "statuses", answer.Statuses, statuses(0, 2, 1, 2))
	same(t, "status", b.row("s", "http://a/1").Status, int64(4))
	for names, want := range map[string]int{`["*"]`: 2, `["k"]`: 1, `[]`: 0} {
		urls := b.fetch(`[{"sitesList":["s"],"urlsCriterions":{"WHERE":"Status=4"},"attributeNames":` + names + `}]`)
		same(t, "attributes of "+names, len(urls[0].Attributes), want)
		if want == 1 {
			same(t, "attribute", urls[0].Attributes[0], wire.Attribute{SiteID: "s", Name: "k", URLMd5: wire.Md5("http://a/1"), Value: "w", CDate: "2026-01-05 10:00:00"})
		}
	}
}

func TestURLUpdate(t *testing.T) {
	one, two := wire.Md5("http://a/1"), wire.Md5("http://a/2")
	cases := map[string]struct {
		raw  string
		ok   bool
		want []int64 // Depth of rows 1, 2
	}{
		"by url":                  {`{"siteId":"s","url":"http://a/1","depth":5}`, true, []int64{5, 0}},
		"by md5":                  {`{"siteId":"s","urlMd5":"` + two + `","depth":5}`, true, []int64{0, 5}},
		"unknown URL":             {`{"siteId":"s","url":"http://none/","depth":5}`, true, []int64{0, 0}},
		"unknown site":            {`{"siteId":"no","url":"http://a/1","depth":5}`, false, []int64{0, 0}},
		"nothing to write":        {`{"siteId":"s","url":"http://a/1"}`, false, []int64{0, 0}},
		"neither key nor WHERE":   {`{"siteId":"s","depth":5}`, false, []int64{0, 0}},
		"criterion, one row":      {`{"siteId":"s","depth":5,"criterions":{"WHERE":"Status=1","ORDER BY":"URL DESC"}}`, true, []int64{0, 5}},
		"criterion, all rows":     {`{"siteId":"s","depth":5,"criterions":{"WHERE":"URL LIKE 'http://a/_'","LIMIT":null}}`, true, []int64{5, 5}},
		"OR stays in its key":     {`{"siteId":"s","urlMd5":"` + one + `","depth":5,"criterions":{"WHERE":"1=0 OR 1=1","LIMIT":9}}`, true, []int64{5, 0}},
		"sub-select on the table": {`{"siteId":"s","depth":5,"criterions":{"WHERE":"URLMd5 IN (SELECT MAX(URLMd5) FROM urls_s)"}}`, true, []int64{5, 0}},
		"value of a sub-select":   {`{"siteId":"s","url":"http://a/1","depth":5,"pDate":"(SELECT MIN(CDate) FROM dc_urls.urls_s)"}`, true, []int64{5, 0}},
		"another site's table":    {`{"siteId":"s","depth":5,"criterions":{"WHERE":"URLMd5 IN (SELECT URLMd5 FROM urls_0)"}}`, false, []int64{0, 0}},
		"key and criterion":       {`{"siteId":"s","urlMd5":"` + one + `","depth":5,"criterions":{"WHERE":"Status=7"}}`, true, []int64{0, 0}},
		"refused expression":      {`{"siteId":"s","url":"http://a/1","depth":5,"pDate":"SLEEP(1)"}`, false, []int64{0, 0}},
		"refused, no row":         {`{"siteId":"s","url":"http://none/","pDate":"SLEEP(1)"}`, false, []int64{0, 0}},
		"expression of the row":   {`{"siteId":"s","url":"http://a/1","depth":5,"uDate":"x","UDate":"DATE_ADD(CDate, INTERVAL 1 DAY)"}`, true, []int64{5, 0}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s"}`)
			b.newURLs(`[{"siteId":"s","url":"http://a/1"},{"siteId":"s","url":"http://a/2"}]`)
			list, err := wire.ReadURLUpdate(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answer, err := b.URLUpdate(ctx, list)
			b.must(err)
			same(t, "statuses", answer.Statuses, statuses(c.ok))
			same(t, "depths", []int64{b.row("s", "http://a/1").Depth, b.row("s", "http://a/2").Depth}, c.want)
			if name == "expression of the row" {
				same(t, "UDate", b.row("s", "http://a/1").UDate, schema.Date("2026-01-06 10:00:00"))
			}
		})
	}
}

// Examples of docs/spec/storage.md 4.24.
func TestExamplesOfTheSpecification(t *testing.T) {
	b := newBench(t)
	same(t, "SITE_NEW", b.newSite(`{"id":"a","urls":["http://a/"]}`), wire.GeneralResponse{Statuses: statuses("a")})
	same(t, "twice", b.newSite(`{"id":"a","urls":["http://a/"]}`), wire.GeneralResponse{ErrorCode: 2020, ErrorMessage: "Duplicate site", Statuses: statuses(nil)})
	b.newSite(`{"id":"b","urls":["http://b/"]}`)
	b.newURLs(`[{"siteId":"a","url":"http://a/2","CDate":"2025-01-02"},{"siteId":"a","url":"http://a/1","CDate":"2025-01-01"},{"siteId":"b","url":"http://b/1","CDate":"2025-01-01"}]`)

	updates, err := wire.ReadURLUpdate(json.RawMessage(`[{"siteId":"a","url":"http://a/1","eTag":"\"x\""},{"siteId":"a","url":"http://a/2","size":1},{"siteId":"no","url":"u","size":1},{"siteId":"b","url":"http://b/1","size":1}]`), nil)
	b.must(err)
	answer, err := b.URLUpdate(ctx, updates)
	b.must(err)
	same(t, "URL_UPDATE of four", answer.Statuses, statuses(true, true, false, true))
	same(t, "eTag", b.row("a", "http://a/1").ETag, "x")

	list, err := wire.ReadURLStatus(json.RawMessage(`[{"siteId":"a","url":"http://a/1","urlType":0},{"siteId":"b","url":"http://a/1","urlType":0},{"siteId":"b","url":"`+wire.Md5("http://b/1")+`","urlType":1},{"siteId":"no","url":"u"}]`), nil)
	b.must(err)
	urls, err := b.URLStatus(ctx, list)
	b.must(err)
	same(t, "URL_STATUS of three, two there", []any{len(urls), urls[0].URL, urls[1].URL}, []any{2, "http://a/1", "http://b/1"})
	urls, err = b.URLStatus(ctx, list[1:2])
	b.must(err)
	same(t, "URL_STATUS unknown", urls, []wire.URL{})

	var got []string
	for _, u := range b.fetch(`[{"sitesList":["b","a"],"urlsCriterions":{"WHERE":"ParentMd5 IS NOT NULL"}}]`) {
		got = append(got, u.URL)
	}
	same(t, "URL_FETCH: sitesList, then CDate", got, []string{"http://b/1", "http://b/", "http://a/1", "http://a/2", "http://a/"})
}

func TestFields(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.newURLs(`[{"siteId":"s","url":"u","mRate":0.5,"contentType":"text/html"}]`)
	row := b.row("s", "u")
	same(t, "fields", Fields(&row, []string{"Status", "batch_id", "PDate", "CDate", "MRate", "ContentType", "Nothing", "rowid"}),
		map[string]any{"Status": int64(1), "batch_id": int64(0), "PDate": nil, "CDate": "2026-01-05 10:00:00",
			"MRate": 0.5, "ContentType": "text/html", "Nothing": nil, "rowid": nil})
	rows, err := b.Rows(ctx, "nobody", []string{wire.Md5("u")})
	b.must(err)
	same(t, "rows of nobody", len(rows), 0)
}

func TestStatistics(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"on","properties":{"STATS_FREQ_ENABLED":"1","STATS_LOG_ENABLED":"1"}}`)
	b.newSite(`{"id":"off"}`)
	for _, site := range []string{"on", "off"} {
		b.newURLs(`[{"siteId":"` + site + `","url":"u"}]`)
		b.fetch(`[{"sitesList":["` + site + `"],"urlUpdate":{"status":2,"batchId":1}}]`)
		_, err := b.MarkCrawling(ctx, site, 1, []wire.URL{wire.NewURL(site, "u")})
		b.must(err)
		b.saved(b.FinishCrawl(ctx, site, 1, []wire.Fetched{{URLMd5: wire.Md5("u"), Set: schema.Patch{"Status": int64(4)}, Crawled: true, Links: linksOf(wire.NewURL(site, "v"))}}))
		_, err = b.MarkProcessing(ctx, site, 2, []string{wire.Md5("u")})
		b.must(err)
		b.must(b.process(site, 2, []wire.Extracted{{URLMd5: wire.Md5("u"), Set: schema.Patch{"Status": int64(7)}, Processed: true}}))
	}
	var freq []int64
	var codes []string
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		freq, codes = make([]int64, 6), nil
		_, err := t.Row("SELECT SUM(FIns), SUM(FNew), SUM(FUpd), SUM(FCrawled), SUM(FProcessed), COUNT(*) FROM "+t.SiteTable(sqldb.Freqs, "on")+" WHERE Site_Id = 'on'", nil,
			&freq[0], &freq[1], &freq[2], &freq[3], &freq[4], &freq[5])
		if err != nil {
			return err
		}
		list := func(scan func(...any) error) error {
			var s string
			err := scan(&s)
			codes = append(codes, s)
			return err
		}
		err = t.Each("SELECT OpCode FROM "+t.SiteTable(sqldb.Logs, "on")+" WHERE Site_Id = 'on' AND URLMd5 = ? ORDER BY "+t.DB.RowID(), []any{wire.Md5("u")}, list)
		if err != nil {
			return err
		}
		return t.Each("SELECT COUNT(*) FROM "+t.SiteTable(sqldb.Logs, "off")+" WHERE Site_Id = 'off' UNION ALL SELECT COUNT(*) FROM "+t.SiteTable(sqldb.Freqs, "off")+" WHERE Site_Id = 'off'", nil, list)
	}))
	same(t, "freq", freq, []int64{2, 2, 1, 1, 1, 2})
	same(t, "log", codes, []string{"20", "1", "22", "2", "3", "4", "6", "7", "0", "0"})
}
