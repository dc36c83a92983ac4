package sqlstore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/storage/sqldb"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// change runs SITE_UPDATE with the JSON of a request.
func (b *bench) change(raw string) wire.GeneralResponse {
	b.Helper()
	r, err := wire.ReadSiteUpdate(json.RawMessage(raw), nil)
	b.must(err)
	b.must(r.Check())
	answer, err := b.SiteUpdate(ctx, r)
	b.must(err)
	return answer
}

var done = wire.GeneralResponse{Statuses: statuses(0)}

func TestSiteUpdateFields(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","description":"old","priority":5,"recrawlPeriod":10,"urls":["http://a/"],"properties":{"P":"1"},"filters":[{"pattern":"x"}]}`)
	same(t, "answer", b.change(`{"id":"s","description":"new","state":3,"recrawlPeriod":60,"errors":7,"errorMask":4,"resources":9,
		"recrawlDate":"DATE_ADD(NOW(), INTERVAL `+"`RecrawlPeriod`"+` MINUTE)","uDate":"NOW()","tcDate":"2025-12-31 23:59:59",
		"tcDateProcess":{"str":"'2025-12-30 01:02:03'"},"cDate":{"str":"\"2012-12-12 12:12:12\""},"updateType":null,"urls":null,"filters":null,"properties":null}`), done)
	s := b.site("s")
	same(t, "set", []any{s.Description, s.State, s.RecrawlPeriod}, []any{"new", int64(3), int64(60)})
	same(t, "unchanged", []any{s.Priority, len(s.URLs), len(s.Filters), len(s.Properties)}, []any{int64(5), 1, 1, 1})
	// Expressions see the new values.
	same(t, "dates", []schema.Date{s.RecrawlDate, s.UDate, s.TcDate, s.TcDateProcess, s.CDate},
		[]schema.Date{"2026-01-05 11:00:00", "2026-01-05 10:00:00", "2025-12-31 23:59:59", "2025-12-30 01:02:03", "2012-12-12 12:12:12"})
	same(t, "counters are counted", []int64{s.Errors, int64(s.ErrorMask), s.Resources, s.NewURLs}, []int64{0, 0, 0, 1})
	b.change(`{"id":"s","recrawlDate":"NULL"}`)
	same(t, "NULL", b.site("s").RecrawlDate, schema.Date(""))
}

func TestSiteUpdateSelectsSites(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"a1", "a2", "b1"} {
		b.newSite(`{"id":"` + id + `","priority":1,"properties":{"P":"1"}}`)
	}
	cases := map[string]struct {
		raw      string
		statuses []any
		changed  string
	}{
		"unknown id":        {`{"id":"nobody","priority":2}`, statuses(2020), ""},
		"id in capitals":    {`{"id":"A1","priority":2}`, statuses(0), "a1"},
		"id and criterion":  {`{"id":"a1","priority":2,"criterions":{"WHERE":"Id='b1'"}}`, statuses(0), "a1"},
		"criterion":         {`{"id":null,"priority":2,"criterions":{"WHERE":"Id LIKE 'a%' AND Priority=1"}}`, statuses(0, 0), "a1 a2"},
		"order and limit":   {`{"criterions":{"WHERE":"Id<>'0'","ORDER BY":"Id DESC","LIMIT":1},"priority":2}`, statuses(0), "b1"},
		"empty criterion":   {`{"criterions":{},"priority":2}`, statuses(), ""},
		"selects none":      {`{"criterions":{"WHERE":"Id='x'"},"priority":2}`, statuses(), ""},
		"no fields":         {`{"id":"a1"}`, statuses(0), ""},
		"lists of many":     {`{"criterions":{"WHERE":"Id LIKE 'a%'"},"priority":2,"updateType":2,"properties":{"P":"2"}}`, statuses(0, 0), "a1 a2"},
		"by an OR":          {`{"criterions":{"WHERE":"Id='a1' OR Id='b1'"},"priority":2}`, statuses(0, 0), "a1 b1"},
		"counters alone":    {`{"id":"a1","errors":4}`, statuses(0), ""},
		"by another's rows": {`{"criterions":{"WHERE":"Id IN (SELECT Site_Id FROM sites_properties WHERE Site_Id='b1' AND Name='P')"},"priority":2}`, statuses(0), "b1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b.change(`{"criterions":{"WHERE":"Id<>'0'"},"priority":1,"updateType":1,"properties":{"P":"1"}}`)
			same(t, "answer", b.change(c.raw), wire.GeneralResponse{Statuses: c.statuses})
			var changed []string
			for _, id := range []string{"a1", "a2", "b1"} {
				if s := b.site(id); s.Priority == 2 {
					changed = append(changed, id)
				}
			}
			same(t, "changed", strings.Join(changed, " "), c.changed)
		})
	}
}

