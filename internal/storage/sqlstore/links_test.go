package sqlstore

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/storage/sqlstore/outcomes"
	"hce/dc/internal/storage/sqlstore/tables"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// crawl marks page u, or the page of r, of site s for batch 7 and stores its result.
func (b *bench) crawl(r wire.Fetched) wire.Saved {
	b.Helper()
	page := wire.NewURL("s", "u")
	if r.URLMd5 != "" {
		page.URL, page.URLMd5 = r.URLMd5, r.URLMd5
	}
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{page})
	b.must(err)
	r.URLMd5, r.Crawled = page.URLMd5, true
	if r.Set == nil {
		r.Set = schema.Patch{"Status": int64(4), "UDate": b.now.Format(schema.DateLayout)}
	}
	saved := b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{r}))
	if len(saved.Refused) == 0 { // otherwise the site has its own bit
		b.checkCounters("s", "crawl")
	}
	return saved
}

// empty deletes all rows of site s and sets columns of the site. Making a new site is slow
// on MySQL.
func (b *bench) empty(set schema.Patch) {
	b.Helper()
	_, err := b.URLDelete(ctx, []wire.URLDeleteRequest{{SiteID: "s", Criterion: wire.Criterion{Where: "1=1"}, DelayedType: wire.Immediate}})
	b.must(err)
	list, err := b.Trash(ctx)
	b.must(err)
	b.must(b.TrashDone(ctx, list))
	_, err = b.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: set})
	b.must(err)
	_, err = b.SiteUpdate(ctx, wire.SiteUpdateRequest{ID: "s", Set: schema.Patch{"State": int64(wire.SiteRestart)}}) // clears its bits
	b.must(err)
}

// rules are the link rules of valid properties.
func rules(t testing.TB, properties map[string]string) *wire.LinkRules {
	t.Helper()
	r, errs := wire.ReadLinkRules(func(name string) (string, bool) {
		value, ok := properties[name]
		return value, ok
	})
	for _, err := range errs {
		t.Fatal(err)
	}
	return r
}

func child(text string) wire.URL {
	u := wire.NewURL("s", text)
	u.ParentMd5 = wire.Md5("u")
	return u
}

const (
	longAgo = "2025-01-01 00:00:00"
	today   = "2026-01-05 10:00:00"
)

