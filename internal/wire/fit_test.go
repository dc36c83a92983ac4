package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"hce/dc/internal/wire/schema"
)

func TestEveryColumnHasBounds(t *testing.T) {
	for table, columns := range map[string][]schema.Column{"sites": SiteColumns, "urls": URLColumns, "sites_urls": RootURLColumns,
		"sites_filters": FilterColumns, "sites_properties": PropertyColumns} {
		for _, c := range columns {
			id := c.Name == "Id" || c.Name == "Site_Id" || c.Name == "URLMd5"
			switch {
			case c.Kind == schema.KindInt && c.Bounds.Max < math.MaxUint8:
				t.Errorf("number %s.%s has no bounds", table, c.Name)
			case c.Kind == schema.KindText && !id && c.Bounds == schema.Bounds{}:
				t.Errorf("text %s.%s has no bounds", table, c.Name)
			}
		}
	}
}

// request returns a request with one field in a site, a filter, a root URL or a URL.
func request(where, field, value string) json.RawMessage {
	o := `{"` + field + `":` + value
	url := `,"url":"u"}`
	if field == "url" {
		url = "}"
	}
	switch where {
	case "site":
		o += `,"id":"s"}`
	case "filter":
		o = `{"id":"s","filters":[` + o + `,"pattern":"p"}]}`
	case "root":
		o = `{"id":"s","urls":[` + o + url + `]}`
	default:
		o = `[` + o + url + `]`
	}
	return json.RawMessage(o)
}

func TestRequestsOutOfBounds(t *testing.T) {
	long := func(n int) string { return `"` + strings.Repeat("x", n) + `"` }
	cases := []struct{ where, field, good, bad, says string }{
		{"site", "state", "255", "999", "Site.state: 999 is not 0 to 255"},
		{"site", "state", "0", "-1", "Site.state: -1 is not 0 to 255"},
		{"site", "priority", "4294967295", "4294967296", "Site.priority: 4294967296 is not 0 to 4294967295"},
		{"site", "maxURLs", "9223372036854775807", "-5", "Site.maxURLs: -5 is not 0 to 9223372036854775807"},
		{"site", "maxURLs", "0", "9223372036854775808", "whole number"},
		{"site", "maxResourceSize", "1099511627776", "1099511627777", "Site.maxResourceSize: 1099511627777 is not 0 to 1099511627776"},
		{"site", "httpTimeout", "-1", `"NaN"`, "Site.httpTimeout"},
		{"site", "httpTimeout", "1e300", "1e400", "Site.httpTimeout"},
		{"site", "description", long(1024), long(1025), "Site.description"},
		{"site", "description", `"` + strings.Repeat("ü", 1024) + `"`, `"a\u0000b"`, "Site.description"},
		{"site", "description", `"\ud83d\ude00 �"`, `"\ud83d"`, "Site.description"},
		{"site", "description", `"\\ud83d"`, `"\ud83dA"`, "Site.description"},
		{"site", "description", `"ü"`, "\"\xff\"", "Site.description"},
		{"site", "uDate", `"1000-01-01"`, `"0999-12-31"`, "Site.uDate"},
		{"site", "uDate", `"9999-12-31 23:59:59"`, `"'2026-02-30'"`, "1000 to 9999"},
		{"site", "uDate", `{"str":"\"2012-12-12 12:12:12\""}`, `{"str":"NOW()\u0000"}`, "Site.uDate"},
		{"site", "uDate", `"12-12-12 12.12.12"`, `"12-13-12 12.12.12"`, "Site.uDate"},
		{"site", "uDate", `"2012.1.2 3:4"`, `"2012-1-32"`, "1000 to 9999"},
		{"filter", "action", "-2147483648", "2147483648", "Site.filters[0].action: 2147483648 is not -2147483648 to 2147483647"},
		{"filter", "subject", long(16000), long(16001), "16000 characters"},
		{"root", "depth", "0", "-1", "Site.urls[0].depth"},
		{"root", "userId", "1", "-1", "Site.urls[0].userId: -1"},
		{"root", "url", long(4096), long(4097), "4096 bytes"},
		{"url", "url", `"` + strings.Repeat("ü", 2048) + `"`, `"` + strings.Repeat("ü", 2049) + `"`, "URLNew[0].url"},
		{"url", "size", "1099511627776", "1099511627777", "URLNew[0].size"},
		{"url", "contentType", long(255), long(256), "255 characters"},
		{"url", "charset", long(64), long(65), "64 characters"},
		{"url", "eTag", long(255), long(256), "URLNew[0].eTag"},
		{"url", "httpMethod", long(16), long(17), "URLNew[0].httpMethod"},
		{"url", "rawContentMd5", long(32), long(33), "URLNew[0].rawContentMd5"},
		{"url", "contentURLMd5", `"\"\""`, `"ü"`, "ASCII"},
		{"url", "batchId", "4294967295", "-1", "URLNew[0].batchId"},
		{"url", "mRateCounter", "-9223372036854775808", `"many"`, "URLNew[0].mRateCounter"},
		{"url", "attributes", `[{` + long(255) + `:"v"}]`, `[{` + long(256) + `:"v"}]`, "URLNew[0].attributes"},
		{"url", "attributes", `[{"a":1}]`, `[{"a":"\u0000"}]`, "URLNew[0].attributes"},
		{"site", "properties", `{` + long(255) + `:"v"}`, `{` + long(256) + `:"v"}`, "Site.properties"},
		{"site", "properties", `{"P":` + long(1<<20) + `}`, `{"P":` + long(1<<20+1) + `}`, "Site.properties.P"},
		{"site", "properties", `{"P":[null,"v",null]}`, `{"P":[null,"\u0000",null]}`, "Site.properties.P"},
		{"site", "properties", `[{"name":"P","value":1}]`, `[{"name":"P\u0000"}]`, "Site.properties[0].name"},
	}
	for _, c := range cases {
		read := siteNew
		if c.where == "url" {
			read = urlNew
		}
		if err := read(request(c.where, c.field, c.good)); err != nil {
			t.Errorf("%s %.40s: %.200s", c.field, c.good, err)
		}
		err := read(request(c.where, c.field, c.bad))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %.40s: error %v, want %s", c.field, c.bad, err, c.says)
		}
	}
}