func TestSiteUpdateRefusals(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","description":"old","urls":["http://a/"],"properties":{"P":"1"}}`)
	for name, c := range map[string]struct{ raw, says string }{
		"condition":               {`{"criterions":{"WHERE":"SLEEP(1)"},"description":"new"}`, "SiteUpdate.criterions.WHERE"},
		"expression":              {`{"id":"s","description":"new","uDate":"SLEEP(1)"}`, "SiteUpdate.uDate"},
		"expression of a root":    {`{"id":"s","description":"new","updateType":1,"urls":["http://b/",{"url":"http://c/","pDate":"LOAD_FILE('x')"}]}`, "SiteUpdate.urls[1].pDate"},
		"expression of a list":    {`{"id":"s","description":"new","updateType":1,"properties":[{"name":"A","uDate":"x()"}]}`, "SiteUpdate.properties[0].uDate"},
		"expression of a changed": {`{"id":"s","description":"new","updateType":2,"properties":[{"name":"P","uDate":"x()"}]}`, "SiteUpdate.properties[0].uDate"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := b.change(c.raw)
			if answer.ErrorCode != wire.CodeSQLError || !strings.Contains(answer.ErrorMessage, c.says) {
				t.Errorf("answer %+v, want %s", answer, c.says)
			}
			same(t, "statuses", answer.Statuses, statuses(wire.CodeSQLError))
			s := b.site("s")
			same(t, "nothing is changed", []any{s.Description, len(s.URLs), len(s.Properties)}, []any{"old", 1, 1})
		})
	}
}

func texts(s wire.Site) (filters, properties []string) {
	for _, f := range s.Filters {
		filters = append(filters, f.Pattern)
	}
	for _, p := range s.Properties {
		properties = append(properties, p.Name+"="+p.Value)
	}
	return filters, properties
}

