package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/lenient"
	"hce/dc/internal/wire/schema"
)

func TestReadSiteNewWithOldSpellings(t *testing.T) {
	raw := json.RawMessage(`{"cDate":"NOW()","description":"rnd","filters":[{"pattern":"http://h/(.*)","siteId":"b85ab149a528bd0a024fa0f43e80b5fc","type":1},{"pattern":"x","type":0}],
		"id":"b85ab149a528bd0a024fa0f43e80b5fc","httpTimeout":"20000","maxURLs":20.9,"tcDate":"NULL","uDate":{"str":"NOW()"},"recrawlDate":"2026-01-05",
		"properties":{"A":"1","B":[null,"2",null],"C":3},"urls":["http://h/",{"url":"http://h/b","userId":4}],"userId":9,"parentMD5":""}`)
	n := &lenient.Notes{}
	r, err := ReadSiteNew(raw, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[string]any{"CDate": schema.Expr("NOW()"), "TcDate": nil, "UDate": schema.Expr("NOW()"), "RecrawlDate": "2026-01-05 00:00:00",
		"HTTPTimeout": 20000.0, "MaxURLs": int64(20), "User_Id": int64(9)} {
		if got, ok := r.Site[column]; !ok || got != want {
			t.Errorf("%s = %#v (set %v), want %#v", column, got, ok, want)
		}
	}
	if len(r.URLs) != 2 || r.URLs[0]["User_Id"] != int64(9) || r.URLs[1]["User_Id"] != int64(4) || r.URLs[0].Text("URLMd5") != Md5("http://h/") {
		t.Errorf("urls = %v", r.URLs)
	}
	if r.Filters[0]["Action"] != int64(1) || r.Filters[1]["Action"] != int64(-1) || r.Filters[1].Text("Site_Id") != r.ID {
		t.Errorf("filters = %v", r.Filters)
	}
	if len(r.Properties) != 3 || r.Properties[1].Text("Value") != "2" || r.Properties[2].Text("Value") != "3" || r.Properties[2].Text("Site_Id") != r.ID {
		t.Errorf("properties = %v", r.Properties)
	}
	if !reflect.DeepEqual(n.Unknown, []string{"Site.parentMD5"}) {
		t.Errorf("unknown keys = %v", n.Unknown)
	}
}

func TestErrorsNameTheFieldAndTheValue(t *testing.T) {
	cases := map[string]struct {
		read func(json.RawMessage) error
		raw  string
		want []string
	}{
		"not an object":    {siteNew, `[1]`, []string{"Site", "[1]", "not an object"}},
		"no id":            {siteNew, `{}`, []string{"Site.id", "missing"}},
		"id with a slash":  {siteNew, `{"id":"a/../b"}`, []string{"Site.id", `a/../b`}},
		"id too long":      {siteNew, `{"id":"` + strings.Repeat("a", 33) + `"}`, []string{"Site.id", "1 to 32"}},
		"invalid number":   {siteNew, `{"id":"a","maxURLs":"many"}`, []string{"Site.maxURLs", "many"}},
		"urls not a list":  {siteNew, `{"id":"a","urls":{}}`, []string{"Site.urls", "not a list"}},
		"url, no number":   {siteNew, `{"id":"a","urls":[{"url":"u","type":[1]}]}`, []string{"Site.urls[0].type", "[1]"}},
		"no expression":    {siteNew, `{"id":"a","maxURLs":{"str":" "}}`, []string{"Site.maxURLs", "not a whole number"}},
		"property list":    {siteNew, `{"id":"a","properties":{"P":["1"]}}`, []string{"Site.properties.P", "three"}},
		"invalid md5":      {urlNew, `[{"url":"u","urlMd5":"XYZ"}]`, []string{"URLNew[0].urlMd5", "XYZ"}},
		"not a list":       {urlNew, `{}`, []string{"URLNew", "not a list"}},
		"no url":           {urlNew, `[{"url":"u"},{}]`, []string{"URLNew[1].url", "missing"}},
		"invalid url id":   {batch, `{"items":[{"siteId":"","urlId":"x","urlObj":{"url":"u"}}]}`, []string{"BatchItem[0].urlId", `"x"`}},
		"item without url": {batch, `{"items":[{"siteId":"1"}]}`, []string{"BatchItem[0].urlObj", "missing"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := c.read(json.RawMessage(c.raw))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not name %q", err, w)
				}
			}
		})
	}
}

func siteNew(raw json.RawMessage) error {
	r, err := ReadSiteNew(raw, nil)
	if err == nil {
		err = r.Check()
	}
	return err
}

func urlNew(raw json.RawMessage) error {
	list, err := ReadURLNew(raw, nil)
	for i := 0; err == nil && i < len(list); i++ {
		err = list[i].Check("URLNew[0]")
	}
	return err
}

func batch(raw json.RawMessage) error {
	_, err := ReadBatch(raw, nil)
	return err
}