func TestFit(t *testing.T) {
	columns := map[string]schema.Column{}
	for _, c := range URLColumns {
		columns[c.Name] = c
	}
	cases := []struct {
		column    string
		in, fixed any
	}{
		{"Status", int64(300), int64(255)},
		{"Status", int64(-1), int64(0)},
		{"Size", int64(1 << 50), int64(1 << 40)},
		{"MRate", math.NaN(), 0.0},
		{"MRate", math.Inf(-1), 0.0},
		{"MRate", 0.5, 0.5},
		{"ContentType", strings.Repeat("ü", 300), strings.Repeat("ü", 255)},
		{"ContentType", "a\x00b\xffc", "a\uFFFDb\uFFFDc"},
		{"ContentType", strings.Repeat("x", 255), strings.Repeat("x", 255)},
		{"RawContentMd5", "aü" + strings.Repeat("b", 40), "a?" + strings.Repeat("b", 30)},
		{"URL", strings.Repeat("x", 4095) + "ü", strings.Repeat("x", 4095)},
		{"LastModified", "0001-01-01 00:00:00", nil},
		{"LastModified", "2026-01-05 10:00:00", "2026-01-05 10:00:00"},
		{"LastModified", "yesterday", nil},
		{"UDate", schema.Expr("NOW()"), schema.Expr("NOW()")},
		{"UDate", nil, nil},
	}
	for _, c := range cases {
		if got := columns[c.column].Fit(c.in); got != c.fixed {
			t.Errorf("%s: %.60v becomes %.60v, want %.60v", c.column, c.in, got, c.fixed)
		}
	}
	p := schema.Patch{"Status": int64(999), "Nothing": 1}
	if got := schema.Fit(p, URLColumns); got["Status"] != int64(255) || got["Nothing"] != 1 || p["Status"] != int64(999) {
		t.Errorf("%v becomes %v", p, got)
	}
}

// ReadBatch changes values that do not fit. It refuses a URL that does not fit.
func TestBatchesOutOfBounds(t *testing.T) {
	b, err := ReadBatch(json.RawMessage(`{"id":1,"items":[{"siteId":"s","urlObj":{"url":"u","contentType":"a\u0000","size":-1,"lastModified":"0001-01-01 00:00:00"}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	u := b.Items[0].URL
	if u.ContentType != "a\uFFFD" || u.Size != 0 || u.LastModified != "" {
		t.Errorf("%+v", u)
	}
	b, err = ReadBatch(json.RawMessage(`{"id":-1,"items":[]}`), nil)
	if err != nil || b.ID != math.MaxUint32 {
		t.Errorf("a signed id is read as %d: %v", b.ID, err)
	}
	for _, raw := range []string{`{"id":-2147483649,"items":[]}`, `{"id":4294967296,"items":[]}`, `{"items":[{"siteId":"s","urlObj":{"url":"a\u0000"}}]}`} {
		if err := batch(json.RawMessage(raw)); err == nil {
			t.Errorf("%s is accepted", raw)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add("a\x00\xff", int64(-1))
	f.Add(strings.Repeat("ü", 300), int64(1<<62))
	f.Fuzz(func(t *testing.T, s string, n int64) {
		for _, c := range RootURLColumns {
			for _, value := range []any{s, n} {
				fixed := c.Fit(value)
				if reason := c.RefusalReason(fixed); reason != "" {
					t.Errorf("%s: %v %s", c.Name, fixed, reason)
				}
				if text, ok := fixed.(string); ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
					t.Errorf("%s: %q cannot be stored", c.Name, text)
				}
			}
		}
	})
}
