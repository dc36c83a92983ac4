package sqlstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

// recorded makes a site "on" whose URLs u1 to u3 have a journal and counters, and a site
// "off" without them.
func recorded(t *testing.T) *bench {
	b := newBench(t)
	b.newSite(`{"id":"on","properties":{"STATS_FREQ_ENABLED":"1","STATS_LOG_ENABLED":"1"}}`)
	b.newSite(`{"id":"off"}`)
	b.newURLs(`[{"siteId":"on","url":"u1","depth":1},{"siteId":"on","url":"u2","depth":2},{"siteId":"on","url":"u3","depth":2},{"siteId":"off","url":"u1"}]`)
	b.now = b.now.Add(time.Minute)
	list, err := wire.ReadURLUpdate(json.RawMessage(`[{"siteId":"on","url":"u2","status":4},{"siteId":"on","url":"u2","priority":3}]`), nil)
	b.must(err)
	_, err = b.URLUpdate(ctx, list)
	b.must(err)
	return b
}

func TestURLHistory(t *testing.T) {
	b := recorded(t)
	b.newURLs(`[{"siteId":"on","url":"gone"}]`)
	b.deleteURLs(`[{"siteId":"on","url":"gone"}]`)
	urls := map[string]string{}
	for _, u := range []string{"u1", "u2", "u3", "gone"} {
		urls[wire.Md5(u)] = u
	}
	cases := map[string]struct{ raw, want string }{
		"of one":                   {`{"siteId":"on","urlMd5":"` + wire.Md5("u2") + `"}`, "u2:20 u2:1 u2:22 u2:4 u2:22"},
		"of one that is deleted":   {`{"siteId":"on","urlMd5":"` + wire.Md5("gone") + `"}`, "gone:20 gone:1 gone:21"},
		"of one never seen":        {`{"siteId":"on","urlMd5":"` + wire.Md5("x") + `"}`, ""},
		"with a criterion":         {`{"siteId":"ON","urlMd5":"` + wire.Md5("u2") + `","logCriterions":{"WHERE":"OpCode=22 OR OpCode=4","ORDER BY":"OpCode DESC, ODate"}}`, "u2:22 u2:22 u2:4"},
		"limit for each":           {`{"siteId":"on","urlCriterions":{"ORDER BY":"URL"},"logCriterions":{"ORDER BY":"OpCode DESC","LIMIT":1}}`, "u1:20 u2:22 u3:20"},
		"by a criterion, in order": {`{"siteId":"on","urlCriterions":{"WHERE":"Depth=2","ORDER BY":"URL DESC"},"logCriterions":{"WHERE":"OpCode=20"}}`, "u3:20 u2:20"},
		"dates":                    {`{"siteId":"on","urlCriterions":{"WHERE":"1=1","ORDER BY":"URL","LIMIT":2},"logCriterions":{"WHERE":"ODate>'2026-01-05 10:00:30'"}}`, "u2:22 u2:4 u2:22"},
		"sub-select":               {`{"siteId":"on","urlMd5":"` + wire.Md5("u1") + `","logCriterions":{"WHERE":"URLMd5 IN (SELECT URLMd5 FROM log_on WHERE OpCode=1) AND OpCode=20"}}`, "u1:20"},
		"off":                      {`{"siteId":"off","urlMd5":"` + wire.Md5("u1") + `"}`, ""},
		"no URL is selected":       {`{"siteId":"on","urlCriterions":{"WHERE":"Depth=7"}}`, "null"},
		"unknown site":             {`{"siteId":"none"}`, "null"},
		"null":                     {`null`, "null"},
		"unknown column":           {`{"siteId":"on","logCriterions":{"WHERE":"Password=1"}}`, "! URLHistoryRequest[0].logCriterions.WHERE"},
		"refused URLs":             {`{"siteId":"none","urlCriterions":{"WHERE":"SLEEP(1)"}}`, "! URLHistoryRequest[0].urlCriterions.WHERE"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := wire.ReadURLHistory(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answers, err := b.URLHistory(ctx, list)
			if part, refused := strings.CutPrefix(c.want, "! "); refused {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error = %v, want %s", err, part)
				}
				return
			}
			b.must(err)
			if answers[0] == nil {
				same(t, "answer", "null", c.want)
				return
			}
			var rows []string
			for _, row := range answers[0].LogRows {
				rows = append(rows, fmt.Sprint(urls[row.URLMd5], ":", row.OpCode))
				if !json.Valid([]byte(row.Object)) || row.CDate == "" || row.ODate != row.CDate {
					t.Errorf("row %+v", row)
				}
			}
			same(t, "rows", strings.Join(rows, " "), c.want)
		})
	}
	same(t, "every URL", len(b.history(`{"siteId":"on","urlCriterions":{}}`)), 9)
}

