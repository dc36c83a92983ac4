package realtimeresponse

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

const stored = `{"default":{"data":{"tagList":[[{"name":"title","data":["One two 3x"]},{"name":"content","data":"Körper -- a"},{"name":"empty","data":[" "]}]]},"metrics":"{}"},"internal":[],"custom":[]}`

func itemWith(properties map[string]string) wire.BatchItem {
	u := wire.NewURL("s", "http://h/a")
	u.TagsCount = 3
	return wire.BatchItem{SiteID: "s", URLID: u.URLMd5, URL: u, Properties: properties}
}

func TestJudge(t *testing.T) {
	metrics := func(text string) map[string]string { return map[string]string{"FINALIZER_METRICS": text} }
	measured := strings.Replace(stored, `"{}"`, `"{\"METRIC_TAGS_COUNT\":7,\"WORDS_NUMBER_PERCENT\":\"40\"}"`, 1)
	for _, tt := range []struct {
		name       string
		properties map[string]string
		content    string
		enough     bool
		problem    string
	}{
		{"three tags without metrics", nil, stored, false, ""},
		{"metrics of the processor without limits", nil, measured, true, ""},
		{"enough tags", metrics(`{"type":0,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":2}]}`), stored, true, ""},
		{"too few tags", metrics(`{"type":0,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":3}]}`), stored, false, ""},
		{"too many tags", metrics(`{"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":1,"LIMIT_MAX":1}]}`), stored, false, ""},
		{"type 0 checks the first limit only", metrics(`{"type":0,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":1},{"NAME":"WORDS_NUMBER","LIMIT_MIN":99}]}`), stored, true, ""},
		{"type 1 with one limit met", metrics(`{"type":"1","contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":9},{"NAME":"words_count","LIMIT_MIN":"6","LIMIT_MAX":"6"}]}`), stored, true, ""},
		{"type 1 with no limit met", metrics(`{"type":1,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":9},{"NAME":"WORDS_NUMBER","LIMIT_MIN":7}]}`), stored, false, ""},
		{"type 2 with all limits met", metrics(`{"type":2,"contentMetrics":[{"NAME":"TAGS_NUMBER_PERCENT","LIMIT_MIN":66,"LIMIT_MAX":66},{"NAME":"METRIC_WORDS_COUNT_PERCENT","LIMIT_MIN":50,"LIMIT_MAX":50}]}`), stored, true, ""},
		{"type 2 with one limit not met", metrics(`{"type":2,"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":2},{"NAME":"CONTENT_SIZE","LIMIT_MIN":100}]}`), stored, false, ""},
		{"characters", metrics(`{"contentMetrics":[{"NAME":"CONTENT_SIZE","LIMIT_MIN":22,"LIMIT_MAX":22}]}`), stored, true, ""},
		{"percent of characters", metrics(`{"contentMetrics":[{"NAME":"METRIC_CONTENT_SIZE_PERCENT","LIMIT_MIN":68,"LIMIT_MAX":68}]}`), stored, true, ""},
		{"limit on a metric of the processor", metrics(`{"contentMetrics":[{"NAME":"WORDS_NUMBER_PERCENT","LIMIT_MIN":40,"LIMIT_MAX":40}]}`), measured, true, ""},
		{"base64 content", metrics(`{"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":2}]}`), base64.StdEncoding.EncodeToString([]byte(stored)), true, ""},
		{"content of another type", metrics(`{"contentMetrics":[{"NAME":"TAGS_NUMBER","LIMIT_MIN":1}]}`), `[1]`, false, ""},
		{"invalid JSON", metrics(`{`), stored, false, "FINALIZER_METRICS"},
		{"no limits", metrics(`{"type":0}`), stored, false, "empty"},
		{"invalid type", metrics(`{"type":3,"contentMetrics":[{"NAME":"TAGS_NUMBER"}]}`), stored, false, "must be 0, 1 or 2"},
		{"unknown metric", metrics(`{"contentMetrics":[{"NAME":"BEAUTY"}]}`), stored, false, `"BEAUTY"`},
		{"no content", metrics(`{"contentMetrics":[{"NAME":"TAGS_NUMBER"}]}`), "", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var content []byte
			if tt.content != "" {
				content = []byte(tt.content)
			}
			g, err := Judge(itemWith(tt.properties), nil, content)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if g.Enough != tt.enough || g.Failed != (content == nil) || !strings.Contains(problem, tt.problem) || (problem == "") != (tt.problem == "") {
				t.Errorf("grade %+v, problem %q", g, problem)
			}
		})
	}
}