func TestSiteUpdateLists(t *testing.T) {
	md5 := wire.Md5("http://a/")
	cases := map[string]struct{ raw, filters, properties, message string }{
		"append":    {`{"id":"s","updateType":0,"filters":[{"pattern":"n"}],"properties":{"N":"1"}}`, "a b c n", "A=1 L=1 L=2 A=9 N=1", ""},
		"no type":   {`{"id":"s","properties":[{"name":"N","value":"1"}]}`, "a b c", "A=1 L=1 L=2 A=9 N=1", ""},
		"overwrite": {`{"id":"s","updateType":1,"filters":[{"pattern":"n"}],"properties":{"N":"1"}}`, "n", "N=1", ""},
		"empty":     {`{"id":"s","updateType":1,"filters":[],"properties":[]}`, "", "", ""},
		"one list":  {`{"id":"s","updateType":1,"filters":[],"properties":null}`, "", "A=1 L=1 L=2 A=9", ""},
		// An update changes only the rows that it names.
		"one row with the key":          {`{"id":"s","updateType":2,"filters":[{"pattern":"n","type":0}],"properties":{"A":"7"}}`, "a b n", "A=7 L=1 L=2 A=9", ""},
		"property of a URL":             {`{"id":"s","updateType":2,"properties":{"A":[null,"7","` + md5 + `"]}}`, "a b c", "A=1 L=1 L=2 A=7", ""},
		"as many items as rows":         {`{"id":"s","updateType":2,"filters":[{"pattern":"x"},{"pattern":"y"}]}`, "x y c", "A=1 L=1 L=2 A=9", ""},
		"pattern identifies the row":    {`{"id":"s","updateType":2,"filters":[{"pattern":"b","stage":3}]}`, "a b c", "A=1 L=1 L=2 A=9", ""},
		"remaining row matches":         {`{"id":"s","updateType":2,"filters":[{"pattern":"n"},{"pattern":"b"}]}`, "n b c", "A=1 L=1 L=2 A=9", ""},
		"several filters":               {`{"id":"s","updateType":2,"filters":[{"pattern":"n"}]}`, "a b c", "A=1 L=1 L=2 A=9", "SiteUpdate.filters[0] could mean several rows"},
		"several properties":            {`{"id":"s","updateType":2,"properties":{"L":"7","A":"8"}}`, "a b c", "A=8 L=1 L=2 A=9", "SiteUpdate.properties[1] could mean several rows"},
		"both rows of a key":            {`{"id":"s","updateType":2,"properties":[{"name":"L","value":"7"},{"name":"L","value":"8"}]}`, "a b c", "A=1 L=7 L=8 A=9", ""},
		"no row, nothing inserted":      {`{"id":"s","updateType":2,"filters":[{"pattern":"n","mode":1}],"properties":{"N":"1"}}`, "a b c", "A=1 L=1 L=2 A=9", ""},
		"rows of other sites unchanged": {`{"id":"s","updateType":2,"filters":[{"siteId":"t","pattern":"n","type":0}],"properties":{"A":["t","7",null]}}`, "a b n", "A=7 L=1 L=2 A=9", ""},
		"site id in an item ignored":    {`{"id":"s","filters":[{"siteId":"t","pattern":"n"}],"properties":{"N":["t","1",null]}}`, "a b c n", "A=1 L=1 L=2 A=9 N=1", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			lists := `"filters":[{"pattern":"a","subject":"keep","stage":2},{"pattern":"b","subject":"keep"},{"pattern":"c","type":0}],
				"properties":[{"name":"A","value":"1"},{"name":"L","value":"1"},{"name":"L","value":"2"},{"name":"A","value":"9","urlMd5":"` + md5 + `"}]`
			b.newSite(`{"id":"s",` + lists + `}`)
			b.newSite(`{"id":"t",` + lists + `}`)
			answer := b.change(c.raw)
			same(t, "statuses", answer.Statuses, statuses(0))
			if (c.message == "") != (answer.ErrorMessage == "") || !strings.Contains(answer.ErrorMessage, c.message) || answer.ErrorCode != 0 {
				t.Errorf("answer %+v, want %q", answer, c.message)
			}
			s := b.site("s")
			filters, properties := texts(s)
			same(t, "filters", strings.Join(filters, " "), c.filters)
			same(t, "properties", strings.Join(properties, " "), c.properties)
			for _, f := range s.Filters {
				if slices.Contains([]string{"a", "b"}, f.Pattern) && f.Subject != "keep" {
					t.Errorf("filter %s has subject %q: a field that is not given changed", f.Pattern, f.Subject)
				}
			}
			filters, properties = texts(b.site("t"))
			same(t, "the other site", strings.Join(append(filters, properties...), " "), "a b c A=1 L=1 L=2 A=9")
		})
	}
}

// Dates of lists may be plain, quoted or expressions, in inserts and updates
// (docs/spec/storage.md 6.2 #22).
func TestSiteUpdateDatesOfLists(t *testing.T) {
	for raw, want := range map[string]schema.Date{
		`"2026-01-01"`: "2026-01-01 00:00:00", `"'2026-01-01 02:03:04'"`: "2026-01-01 02:03:04", `{"str":"\"2026-01-01\""}`: "2026-01-01 00:00:00",
		`"NOW()"`: "2026-01-05 10:00:00", `"DATE_SUB(NOW(), INTERVAL 1 DAY)"`: "2026-01-04 10:00:00", `null`: "", `"NULL"`: "",
	} {
		b := newBench(t)
		rows := `"filters":[{"pattern":"x","uDate":` + raw + `}],"properties":[{"name":"P","value":"1","uDate":` + raw + `,"cDate":"2020-01-01"}]`
		b.newSite(`{"id":"s",` + rows + `}`)
		s := b.site("s")
		same(t, "inserted "+raw, []schema.Date{s.Filters[0].UDate, s.Properties[0].UDate, s.Properties[0].CDate}, []schema.Date{want, want, "2020-01-01 00:00:00"})
		b.newSite(`{"id":"u","filters":[{"pattern":"x"}],"properties":[{"name":"P"}]}`)
		same(t, "answer", b.change(`{"id":"u","updateType":2,`+rows+`}`), done)
		s = b.site("u")
		same(t, "changed "+raw, []any{s.Filters[0].UDate, s.Properties[0].UDate, s.Properties[0].Value, s.Properties[0].CDate}, []any{want, want, "1", schema.Date("2026-01-05 10:00:00")})
	}
}