func (b *bench) history(raw string) []wire.LogRow {
	b.Helper()
	list, err := wire.ReadURLHistory(json.RawMessage("["+raw+"]"), nil)
	b.must(err)
	answers, err := b.URLHistory(ctx, list)
	b.must(err)
	return answers[0].LogRows
}

func TestURLStats(t *testing.T) {
	b := recorded(t)
	urls := map[string]string{}
	for _, u := range []string{"u1", "u2", "u3"} {
		urls[wire.Md5(u)] = u
	}
	cases := map[string]struct{ raw, want string }{ // url:FIns/FUpd/FCrawled
		"of one":                {`{"siteId":"on","urlMd5":"` + wire.Md5("u2") + `"}`, "u2:1/2/1"},
		"of one never counted":  {`{"siteId":"on","urlMd5":"` + wire.Md5("x") + `"}`, ""},
		"of one, no criterion":  {`{"siteId":"on","urlMd5":"` + wire.Md5("u1") + `","statsCriterions":{"WHERE":"FUpd>0"}}`, "u1:1/0/0"},
		"by URLs, in order":     {`{"siteId":"on","urlCriterions":{"WHERE":"Depth=2 OR 1=0","ORDER BY":"URL DESC"}}`, "u3:1/0/0 u2:1/2/1"},
		"by counters":           {`{"siteId":"on","statsCriterions":{"WHERE":"FUpd>0 OR 1=0"}}`, "u2:1/2/1"},
		"by counters, limited":  {`{"siteId":"on","statsCriterions":{"ORDER BY":"FUpd DESC","LIMIT":1}}`, "u2:1/2/1"},
		"by both (fault 18)":    {`{"siteId":"on","urlCriterions":{"WHERE":"Depth=2"},"statsCriterions":{"WHERE":"FUpd=0"}}`, "u3:1/0/0"},
		"both, limited":         {`{"siteId":"on","urlCriterions":{"WHERE":"Depth<9"},"statsCriterions":{"ORDER BY":"FUpd DESC, FIns","LIMIT":"0, 1"}}`, "u2:1/2/1"},
		"both, behind the last": {`{"siteId":"on","urlCriterions":{"WHERE":"Depth<9"},"statsCriterions":{"WHERE":"FUpd>0","LIMIT":"1, 5"}}`, "null"},
		"off":                   {`{"siteId":"off","urlMd5":"` + wire.Md5("u1") + `"}`, ""},
		"no URL":                {`{"siteId":"on","urlCriterions":{"WHERE":"Depth=9"}}`, "null"},
		"nothing counted":       {`{"siteId":"off"}`, "null"},
		"unknown site":          {`{"siteId":"none","urlCriterions":{"LIMIT":1}}`, "null"},
		"null":                  {`null`, "null"},
		"unknown column":        {`{"siteId":"on","statsCriterions":{"WHERE":"Depth=1"}}`, "! URLStatsRequest[0].statsCriterions.WHERE"},
		"refused URLs":          {`{"siteId":"on","urlMd5":"` + wire.Md5("u1") + `","urlCriterions":{"LIMIT":"x"}}`, "! URLStatsRequest[0].urlCriterions.LIMIT"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := wire.ReadURLStats(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answers, err := b.URLStats(ctx, list)
			if part, refused := strings.CutPrefix(c.want, "! "); refused {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error = %v, want %s", err, part)
				}
				return
			}
			b.must(err)
			if answers[0] == nil {
				same(t, "answer", "null", c.want)
				return
			}
			var rows []string
			for _, row := range answers[0].FreqRows {
				rows = append(rows, fmt.Sprintf("%s:%d/%d/%d", urls[row.URLMd5], row.FIns, row.FUpd, row.FCrawled))
			}
			same(t, "rows", strings.Join(rows, " "), c.want)
		})
	}
	row := b.stats("on", "u2")
	same(t, "dates", []schema.Date{row.CDate, row.MDate}, []schema.Date{"2026-01-05 10:00:00", "2026-01-05 10:01:00"})
}