func TestKnownLinks(t *testing.T) {
	done := schema.Patch{"Status": int64(4), "Crawled": int64(1), "UDate": longAgo, "TcDate": longAgo, "CDate": longAgo, "Batch_Id": int64(3)}
	with := func(more schema.Patch) schema.Patch {
		p := tables.ClonePatch(done)
		maps.Copy(p, more)
		return p
	}
	type properties = map[string]string
	cases := map[string]struct {
		period     int
		row        schema.Patch
		properties properties
		update     schema.Patch
		want       string // status/state, UDate, TcDate, CDate if they differ from longAgo
		refused    string // prefix of the refusal
	}{
		"old":                     {60, done, nil, nil, "1/0 UDate TcDate", ""},
		"processed":               {60, with(schema.Patch{"Status": int64(7)}), nil, nil, "1/0 UDate TcDate", ""},
		"failed":                  {60, with(schema.Patch{"State": int64(2), "ErrorMask": int64(2)}), nil, nil, "1/0 UDate TcDate", ""},
		"without a date":          {60, with(schema.Patch{"UDate": nil}), nil, nil, "1/0 UDate TcDate", ""},
		"young":                   {60, with(schema.Patch{"UDate": "2026-01-05 09:00:01"}), nil, nil, "4/0 UDate", ""},
		"exactly one period old":  {60, with(schema.Patch{"UDate": "2026-01-05 09:00:00"}), nil, nil, "1/0 UDate TcDate", ""},
		"no period":               {0, done, nil, nil, "4/0", ""},
		"period beyond the dates": {4294967295, done, nil, nil, "4/0", ""},
		"fetched":                 {60, with(schema.Patch{"Type": int64(4)}), nil, nil, "4/0", ""},
		"disabled":                {60, with(schema.Patch{"State": int64(1)}), nil, nil, "4/1", ""},
		"of another node":         {60, with(schema.Patch{"Crawled": int64(0)}), nil, nil, "4/0", ""},
		"held":                    {60, with(schema.Patch{"Status": int64(3)}), nil, nil, "3/0", ""},
		"selected":                {60, with(schema.Patch{"Status": int64(2)}), nil, nil, "2/0", ""},
		"processing":              {60, with(schema.Patch{"Status": int64(6)}), nil, nil, "6/0", ""},
		"finished by this batch":  {60, with(schema.Patch{"Batch_Id": int64(7)}), nil, nil, "4/0", ""},
		"switched off":            {60, done, properties{"RECRAWL_NO_ROOT_URLS": "0"}, nil, "4/0", ""},
		"age expression, young":   {60, done, properties{"RECRAWL_URL_AGE_EXPRESSION": "%RECRAWL_PERIOD% - 59"}, nil, "4/0", ""},
		"age expression, old":     {60, with(schema.Patch{"UDate": "2026-01-05 09:59:00"}), properties{"RECRAWL_URL_AGE_EXPRESSION": "%RECRAWL_PERIOD% - 60"}, nil, "1/0 UDate TcDate", ""},
		"age of the row":          {60, done, properties{"RECRAWL_URL_AGE_EXPRESSION": "Crawled"}, nil, "4/0", ""},
		"age by a sub-select":     {60, done, properties{"RECRAWL_URL_AGE_EXPRESSION": "(SELECT COUNT(*) FROM urls_%SITE_ID%)"}, nil, "4/0", ""},
		"age expression escapes":  {60, done, properties{"RECRAWL_URL_AGE_EXPRESSION": "1) OR (1"}, nil, "1/0 UDate TcDate", "property RECRAWL_URL_AGE_EXPRESSION"},
		"age of a function":       {60, done, properties{"RECRAWL_URL_AGE_EXPRESSION": "SLEEP(9)"}, nil, "1/0 UDate TcDate", "property RECRAWL_URL_AGE_EXPRESSION"},
		"status kept":             {60, done, properties{"RECRAWL_URL_UPDATE_STATUS": "-1"}, nil, "4/0 UDate TcDate", ""},
		"status set":              {60, done, properties{"RECRAWL_URL_UPDATE_STATUS": "7"}, nil, "7/0 UDate TcDate", ""},
		"dates kept":              {60, done, properties{"RECRAWL_URL_UPDATE_UDATE": "", "RECRAWL_URL_UPDATE_TCDATE": " "}, nil, "1/0", ""},
		"dates set":               {60, done, properties{"RECRAWL_URL_UPDATE_UDATE": "UDate", "RECRAWL_URL_UPDATE_CDATE": "DATE_ADD(CDate, INTERVAL %RECRAWL_PERIOD% MINUTE)"}, nil, "1/0 TcDate CDate", ""},
		"invalid date expression": {60, done, properties{"RECRAWL_URL_UPDATE_UDATE": "LOAD_FILE('x')"}, nil, "1/0 UDate TcDate", "property RECRAWL_URL_UPDATE_UDATE"},
		"columns set":             {60, done, nil, schema.Patch{"UDate": nil, "Status": int64(7), "State": int64(1), "URL": "x", "Site_Id": "0"}, "7/1 UDate TcDate", ""},
		"status of a batch":       {60, done, nil, schema.Patch{"Status": int64(3)}, "1/0 UDate TcDate", "property RECRAWL_URL_UPDATE"},
		"an expression":           {60, done, nil, schema.Patch{"TcDate": schema.Expr("CDate")}, "1/0 UDate", ""},
		"invalid expression":      {60, done, nil, schema.Patch{"TcDate": schema.Expr("SLEEP(1)")}, "4/0", "property RECRAWL_URL_UPDATE"},
	}
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.TB = t
			b.empty(schema.Patch{"RecrawlPeriod": int64(c.period)})
			b.put("known", c.row)
			link := wire.Link{URL: child("known"), Update: c.update}
			saved := b.crawl(wire.Fetched{Links: []wire.Link{link, link}, Rules: rules(t, c.properties)})
			u := b.row("s", "known")
			got := fmt.Sprintf("%d/%d", u.Status, u.State)
			for _, date := range []struct {
				name  string
				value schema.Date
			}{{"UDate", u.UDate}, {"TcDate", u.TcDate}, {"CDate", u.CDate}} {
				if date.value != longAgo {
					got += " " + date.name
				}
			}
			same(t, "row", got, c.want)
			said := fmt.Sprint(saved.Refused)
			if !strings.HasPrefix(said, "["+c.refused) || c.refused == "" && said != "[]" {
				t.Errorf("refused %s, want %s", said, c.refused)
			}
			same(t, "bit 50", b.site("s").ErrorMask&errormask.Initialization != 0, c.refused != "")
			// The batch runs again and changes nothing.
			again := b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: wire.Md5("u"), Links: []wire.Link{link}}}))
			same(t, "second run", []any{b.row("s", "known"), again.Reset}, []any{u, 0})
		})
	}
}