// rootBench makes a site with two crawled root URLs and one page.
func rootBench(t *testing.T, properties string) *bench {
	b := newBench(t)
	b.newSite(`{"id":"s","requestDelay":7,"maxURLsFromPage":3,"urls":["http://a/",{"url":"http://b/","userId":4}],"properties":{` + properties + `}}`)
	b.newURLs(`[{"siteId":"s","url":"http://a/1","parentMd5":"` + wire.Md5("http://a/") + `","status":4,"crawled":1,"size":10,"contentType":"text/html"}]`)
	list, err := wire.ReadURLUpdate(json.RawMessage(`[{"siteId":"s","url":"http://a/","status":4,"crawled":2,"errorMask":4,"size":5},{"siteId":"s","url":"http://b/","status":7,"crawled":2}]`), nil)
	b.must(err)
	_, err = b.URLUpdate(ctx, list)
	b.must(err)
	return b
}

func (b *bench) trash() []string {
	b.Helper()
	items, err := b.Trash(ctx)
	b.must(err)
	var list []string
	for _, item := range items {
		list = append(list, item.SiteID+"/"+item.URLMd5)
	}
	slices.Sort(list)
	return list
}

func TestSiteUpdateRoots(t *testing.T) {
	a, c := "s/"+wire.Md5("http://a/"), "s/"+wire.Md5("http://b/")
	both := []string{a, c}
	slices.Sort(both)
	cases := map[string]struct {
		raw, property string
		roots         string   // of sites_urls with their statuses
		rows          string   // of urls with Status and Crawled, without "a/1"
		trash         []string // removed files
	}{
		"append":                   {`{"id":"s","urls":["http://c/"]}`, "", "a/1 b/1 c/7", "a/1/0 b/1/0 c/7/0", both},
		"append a known":           {`{"id":"s","urls":["http://a/"]}`, `"UPDATE_NOT_INSERT_ROOT_URLS":"0"`, "a/1 b/1", "a/1/0 b/1/0", both},
		"overwrite":                {`{"id":"s","updateType":1,"urls":["http://c/","http://c/"]}`, "", "c/7", "c/7/0", both},
		"none":                     {`{"id":"s","updateType":1,"urls":[]}`, "", "", "", both},
		"rows are kept":            {`{"id":"s","updateType":1,"urls":["http://c/"]}`, `"UPDATE_NOT_INSERT_ROOT_URLS":"1"`, "c/7", "a/4/2 b/7/2", nil},
		"kept from now on":         {`{"id":"s","urls":["http://c/"],"properties":{"UPDATE_NOT_INSERT_ROOT_URLS":"1"}}`, "", "a/1 b/1 c/7", "a/4/2 b/7/2", nil},
		"lists alone":              {`{"id":"s","updateType":1,"properties":{"X":"1"}}`, "", "a/1 b/1", "a/4/2 b/7/2", nil},
		"update":                   {`{"id":"s","updateType":2,"urls":[{"url":"http://a/","priority":9}]}`, "", "a/7 b/1", "a/7/2 b/7/2", nil},
		"update an unknown":        {`{"id":"s","updateType":2,"urls":["http://c/"]}`, "", "a/1 b/1", "a/4/2 b/7/2", nil},
		"update by key":            {`{"id":"s","updateType":2,"urls":[{"urlMd5":"` + wire.Md5("http://b/") + `","crawled":5}]}`, "", "a/1 b/7", "a/4/2 b/7/5", nil},
		"another text":             {`{"id":"s","updateType":2,"urls":[{"urlMd5":"` + wire.Md5("http://b/") + `","url":"http://c/"}]}`, "", "a/1 c/7", "a/4/2 c/7/2", []string{c}},
		"text of another root URL": {`{"id":"s","updateType":2,"urls":[{"urlMd5":"` + wire.Md5("http://b/") + `","url":"http://a/"}]}`, "", "a/1 b/1", "a/4/2 b/7/2", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := rootBench(t, c.property)
			same(t, "answer", b.change(c.raw), done)
			s := b.site("s")
			var roots, rows []string
			for _, u := range s.URLs {
				roots = append(roots, strings.Trim(u.URL.URL[len("http://"):], "/")+"/"+string(rune('0'+u.Status)))
				if u.URLMd5 != wire.Md5(u.URL.URL) {
					t.Errorf("root %s has the key %s", u.URL.URL, u.URLMd5)
				}
			}
			for _, u := range b.fetch(`[{"sitesList":["s"],"sitesCriterions":{"WHERE":"1"},"urlsCriterions":{"WHERE":"ParentMd5=''","ORDER BY":"URL"},"maxURLs":0}]`) {
				rows = append(rows, strings.Trim(u.URL[len("http://"):], "/")+"/"+string(rune('0'+u.Status))+"/"+string(rune('0'+u.Crawled)))
			}
			same(t, "roots", strings.Join(roots, " "), c.roots)
			same(t, "rows", strings.Join(rows, " "), c.rows)
			same(t, "trash", b.trash(), c.trash)
			same(t, "the page stays", b.row("s", "http://a/1").Crawled, int64(1))
			b.checkCounters("s", t.Name())
		})
	}
}