func TestBetter(t *testing.T) {
	order := []Grade{{Failed: true}, {Tags: 1}, {Tags: 2}, {Tags: 1, Enough: true}, {Tags: 3, Enough: true}} // from bad to good
	for i, a := range order {
		for j, b := range order {
			if got := a.Better(b); got != (i > j) {
				t.Errorf("%+v better than %+v: %t", a, b, got)
			}
		}
	}
}

func TestMask(t *testing.T) {
	site := &wire.Site{Properties: []wire.SiteProperty{{Name: "FETCH_RAW_CONTENT", Value: "1"}}}
	for _, tt := range []struct {
		name  string
		given int64
		own   map[string]string
		site  *wire.Site
		want  int64
		files int64
	}{
		{"default", 0, nil, nil, wire.MaskProcessed, 0},
		{"FETCH_RAW_CONTENT of the site", 0, nil, site, wire.MaskProcessed | wire.MaskRawLast, wire.MaskRawLast},
		{"FETCH_RAW_CONTENT of the item overrides the site", 0, map[string]string{"FETCH_RAW_CONTENT": "0"}, site, wire.MaskProcessed, 0},
		{"contentMask has a raw version", wire.MaskRawFirst, nil, site, wire.MaskRawFirst, wire.MaskRawFirst},
		{"headers", wire.MaskHeaders, nil, nil, wire.MaskHeaders, wire.MaskHeaders | wire.MaskRawLast},
		{"tidy", wire.MaskTidy, nil, nil, wire.MaskTidy, wire.MaskTidy | wire.MaskRawLast},
		{"tidy and cookies", wire.MaskTidy | wire.MaskCookies, nil, nil, wire.MaskTidy | wire.MaskCookies, wire.MaskTidy | wire.MaskCookies | wire.MaskRawLast | wire.MaskRaw},
	} {
		t.Run(tt.name, func(t *testing.T) {
			item := itemWith(tt.own)
			item.URL.ContentMask = tt.given
			mask := Mask(item, tt.site)
			if mask != tt.want || FileMask(mask) != tt.files {
				t.Errorf("mask %d, files %d; want %d, %d", mask, FileMask(mask), tt.want, tt.files)
			}
		})
	}
}

func TestForBrowser(t *testing.T) {
	auto := &wire.Site{FetchType: 7}
	put := itemWith(nil)
	put.URL.URLPut = json.RawMessage(`{"putDict":{"data":"x"}}`)
	robots := itemWith(nil)
	robots.URL.ErrorMask = errormask.Robots
	forbidden := itemWith(nil)
	forbidden.URL.ErrorMask, forbidden.URL.HTTPCode = errormask.HTTP, 403
	for _, tt := range []struct {
		name    string
		item    wire.BatchItem
		site    *wire.Site
		grade   Grade
		fetched bool
		want    bool
	}{
		{"poor result", itemWith(nil), auto, Grade{}, true, true},
		{"good result", itemWith(nil), auto, Grade{Enough: true}, true, false},
		{"other fetch type", itemWith(nil), &wire.Site{FetchType: 1}, Grade{}, true, false},
		{"not fetched by this batch", itemWith(nil), auto, Grade{}, false, false},
		{"content of the client", put, auto, Grade{}, true, false},
		{"robots.txt", robots, auto, Grade{Failed: true}, true, false},
		{"HTTP error", forbidden, auto, Grade{Failed: true}, true, true},
		{"no site", itemWith(nil), nil, Grade{}, true, false},
	} {
		if got := NeedsBrowser(tt.item, tt.site, tt.grade, tt.fetched); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
	item := forbidden
	item.Site = &wire.SiteOverlay{Row: schema.Patch{"MaxURLs": int64(3)}, Source: json.RawMessage(`{"maxURLs":3,"fetchType":7}`)}
	item.URL.Status, item.URL.Crawled = wire.StatusCrawled, 1
	again := ForBrowser(item)
	if again.URL.Status != wire.StatusSelectedCrawling || again.URL.Crawled != 0 || again.URL.ErrorMask != 0 || again.Site.Row["FetchType"] != int64(2) ||
		again.Site.Row["MaxURLs"] != int64(3) || string(again.Site.Source) != `{"fetchType":2,"maxURLs":3}` {
		t.Errorf("again %+v %+v", again.URL, again.Site)
	}
	if _, touched := item.Site.Row["FetchType"]; touched || item.URL.Crawled != 1 {
		t.Error("the item itself changed")
	}
	if again := ForBrowser(itemWith(nil)); string(again.Site.Source) != `{"fetchType":2}` {
		t.Errorf("without siteObj: %s", again.Site.Source)
	}
}

func TestReserve(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{time.Second: time.Second, 20 * time.Second: 5 * time.Second, time.Hour: 10 * time.Second} {
		if got := Reserve(limit); got != want {
			t.Errorf("of %v: %v", limit, got)
		}
	}
}