func TestChainLinks(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","maxURLs":2,"recrawlPeriod":1}`)
	b.put("known", schema.Patch{"Status": int64(4), "Crawled": int64(1), "UDate": longAgo})
	saved := b.crawl(wire.Fetched{Links: []wire.Link{{URL: child("known")}, {URL: child("plain")}, {URL: child("new"), Chain: true}, {URL: child("known"), Chain: true}}})
	same(t, "saved", saved, wire.Saved{Skipped: 1})
	known, fresh := b.row("s", "known"), b.row("s", "new")
	same(t, "rows", []int64{known.Type, known.Status, fresh.Type, fresh.Status}, []int64{6, 4, 6, 1})
}

// Freq counts the other pages with a link to the URL.
func TestFreq(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.put("known", schema.Patch{"Status": int64(4), "Crawled": int64(1), "Freq": int64(5)})
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{wire.NewURL("s", "u"), wire.NewURL("s", "v"), wire.NewURL("s", "w")})
	b.must(err)
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{
		{URLMd5: wire.Md5("u"), First: true, Set: schema.Patch{"Status": int64(4)}, Links: linksOf(child("u"), child("v"), child("new"), child("new"), child("known"))},
		{URLMd5: wire.Md5("v"), First: true, Set: schema.Patch{"Status": int64(4)}, Links: linksOf(child("v"), child("u"), child("new"), child("known"))},
		{URLMd5: wire.Md5("w"), Set: schema.Patch{"Status": int64(4)}, Links: linksOf(child("u"), child("known"), child("again"))},
	}))
	var got []int64
	for _, url := range []string{"u", "v", "w", "new", "known", "again"} {
		got = append(got, b.row("s", url).Freq)
	}
	same(t, "freq", got, []int64{1, 1, 0, 2, 7, 0})
}

