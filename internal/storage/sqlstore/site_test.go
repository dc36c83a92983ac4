package sqlstore

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

func TestSiteNewStoresAllFields(t *testing.T) {
	b := newBench(t)
	answer := b.newSite(`{"id":"s1","description":"d","recrawlPeriod":60,"urlType":1,"requestDelay":7,"uDate":"NOW()","tcDate":"2025-12-31 23:59:59",
		"recrawlDate":"DATE_ADD(NOW(), INTERVAL ` + "`RecrawlPeriod`" + ` MINUTE)","resources":99,"avgSpeed":5,"maxURLsFromPage":3,
		"urls":["http://a/","http://b/",{"url":"http://a/","userId":4}],"filters":[{"pattern":"x","type":0}],
		"properties":{"A":"1","B":[null,"2","0123456789abcdef0123456789abcdef"]},"userId":9}`)
	same(t, "answer", answer, wire.GeneralResponse{Statuses: statuses("s1")})
	s := b.site("s1")
	same(t, "recrawlDate", s.RecrawlDate, schema.Date("2026-01-05 11:00:00"))
	same(t, "uDate, cDate, tcDate", []schema.Date{s.UDate, s.CDate, s.TcDate}, []schema.Date{"2026-01-05 10:00:00", "2026-01-05 10:00:00", "2025-12-31 23:59:59"})
	same(t, "counters", []int64{s.Resources, s.AVGSpeed, s.NewURLs, s.CollectedURLs}, []int64{0, 0, 2, 0})
	same(t, "lists", []int{len(s.URLs), len(s.Filters), len(s.Properties)}, []int{2, 1, 2})
	same(t, "defaults", []int64{s.State, s.ProcessingDelay, s.UserID, s.CategoryID}, []int64{1, 1000, 9, 1})
	root := s.URLs[0]
	same(t, "root", []any{root.URL.URL, root.UserID, root.HTTPMethod, root.MaxURLsFromPage, root.CDate}, []any{"http://a/", int64(9), "get", int64(3), schema.Date("2026-01-05 10:00:00")})
	u := b.row("s1", "http://b/")
	same(t, "moved", []any{u.SiteID, u.Type, u.RequestDelay, u.Status, u.ParentMd5}, []any{"s1", int64(1), int64(7), int64(1), ""})
}

func TestSiteNewRefusals(t *testing.T) {
	cases := map[string]struct {
		raw     string
		code    int
		message string
	}{
		"same id":              {`{"id":"old","userId":77}`, wire.CodeDuplicateSite, "Duplicate site"},
		"same id in capitals":  {`{"id":"OLD"}`, wire.CodeDuplicateSite, "Duplicate site"},
		"the general site":     {`{"id":"0"}`, wire.CodeDuplicateSite, "Duplicate site"},
		"function":             {`{"id":"new","recrawlDate":"SLEEP(5)"}`, wire.CodeSQLError, "Site.recrawlDate"},
		"column":               {`{"id":"new","recrawlDate":"Nothing + 1"}`, wire.CodeSQLError, "Nothing"},
		"expression in a list": {`{"id":"new","filters":[{"pattern":"x","uDate":"(SELECT 1 FROM mysql.user)"}]}`, wire.CodeSQLError, "uDate"},
		"expression of a root": {`{"id":"new","urls":[{"url":"http://a/","pDate":"LOAD_FILE('x')"}]}`, wire.CodeSQLError, "pDate"},
	}
	b := newBench(t)
	b.newSite(`{"id":"old","description":"first"}`)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			answer := b.newSite(c.raw)
			if answer.ErrorCode != c.code || !strings.Contains(answer.ErrorMessage, c.message) || len(answer.Statuses) != 1 || answer.Statuses[0] != nil {
				t.Errorf("answer = %+v", answer)
			}
			same(t, "state of new", b.site("new").State, int64(wire.SiteNotFound))
			same(t, "old", b.site("old").Description, "first")
		})
	}
	// A refused request leaves nothing: the id is free.
	same(t, "then", b.newSite(`{"id":"new","urls":["http://a/"]}`).ErrorCode, 0)
}