func TestSiteUpdateRootDefaults(t *testing.T) {
	b := rootBench(t, "")
	b.change(`{"id":"s","userId":8,"urls":["http://c/",{"url":"http://d/","requestDelay":1,"userId":2,"status":1,"parentMd5":"0123456789abcdef0123456789abcdef"}]}`)
	s := b.site("s")
	same(t, "of the site", []any{s.URLs[2].RequestDelay, s.URLs[2].MaxURLsFromPage, s.URLs[2].UserID, s.URLs[2].HTTPMethod}, []any{int64(7), int64(3), int64(8), "get"})
	same(t, "given", []any{s.URLs[3].RequestDelay, s.URLs[3].UserID, s.URLs[3].Status, s.URLs[3].ParentMd5}, []any{int64(1), int64(2), int64(7), ""})
	same(t, "row", []any{b.row("s", "http://d/").RequestDelay, b.row("s", "http://d/").Status}, []any{int64(1), int64(7)})
}

// Attributes and events of replaced root URLs.
func TestSiteUpdateDeletesReplacedRoots(t *testing.T) {
	b := rootBench(t, `"STATS_FREQ_ENABLED":"1","STATS_LOG_ENABLED":"1"`)
	b.newURLs(`[{"siteId":"s","url":"http://r/","attributes":[{"k":"v"}]}]`) // a root URL: it has no parent
	b.change(`{"id":"s","urls":[]}`)
	same(t, "row", b.row("s", "http://r/").URL, "")
	list, err := b.Attributes(ctx, "s", wire.Md5("http://r/"), []string{"*"})
	b.must(err)
	same(t, "attributes", len(list), 0)
	var deleted, aged, journal int
	b.must(b.runReadTx(ctx, "test", func(t *tx) error {
		if _, err := t.Row("SELECT FDel, FDeleted FROM "+t.SiteTable(sqldb.Freqs, "s")+" WHERE Site_Id = ? AND URLMd5 = ?", []any{"s", wire.Md5("http://r/")}, &deleted, &aged); err != nil {
			return err
		}
		_, err := t.Row("SELECT COUNT(*) FROM "+t.SiteTable(sqldb.Logs, "s")+" WHERE Site_Id = ? AND OpCode = 21 AND Object LIKE '%\"reason\":7%'", []any{"s"}, &journal)
		return err
	}))
	same(t, "events", []int{deleted, aged, journal}, []int{1, 1, 3})
}

// A restart makes the site active and its root URLs new.
func TestSiteUpdateRestart(t *testing.T) {
	b := rootBench(t, "")
	b.must(b.Suspend(ctx, "s", errormask.SiteMaxErrors, 2))
	b.change(`{"id":"s","updateType":1,"urls":["http://c/"],"properties":{"UPDATE_NOT_INSERT_ROOT_URLS":"1"}}`)
	same(t, "not there yet", b.row("s", "http://c/").URL, "")
	same(t, "answer", b.change(`{"id":"s","state":6,"description":"again"}`), done)
	s := b.site("s")
	same(t, "site", []any{s.State, s.Iterations, s.UDate, s.Description}, []any{int64(1), int64(1), schema.Date("2026-01-05 10:00:00"), "again"})
	same(t, "errors", []int64{int64(s.ErrorMask), s.Errors}, []int64{0, 0})
	same(t, "root", []any{b.row("s", "http://c/").Status, b.row("s", "http://a/").Crawled}, []any{int64(wire.StatusNew), int64(2)})
	b.checkCounters("s", t.Name())
	// Without a state there is no restart.
	b.change(`{"id":"s","description":"once more"}`)
	same(t, "iterations", b.site("s").Iterations, int64(1))
}