func TestURLVerify(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s"}`)
	b.newURLs(`[{"siteId":"s","url":"u1","depth":1},{"siteId":"s","url":"u2","depth":2}]`)
	b.deleteURLs(`[{"siteId":"s","url":"u2","delayedType":0}]`)
	cases := map[string]struct{ raw, want string }{
		"live":               {`{"siteId":"s","url":"u1","urlType":0,"dbName":"dc_urls"}`, "u1"},
		"configured name":    {`{"siteId":"S","url":"u1","urlType":0,"dbName":"` + b.db.Name("dc_urls") + `"}`, "u1"},
		"live, by key":       {`{"siteId":"s","url":"` + wire.Md5("u1") + `","urlType":1,"dbName":"dc_urls"}`, "u1"},
		"deleted":            {`{"siteId":"s","url":"u2","urlType":0,"dbName":"dc_urls_deleted"}`, "u2"},
		"deleted, not live":  {`{"siteId":"s","url":"u2","urlType":0,"dbName":"dc_urls"}`, ""},
		"criterion":          {`{"siteId":"s","url":"u1","urlType":0,"dbName":"dc_urls","criterions":{"WHERE":"Depth=1","ORDER BY":"URL","LIMIT":1}}`, "u1"},
		"criterion, another": {`{"siteId":"s","url":"u1","urlType":0,"dbName":"dc_urls","criterions":{"WHERE":"Depth=2 OR Depth=3"}}`, ""},
		"cannot escape":      {`{"siteId":"s","url":"none","urlType":0,"dbName":"dc_urls","criterions":{"WHERE":"Depth=2 OR 1=1"}}`, ""},
		"deleted, criterion": {`{"siteId":"s","url":"u2","urlType":0,"dbName":"dc_urls_deleted","criterions":{"WHERE":"URLMd5 IN (SELECT URLMd5 FROM urls_s)"}}`, "u2"},
		"no database":        {`{"siteId":"s","url":"u1","urlType":0,"dbName":null}`, ""},
		"unknown database":   {`{"siteId":"s","url":"u1","urlType":0,"dbName":"mysql"}`, ""},
		"not of URLs":        {`{"siteId":"s","url":"u1","urlType":0,"dbName":"dc_sites"}`, ""},
		"unknown site":       {`{"siteId":"none","url":"u1","urlType":0,"dbName":"dc_urls"}`, ""},
		"unknown, deleted":   {`{"siteId":"none","url":"u1","urlType":0,"dbName":"dc_urls_deleted"}`, ""},
		"null":               {`null`, ""},
		"refused":            {`{"siteId":"none","url":"u1","urlType":0,"dbName":null,"criterions":{"WHERE":"Nope=1"}}`, "! URLVerify[0].criterions.WHERE"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			list, err := wire.ReadURLVerify(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			urls, err := b.URLVerify(ctx, list)
			if part, refused := strings.CutPrefix(c.want, "! "); refused {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error = %v, want %s", err, part)
				}
				return
			}
			b.must(err)
			got := ""
			if urls[0] != nil {
				got = urls[0].URL
			}
			same(t, "row", got, c.want)
		})
	}
}