func TestSiteStatus(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","urls":["http://a/"],"properties":{"P":"1"},"filters":[{"pattern":"x"}]}`)
	s, err := b.SiteStatus(ctx, wire.SiteStatusRequest{ID: "s", Exclude: []string{"urls", "filters"}})
	b.must(err)
	same(t, "excluded are null", []bool{s.URLs == nil, s.Filters == nil, s.Properties == nil}, []bool{true, true, false})
	none := b.site("nobody")
	same(t, "unknown", []any{none.ID, none.State, none.MoveURLs, none.URLs != nil}, []any{"nobody", int64(9), true, true})
	site, err := b.Site(ctx, "nobody")
	if site != nil || err != nil {
		t.Errorf("Site of an unknown id = %v, %v", site, err)
	}
	general := b.site("0")
	same(t, "general", []any{general.Description, general.RequestDelay, general.URLType, len(general.Filters), len(general.Properties)},
		[]any{"System default", int64(0), int64(1), 2, 1})
	if p := general.Filters[1].Pattern; !strings.Contains(p, "%ERRORMASK% & 4198399") || !strings.Contains(p, "'text/html'") {
		t.Errorf("filter = %s", p)
	}
}

// A client polls the end of a crawl: no URL waits for its request or is in a batch, and no page waits to be processed.
func TestFinished(t *testing.T) {
	b := newBench(t)
	html := func(more schema.Patch) schema.Patch {
		p := schema.Patch{"Status": int64(4), "Crawled": int64(1), "Size": int64(9), "HTTPCode": int64(200), "ContentType": "text/html"}
		maps.Copy(p, more)
		return p
	}
	const active, suspended = 1, 3
	for name, c := range map[string]struct {
		state int
		row   schema.Patch
		want  bool
	}{
		"no row":                          {active, nil, true},
		"a URL is new":                    {active, schema.Patch{"Status": int64(1)}, false},
		"a URL is asked again later":      {active, schema.Patch{"Status": int64(1), "RetryDate": "2100-01-01 00:00:00"}, false},
		"a disabled URL is new":           {active, schema.Patch{"Status": int64(1), "State": int64(1)}, true},
		"in a batch of crawling":          {active, schema.Patch{"Status": int64(3)}, false},
		"in a batch of processing":        {active, schema.Patch{"Status": int64(5)}, false},
		"a page waits to be processed":    {active, html(nil), false},
		"another type is not processed":   {active, html(schema.Patch{"ContentType": "image/png"}), true},
		"a failed page is not processed":  {active, html(schema.Patch{"ErrorMask": int64(1)}), true},
		"a missing page is not processed": {active, html(schema.Patch{"HTTPCode": int64(404)}), true},
		"processed":                       {active, html(schema.Patch{"Status": int64(7), "Processed": int64(1)}), true},
		"suspended, a URL is new":         {suspended, schema.Patch{"Status": int64(1)}, true},
		"suspended, a page waits":         {suspended, html(nil), true},
		"suspended, in a batch":           {suspended, schema.Patch{"Status": int64(2)}, false},
		"suspended, in one of processing": {suspended, schema.Patch{"Status": int64(6)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			id := wire.Md5(name)
			b.newSite(fmt.Sprintf(`{"id":%q,"urls":[],"state":%d,"properties":{"PROCESS_CTYPES":"text/html"}}`, id, c.state))
			if c.row != nil {
				b.putIn(id, "http://a/", c.row)
			}
			s, err := b.SiteStatus(ctx, wire.SiteStatusRequest{ID: id})
			b.must(err)
			if s.Finished == nil || *s.Finished != c.want {
				t.Errorf("finished is not %t: %+v", c.want, s)
			}
			s, err = b.SiteStatus(ctx, wire.SiteStatusRequest{ID: id, Exclude: []string{"finished"}})
			b.must(err)
			same(t, "excluded", s.Finished == nil, true)
		})
	}
	same(t, "unknown", b.site("nobody").Finished == nil, true)
}