func TestBatchRoundTrip(t *testing.T) {
	in := Batch{ID: 7, DBMode: 3, CrawlerType: 1, MaxIterations: 1, Items: []BatchItem{{SiteID: "s", URLID: Md5("http://h/"), URL: NewURL("s", "http://h/"), BaseURL: "http://h/"}}}
	in.Items[0].URL.ErrorMask = errormask.Timeout | errormask.Guard
	in.Items[0].URL.CDate = "2026-01-05 10:00:00"
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"errorNames":["REQUEST_TIMEOUT","SSRF_GUARD"]`) {
		t.Errorf("errorNames is missing in %s", raw)
	}
	out, err := ReadBatch(raw, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, b := in.Items[0].URL, out.Items[0].URL
	b.URLPut, b.URLUpdate = nil, nil
	if !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v, want %+v", b, a)
	}
}

// Contents without a URL and without a key are different items.
func TestContentsWithoutURL(t *testing.T) {
	const item = `{"siteId":"s","urlObj":{"url":null,"urlPut":{"putDict":{"data":%q}}}}`
	raw := fmt.Sprintf(`{"items":[`+item+`,`+item+`,`+item+`]}`, "a", "b", "a")
	b, err := ReadBatch(json.RawMessage(raw), nil)
	if err != nil || len(b.Items) != 2 || b.Items[0].URLID == b.Items[1].URLID || b.Items[0].URL.URL != "" {
		t.Errorf("%+v, %v", b.Items, err)
	}
	for _, put := range []string{`null`, `{}`, `{"putDict":{"data":null}}`} {
		if _, err := ReadBatch(json.RawMessage(`{"items":[{"siteId":"s","urlObj":{"url":null,"urlPut":`+put+`}}]}`), nil); err == nil || !strings.Contains(err.Error(), "urlObj.url") {
			t.Errorf("%s: %v", put, err)
		}
	}
}

func TestReplyHasTheFormOfTheCall(t *testing.T) {
	for in, want := range map[string]string{
		`["SITE_STATUS",{"id":"a"}]`: `["SITE_STATUS",1]`,
		`[3,{"id":"a"}]`:             `[103,1]`,
		`["ATTR_SET",[]]`:            `["ATTR_SET",1]`,
	} {
		var c Call
		if err := json.Unmarshal([]byte(in), &c); err != nil {
			t.Fatal(err)
		}
		got, _ := json.Marshal(c.Reply(1))
		if string(got) != want {
			t.Errorf("%s is answered %s, want %s", in, got, want)
		}
	}
	for _, in := range []string{`{}`, `[1]`, `["NO_SUCH",{}]`, `[13,{}]`, `[1.5,{}]`} {
		if json.Unmarshal([]byte(in), &Call{}) == nil {
			t.Errorf("%s is accepted", in)
		}
	}
}

// A real-time batch keeps siteObj from task to task; other batches drop it. Both keep
// the folder and the spent time.
func TestRealTimeBatchRoundTrip(t *testing.T) {
	const text = `{"id":7,"crawlerType":%d,"contentFolder":"run-1","spentTime":12,"items":[{"siteId":"s","urlObj":{"url":"http://h/","contentMask":19,
		"attributes":[{"siteId":"s","name":"a","value":"v","urlMd5":"","cDate":null},{"topic":"sport"}]},
		"siteObj":{"fetchType":7,"properties":[{"name":"P","value":"1"}]}}]}`
	for kind, carried := range map[int]bool{CrawlRealTime: true, CrawlNormal: false} {
		b, err := ReadBatch([]byte(fmt.Sprintf(text, kind)), &lenient.Notes{})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadBatch(raw, &lenient.Notes{})
		if err != nil {
			t.Fatal(err)
		}
		item := again.Items[0]
		if again.Folder != "run-1" || again.Spent != 12 || item.URL.ContentMask != 19 || len(item.URL.Attributes) != 1 || item.URL.Attributes[0].Name != "a" {
			t.Errorf("type %d: got %+v", kind, again)
		}
		if (item.Site != nil) != carried || carried && (item.Site.Row["FetchType"] != int64(7) || len(item.Site.Properties) != 1) {
			t.Errorf("type %d: siteObj %+v", kind, item.Site)
		}
	}
}

func TestGroupsKeepTheOrderOfFirstItems(t *testing.T) {
	got := Groups([]string{"b1", "a1", "b2", "c1", "a2"}, func(s string) string { return s[:1] })
	if want := [][]string{{"b1", "b2"}, {"a1", "a2"}, {"c1"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestOverlayKeys(t *testing.T) {
	var none *SiteOverlay
	a, b := &SiteOverlay{Row: schema.Patch{"State": int64(1)}, Source: json.RawMessage(`{"state":1}`)}, &SiteOverlay{Row: schema.Patch{"State": int64(2)}}
	if same := (&SiteOverlay{Row: a.Row}).Key(); a.Key() != same || a.Key() == b.Key() || none.Key() == (&SiteOverlay{}).Key() {
		t.Errorf("keys %q, %q, %q, %q", a.Key(), same, b.Key(), none.Key())
	}
}