func TestRecalculate(t *testing.T) {
	b := newBench(t)
	spoil := func() {
		b.must(b.runUpdateTx(ctx, "test", func(t *tx) error {
			_, err := t.Exec("UPDATE " + t.DB.Table("dc_sites", "sites") + " SET NewURLs = 99, CollectedURLs = 99, DeletedURLs = 99, Size = 99, Errors = 99")
			return err
		}))
	}
	for _, id := range []string{"a", "b"} {
		b.newSite(`{"id":"` + id + `","urls":["r"]}`)
		b.newURLs(`[{"siteId":"` + id + `","url":"u","parentMd5":"` + wire.Md5("r") + `","size":30,"errorMask":2,"status":7},{"siteId":"` + id + `","url":"v"}]`)
		b.deleteURLs(`[{"siteId":"` + id + `","url":"v","delayedType":0}]`)
	}
	cases := map[string]struct {
		raw       string
		want      []any
		a, b      int64 // CollectedURLs
		message   string
		untouched string
	}{
		"full and partial": {`{"siteId":"a","recalcType":0},{"siteId":"B","recalcType":1}`, statuses("a", "B"), 1, 99, "", ""},
		"by a criterion":   {`{"siteId":"a","recalcType":0,"criterions":{"WHERE":"Id>='a'","ORDER BY":"Id DESC"}}`, statuses("a", "b", "a"), 1, 1, "", ""},
		"criterion alone":  {`{"siteId":null,"recalcType":0,"criterions":{"WHERE":"Id='b'"}}`, statuses("b"), 99, 1, "", "a"},
		"empty criterion":  {`{"siteId":"a","recalcType":0,"criterions":{}}`, statuses("a"), 1, 99, "", "b"},
		"unknown":          {`{"siteId":"no","recalcType":0},{"siteId":"a"}`, statuses("no", "a"), 1, 99, "no is no known site", "b"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spoil()
			list, err := wire.ReadRecalc(json.RawMessage("["+c.raw+"]"), nil)
			b.must(err)
			answer, err := b.Recalculate(ctx, list)
			b.must(err)
			same(t, "statuses", answer.Statuses, c.want)
			if !strings.Contains(answer.ErrorMessage, c.message) || (c.message == "") != (answer.ErrorMessage == "") {
				t.Errorf("message = %q", answer.ErrorMessage)
			}
			for id, collected := range map[string]int64{"a": c.a, "b": c.b} {
				want := []int64{1, collected, 1, 30, 1}
				if id == c.untouched {
					want = []int64{99, 99, 99, 99, 99}
				}
				s := b.site(id)
				same(t, id, []int64{s.NewURLs, s.CollectedURLs, s.DeletedURLs, s.Size, s.Errors}, want)
			}
		})
	}
	if _, err := b.Recalculate(ctx, []wire.RecalcRequest{{SiteID: "a", Criterion: wire.Criterion{Where: "Nope=1"}}}); err == nil || !strings.Contains(err.Error(), "FieldRecalculator[0].criterions.WHERE") {
		t.Errorf("refused: %v", err)
	}
}

func TestNoteContents(t *testing.T) {
	b := recorded(t)
	note := func(site string) ContentNote {
		return ContentNote{SiteID: site, URLMd5s: []string{wire.Md5("u1")}, Object: wire.URLContentRequest{SiteID: site, URL: "u1", Mask: 3}}
	}
	b.must(b.NoteContents(ctx, []ContentNote{note("on"), note("off"), note("none"), note("ON")}))
	same(t, "noted", []int{len(b.log("on", "u1", 25)), len(b.log("off", "u1", 25))}, []int{2, 0})
	same(t, "object", b.log("on", "u1", 25)[0], `{"attributeNames":null,"contentTypeMask":3,"dbFieldsList":null,"siteId":"on","url":"u1","urlMd5":""}`)
}

// A COUNTER_CRIT property for deleted URLs does not keep the purge from counting
// (docs/spec/storage.md 4.0.4).
func TestPurgeWithCounterProperty(t *testing.T) {
	b := newBench(t)
	b.newSite(`{"id":"s","properties":{"COUNTER_CRIT_DURLS":"Depth=9","COUNTER_CRIT_NURLS":"Depth=9"}}`)
	b.newURLs(`[{"siteId":"s","url":"u1"},{"siteId":"s","url":"u2","depth":9},{"siteId":"s","url":"u3"}]`)
	same(t, "before", []int64{b.site("s").NewURLs, b.site("s").DeletedURLs}, []int64{1, 0})
	b.deleteURLs(`[{"siteId":"s","criterions":{"WHERE":"1=1"},"delayedType":0}]`)
	same(t, "deleted", []int64{b.site("s").NewURLs, b.site("s").DeletedURLs}, []int64{0, 1})
	same(t, "purge", b.purge(`[{"siteId":"s"}]`), "s:3")
	same(t, "purged", b.site("s").DeletedURLs, int64(0))
}