// A site that was suspended for its errors runs again after a restart: it has no errors, and its
// failed pages are due.
func TestRestartOfSuspendedSite(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","maxErrors":2,"urls":["root"]}`)
	b.putIn("s", "fine", schema.Patch{"Status": int64(7), "Crawled": int64(1), "Processed": int64(1), "ErrorMask": int64(errormask.BadEncoding)})
	b.putIn("s", "busy", schema.Patch{"Status": int64(6), "Crawled": int64(1), "Batch_Id": int64(9), "ErrorMask": int64(errormask.BadEncoding)})
	for _, url := range []string{"a", "b", "c"} {
		b.putIn("s", url, schema.Patch{"Status": int64(4), "State": int64(2), "Crawled": int64(1), "ErrorMask": int64(errormask.Timeout), "Attempts": int64(1)})
	}
	b.must(b.Suspend(ctx, "s", errormask.SiteMaxErrors, 1))
	before := b.site("s")
	same(t, "suspended", []any{before.State, before.Errors > before.MaxErrors}, []any{int64(3), true})
	same(t, "answer", b.change(`{"id":"s","state":6}`), done)
	s := b.site("s")
	same(t, "site", []any{s.State, s.Errors, s.ErrorMask, s.NewURLs}, []any{int64(1), int64(0), errormask.Mask(0), int64(4)})
	for url, want := range map[string]string{"root": "1/0", "a": "1/0", "b": "1/0", "c": "1/0", "fine": "7/0", "busy": "6/0"} {
		u := b.row("s", url)
		same(t, url, []any{fmt.Sprintf("%d/%d", u.Status, u.State), u.ErrorMask}, []any{want, errormask.Mask(0)})
	}
	same(t, "a batch keeps its row", b.row("s", "busy").BatchID, int64(9))
	b.checkCounters("s", t.Name())
}

func TestFetchUpdatesListsOfSites(t *testing.T) {
	b := rootBench(t, `"P":"1"`)
	urls := b.fetch(`[{"sitesList":["s"],"siteUpdate":{"updateType":2,"properties":{"P":"2"},"uDate":"NOW()"},"urlsCriterions":{"WHERE":"Status=4","ORDER BY":"URL"}}]`)
	s := b.site("s")
	same(t, "site", []any{len(urls), s.UDate, s.Properties[0].Value}, []any{2, schema.Date("2026-01-05 10:00:00"), "2"})
	b.fetch(`[{"sitesList":["s"],"siteUpdate":{"properties":{"N":"1"}}}]`)
	same(t, "a list alone", len(b.site("s").Properties), 2)
}

// Results of a crawl are adapted to the columns, equally on both databases.
func TestResultsFitTheirColumns(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["http://a/"]}`)
	u := b.row("s", "http://a/")
	_, err := b.MarkCrawling(ctx, "s", 7, []wire.URL{u})
	b.must(err)
	link := wire.NewURL("s", "http://a/1")
	link.ParentMd5, link.ContentType, link.Depth, link.CDate = u.URLMd5, "a\x00b", -4, "0001-01-01 00:00:00"
	bad := wire.NewURL("s", "http://a/\xff")
	b.saved(b.FinishCrawl(ctx, "s", 7, []wire.Fetched{{URLMd5: u.URLMd5, Links: linksOf(link, bad), Set: schema.Patch{"Status": int64(4), "HTTPCode": int64(-1), "Size": int64(1 << 60),
		"ContentType": strings.Repeat("x", 300), "ETag": "\xff", "LastModified": "0001-01-01 00:00:00"}}}))
	u = b.row("s", "http://a/")
	same(t, "row", []any{u.Status, u.HTTPCode, u.Size, len(u.ContentType), u.ETag, u.LastModified}, []any{int64(4), int64(0), int64(1 << 40), 255, "\uFFFD", schema.Date("")})
	row := b.row("s", "http://a/1")
	same(t, "link", []any{row.ContentType, row.Depth, row.CDate}, []any{"a\uFFFDb", int64(0), schema.Date("2026-01-05 10:00:00")})
	same(t, "a URL that cannot be stored", b.row("s", "http://a/\xff").URL, "")
	_, err = b.MarkProcessing(ctx, "s", 8, []string{u.URLMd5})
	b.must(err)
	b.must(b.process("s", 8, []wire.Extracted{{URLMd5: u.URLMd5, Set: schema.Patch{"Status": int64(7), "TagsCount": int64(-5), "PDate": "0999-01-01 00:00:00"}}}))
	u = b.row("s", "http://a/")
	same(t, "processed", []any{u.Status, u.TagsCount, u.PDate}, []any{int64(7), int64(0), schema.Date("")})
	b.checkCounters("s", t.Name())
}