func TestSiteFind(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s1","cDate":"2026-01-01","urls":["http://a.x/","http://a.x/2"],"properties":{"MODES_FLAG":"9"},"priority":5}`)
	b.newSite(`{"id":"s2","cDate":"2026-01-02","urls":["http://b.x/"],"properties":{"MODES_FLAG":"1"}}`)
	b.newSite(`{"id":"s3","cDate":"2026-01-03","urls":["http://a_x/100%"]}`)
	cases := map[string]struct{ raw, want, fail string }{
		"prefix, each once":    {`{"url":"http://a.x/"}`, "s1", ""},
		"prefix ignores case":  {`{"url":"HTTP://A.X/"}`, "s1", ""},
		"_ is any character":   {`{"url":"http://a_x/"}`, "s3 s1", ""},
		"% is any text":        {`{"url":"%.X/2"}`, "s1", ""},
		"_ and % as texts":     {`{"url":"http://a\\_x/100\\%"}`, "s3", ""},
		"a backslash and a |":  {`{"url":"http://a\\|"}`, "", ""},
		"% alone":              {`{"url":"%"}`, "s3 s2 s1", ""},
		"any":                  {`{"url":"","criterions":{"WHERE":"Id<>'0'"}}`, "s3 s2 s1", ""},
		"order and limit":      {`{"url":null,"criterions":{"WHERE":"Id LIKE 's%'","ORDER BY":"Id","LIMIT":"1,1"}}`, "s2", ""},
		"prefix and criterion": {`{"url":"http://","criterions":{"WHERE":"Priority=5 OR Id='s2'"}}`, "s2 s1", ""},
		"joined by WHERE":      {`{"url":null,"criterions":{"WHERE":"sites_urls.URL LIKE '%.x/%'"}}`, "s2 s1", ""},
		"joined by TABLES":     {"{\"url\":null,\"criterions\":{\"TABLES\":\"`sites_properties`\",\"WHERE\":\"Name='MODES_FLAG' AND Value & 8\"}}", "s1", ""},
		"sub-select":           {`{"url":null,"criterions":{"WHERE":"Id IN (SELECT Site_Id FROM sites_properties WHERE Value='1')"}}`, "s2", ""},
		"unknown table":        {`{"url":null,"criterions":{"TABLES":"mysql.user"}}`, "", "SiteFind.criterions.TABLES: mysql.user"},
		"unknown column":       {`{"url":null,"criterions":{"WHERE":"Password=1"}}`, "", "Password"},
		"second statement":     {`{"url":null,"criterions":{"WHERE":"1); DROP TABLE x"}}`, "", "WHERE"},
		"limit":                {`{"url":null,"criterions":{"LIMIT":"many"}}`, "", "LIMIT"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r, err := wire.ReadSiteFind(json.RawMessage(c.raw), nil)
			b.must(err)
			sites, err := b.SiteFind(ctx, r)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("error = %v, want %s", err, c.fail)
				}
				return
			}
			b.must(err)
			var ids []string
			for _, s := range sites {
				ids = append(ids, s.ID)
			}
			same(t, "ids", strings.Join(ids, " "), c.want)
		})
	}
}

func TestSiteDelete(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"s1", "s2", "s3"} {
		b.newSite(`{"id":"` + id + `","urls":["http://` + id + `/"],"properties":{"P":"1"}}`)
	}
	remove := func(raw string) wire.GeneralResponse {
		list, err := wire.ReadSiteDelete(json.RawMessage(raw), nil)
		b.must(err)
		answer, err := b.SiteDelete(ctx, list)
		b.must(err)
		return answer
	}
	same(t, "unknown", remove(`{"id":"nobody"}`), wire.GeneralResponse{ErrorMessage: "OK", Statuses: statuses(0)})
	same(t, "empty criterion", remove(`{"id":null,"criterions":{}}`), wire.GeneralResponse{ErrorMessage: "OK", Statuses: statuses()})
	same(t, "two", remove(`[{"id":"s1"},{"criterions":{"WHERE":"Id='s2' OR Id='0'"},"delayedType":0}]`), wire.GeneralResponse{ErrorMessage: "OK-OK", Statuses: statuses(0, 0)})
	general := remove(`{"id":"0"}`)
	same(t, "general", []any{general.ErrorCode, general.Statuses}, []any{1, statuses(1)})
	bad := remove(`[{"id":"../x"},{"criterions":{"WHERE":"SLEEP(1)"}}]`)
	same(t, "refused", bad.Statuses, statuses(1, 1))
	same(t, "left", []int64{b.site("0").State, b.site("s1").State, b.site("s2").State, b.site("s3").State}, []int64{1, 9, 9, 1})

	trash, err := b.Trash(ctx)
	b.must(err)
	same(t, "trash", []any{len(trash), trash[0].SiteID, trash[1].SiteID, trash[1].URLMd5}, []any{2, "nobody", "s1", ""})
	b.must(b.TrashDone(ctx, trash[:1]))
	trash, err = b.Trash(ctx)
	b.must(err)
	same(t, "trash left", len(trash), 1)
	same(t, "again", b.newSite(`{"id":"s1","urls":["http://s1/"]}`).ErrorCode, 0)
}