func TestLimits(t *testing.T) {
	type properties = map[string]string
	auto := func(n, where, order string) properties {
		return properties{"AUTO_REMOVE_RESOURCES": n, "AUTO_REMOVE_WHERE": where, "AUTO_REMOVE_ORDER": order}
	}
	// Rows: u with links to a, b and c; old0 to old3 with growing size; a row of another
	// node; a row that a batch holds.
	cases := map[string]struct {
		limits     schema.Patch
		properties properties
		want       string
		saved      wire.Saved
		refused    bool
	}{
		"none":                       {nil, auto("9", "1=1", "Size"), "a b c old0 old1 old2 old3", wire.Saved{}, false},
		"rows":                       {schema.Patch{"MaxURLs": int64(8)}, nil, "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, false},
		"resources":                  {schema.Patch{"MaxResources": int64(5)}, nil, "a old0 old1 old2 old3", wire.Saved{Skipped: 2}, false},
		"resources, rows unlimited":  {schema.Patch{"MaxURLs": int64(0), "MaxResources": int64(4)}, nil, "old0 old1 old2 old3", wire.Saved{Skipped: 3}, false},
		"rows, resources unlimited":  {schema.Patch{"MaxURLs": int64(100), "MaxResources": int64(0)}, nil, "a b c old0 old1 old2 old3", wire.Saved{}, false},
		"one row removed":            {schema.Patch{"MaxURLs": int64(8)}, auto("1", "Size>0", "Size"), "a b c old1 old2 old3", wire.Saved{Removed: 1}, false},
		"order":                      {schema.Patch{"MaxURLs": int64(6)}, auto("2", "Size>0", "Size DESC"), "a b old0 old1", wire.Saved{Removed: 2, Skipped: 1}, false},
		"all removed but held":       {schema.Patch{"MaxURLs": int64(6)}, auto("99", "URL<>'u'", "Size"), "a b c", wire.Saved{Removed: 5}, false},
		"none selected":              {schema.Patch{"MaxURLs": int64(8)}, auto("9", "Size>99999", "Size"), "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, false},
		"macro":                      {schema.Patch{"MaxURLs": int64(8), "RecrawlPeriod": int64(12)}, auto("1", "Size>%RecrawlPeriod%", "Size"), "a b c old0 old1 old3", wire.Saved{Removed: 1}, false},
		"without an order":           {schema.Patch{"MaxURLs": int64(8)}, auto("9", "Size>0", ""), "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, false},
		"invalid condition":          {schema.Patch{"MaxURLs": int64(8)}, auto("9", "1) OR (1", "Size"), "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, true},
		"invalid order":              {schema.Patch{"MaxURLs": int64(8)}, auto("9", "1=1", "SLEEP(1)"), "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, true},
		"active rows":                {schema.Patch{"MaxURLs": int64(4)}, properties{"AUTO_REMOVE_WHERE_ACTIVE": "Size>11"}, "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, false},
		"invalid active condition":   {schema.Patch{"MaxURLs": int64(8)}, properties{"AUTO_REMOVE_WHERE_ACTIVE": "Nothing"}, "a b old0 old1 old2 old3", wire.Saved{Skipped: 1}, true},
		"resources that are removed": {schema.Patch{"MaxResources": int64(4)}, auto("2", "Size>0", "Size"), "a b old2 old3", wire.Saved{Removed: 2, Skipped: 1}, false},
	}
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.TB = t
			set := schema.Patch{"MaxURLs": int64(0), "MaxResources": int64(0), "RecrawlPeriod": int64(0)}
			maps.Copy(set, c.limits)
			b.empty(set)
			for i := range 4 {
				b.put(fmt.Sprint("old", i), schema.Patch{"Status": int64(4), "Crawled": int64(1), "Size": int64(10 + i + i/2), "ContentType": "text/html", "ParentMd5": wire.Md5("u")})
			}
			b.put("foreign", schema.Patch{"Status": int64(4)})
			b.put("held", schema.Patch{"Status": int64(3), "Batch_Id": int64(9)})
			saved := b.crawl(wire.Fetched{Links: linksOf(child("a"), child("b"), child("c")), Rules: rules(t, c.properties)})
			var left []string
			for _, url := range []string{"a", "b", "c", "old0", "old1", "old2", "old3"} {
				if b.row("s", url).URL != "" {
					left = append(left, url)
				}
			}
			same(t, "rows", strings.Join(left, " "), c.want)
			same(t, "held", b.row("s", "held").Status, int64(3))
			same(t, "refused", len(saved.Refused) > 0, c.refused)
			saved.Refused = nil
			same(t, "saved", saved, c.saved)
			trash, err := b.Trash(ctx)
			b.must(err)
			same(t, "contents to remove", len(trash), saved.Removed)
		})
	}
}

// docs/spec/processing.md 1.6, 6.2 #32.
func TestFieldExpressions(t *testing.T) {
	cases := map[string]struct {
		property string
		want     string // Size, ContentType, PDate, Priority of the row; Priority, UDate of the site
		refused  int
	}{
		"columns":           {`[{"URL":{"Size":{"Size+1":0}}},{"URL":{"Priority":{"Size*2":0}}}]`, "101 text/html - 200 0", 0},
		"macros":            {`[{"URL":{"Size":{"%SIZE%+%HTTPCODE%":0}}}]`, "300 text/html - 0 0", 0},
		"macros of texts":   {`[{"URL":{"Size":{"LENGTH(%CONTENTTYPE%)+LENGTH('%URL%')":0}}}]`, "10 text/html - 0 0", 0},
		"a hostile text":    {`[{"URL":{"Charset":{"%ETAG%":1}}}]`, "100 text/html - 0 0", 0},
		"dates":             {`[{"URL":{"PDate":{"DATE_ADD(%UDATE%, INTERVAL 1 DAY)":2}}}]`, "100 text/html 2026-01-06 10:00:00 0 0", 0},
		"no date":           {`[{"URL":{"PDate":{"%LASTMODIFIED%":2}}}]`, "100 text/html - 0 0", 0},
		"text of a number":  {`[{"URL":{"ContentType":{"Size + 0.4":0}}}]`, "100 100 - 0 0", 0},
		"number of a text":  {`[{"URL":{"Size":{"'7x'":1}}}]`, "7 text/html - 0 0", 0},
		"beyond its column": {`[{"URL":{"Priority":{"Size*1000000000":0}}}]`, "100 text/html - 4294967295 0", 0},
		"site":              {`[{"Site":{"Priority":{"%PRIORITY%+3":0}}}]`, "100 text/html - 0 3", 0},
		"site by its URLs":  {`[{"Site":{"Priority":{"(SELECT COUNT(*) FROM urls_%SITE_ID%)":0}}}]`, "100 text/html - 0 1", 0},
		"one bad of three":  {`[{"URL":{"Size":{"1":0}}},{"URL":{"Priority":{"SLEEP(5)":0}}},{"Site":{"Priority":{"4":0}}}]`, "1 text/html - 0 4", 1},
		"status of batches": {`[{"URL":{"Status":{"3":0}}}]`, "100 text/html - 0 0", 1},
		"a fixed column":    {`[{"URL":{"URLMd5":{"'x'":1}}},{"Site":{"NewURLs":{"5":0}}},{"Site":{"Id":{"5":0}}}]`, "100 text/html - 0 0", 3},
		"a null":            {`[{"URL":{"Size":{"NULL":0}}}]`, "100 text/html - 0 0", 1},
		"several rows":      {`[{"URL":{"Size":{"(SELECT Size FROM urls_s WHERE Size>=0)":0}}}]`, "100 text/html - 0 0", 0},
		"unknown macro":     {`[{"URL":{"Size":{"%NOTHING%":0}}}]`, "100 text/html - 0 0", 1},
	}
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.TB = t
			b.empty(schema.Patch{"Priority": int64(0)})
			list, err := wire.ReadFieldExpressions(c.property)
			b.must(err)
			etag := `'); DROP TABLE x; -- \' %SIZE%`
			saved := b.crawl(wire.Fetched{Expressions: list, Set: schema.Patch{"Status": int64(4), "Size": int64(100), "HTTPCode": int64(200),
				"ContentType": "text/html", "ETag": etag, "UDate": today}})
			u, s := b.row("s", "u"), b.site("s")
			date := string(u.PDate)
			if date == "" {
				date = "-"
			}
			same(t, "values", fmt.Sprintf("%d %s %s %d %d", u.Size, u.ContentType, date, u.Priority, s.Priority), c.want)
			same(t, "refused", len(saved.Refused), c.refused)
			same(t, "bit 50", s.ErrorMask&errormask.Initialization != 0, c.refused > 0)
			if name == "a hostile text" {
				same(t, "text", u.Charset, etag)
			}
			same(t, "status", u.Status, int64(4))
		})
	}
}