func TestSiteCleanup(t *testing.T) {
	cases := map[string]struct {
		raw     string
		urls    int64 // rows afterwards
		deleted int64
		trash   int
	}{
		"roots are kept":      {`{"id":"s"}`, 1, 0, 1},
		"roots move back":     {`{"id":"s","saveRootURLs":false}`, 1, 0, 1},
		"nothing stays":       {`{"id":"s","saveRootURLs":false,"moveURLs":false}`, 0, 0, 1},
		"delayed":             {`{"id":"s","delayedType":0}`, 1, 2, 0},
		"delayed, everything": {`{"id":"s","delayedType":0,"saveRootUrls":false,"moveUrls":false}`, 0, 3, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.newSite(`{"id":"s","urls":["http://a/"],"properties":{"P":"1"},"filters":[{"pattern":"x"}]}`)
			b.newURLs(`[{"siteId":"s","url":"http://a/1","parentMd5":"` + wire.Md5("http://a/") + `","status":4,"crawled":1,"errorMask":6,"size":5,"attributes":[{"k":"v"}]},
				{"siteId":"s","url":"http://a/2","parentMd5":"` + wire.Md5("http://a/") + `","status":7}]`)
			list, _ := wire.ReadURLUpdate(json.RawMessage(`[{"siteId":"s","url":"http://a/","status":7,"state":2,"crawled":3,"tagsCount":1,"errorMask":1}]`), nil)
			_, err := b.URLUpdate(ctx, list)
			b.must(err)
			b.must(b.Suspend(ctx, "s", errormask.SiteMaxErrors, 2))
			r, err := wire.ReadSiteCleanup(json.RawMessage(c.raw), nil)
			b.must(err)
			answer, err := b.SiteCleanup(ctx, r)
			b.must(err)
			same(t, "answer", answer, wire.GeneralResponse{ErrorMessage: "OK", Statuses: statuses(0)})
			s := b.site("s")
			same(t, "counters", []int64{s.NewURLs, s.DeletedURLs, s.Resources, s.Contents, s.CollectedURLs, s.Errors, int64(s.ErrorMask), s.Size, s.State, s.Iterations},
				[]int64{c.urls, c.deleted, 0, 0, 0, 0, 0, 0, 1, 0})
			same(t, "lists stay", []int{len(s.URLs), len(s.Filters), len(s.Properties)}, []int{1, 1, 1})
			if c.urls > 0 {
				u := b.row("s", "http://a/")
				same(t, "root", []int64{u.Status, u.State, u.Crawled, u.TagsCount, int64(u.ErrorMask)}, []int64{1, 0, 0, 0, 0})
			}
			trash, err := b.Trash(ctx)
			b.must(err)
			same(t, "trash", len(trash), c.trash)
		})
	}
	b := newBench(t)
	answer, err := b.SiteCleanup(ctx, []wire.SiteCleanupRequest{{ID: "0", State: 1}, {ID: "nobody"}})
	b.must(err)
	same(t, "unknown", answer, wire.GeneralResponse{ErrorCode: 2, ErrorMessage: "OK->>> Site id [nobody] not found", Statuses: statuses(0, 2)})
}