// A result of processing with an expression that cannot be followed marks the site too.
func TestRefusedExpressionOfProcessing(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.crawl(wire.Fetched{})
	_, err := b.MarkProcessing(ctx, "s", 8, []string{wire.Md5("u")})
	b.must(err)
	list, err := wire.ReadFieldExpressions(`[{"URL":{"Size":{"no_such_function(1)":0}}}]`)
	b.must(err)
	refused, err := b.FinishProcess(ctx, "s", 8, []wire.Extracted{{URLMd5: wire.Md5("u"), Processed: true, Set: schema.Patch{"Status": int64(7)}, Expressions: list}})
	b.must(err)
	same(t, "refused", len(refused), 1)
	same(t, "bit 50", b.site("s").ErrorMask&errormask.Initialization != 0, true)
	same(t, "status", b.row("s", "u").Status, int64(7))
}

func TestAttributesAndFormFields(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","properties":{"HTTP_POST_FORM_user":"me"}}`)
	b.crawl(wire.Fetched{Attributes: map[string]string{"robots_noindex": "1", "b": "2", "none": ""}, FormFields: map[string]string{
		"HTTP_POST_FORM_user": "page", "HTTP_POST_FORM_q": "x", "HTTP_POST_FORM_Q": "y", "MODES_FLAG": "0", "HTTP_POST_FORM_long": strings.Repeat("x", 5000)}})
	names := func() string {
		list, err := b.Attributes(ctx, "s", wire.Md5("u"), []string{"*"})
		b.must(err)
		var all []string
		for _, a := range list {
			all = append(all, a.Name+"="+a.Value)
		}
		return strings.Join(all, " ")
	}
	same(t, "attributes", names(), "b=2 robots_noindex=1")
	var properties []string
	for _, p := range b.site("s").Properties {
		properties = append(properties, p.Name+"="+p.Value)
	}
	same(t, "properties", strings.Join(properties, " "), "HTTP_POST_FORM_user=me HTTP_POST_FORM_Q=y")
	b.crawlAgain(wire.Fetched{Attributes: map[string]string{"robots_noindex": "", "b": "3"}})
	same(t, "attributes", names(), "b=3")
	many := map[string]string{}
	for i := range 2 * outcomes.MaxFormFields {
		many[fmt.Sprint("HTTP_POST_FORM_", i)] = "x"
	}
	b.crawlAgain(wire.Fetched{FormFields: many})
	same(t, "properties", len(b.site("s").Properties), outcomes.MaxFormFields)
}

// crawlAgain is crawl in a new batch.
func (b *bench) crawlAgain(r wire.Fetched) {
	b.Helper()
	b.now = b.now.Add(time.Hour)
	batch := b.now.Unix() % 1e9
	_, err := b.MarkCrawling(ctx, "s", batch, []wire.URL{wire.NewURL("s", "u")})
	b.must(err)
	r.URLMd5, r.Set = wire.Md5("u"), schema.Patch{"Status": int64(4)}
	b.saved(b.FinishCrawl(ctx, "s", batch, []wire.Fetched{r}))
}
