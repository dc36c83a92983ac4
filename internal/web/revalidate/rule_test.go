package revalidate

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

const (
	date  = "2024-05-17 10:00:00"
	sum   = "0cc175b9c0f1b6a831c399e269772661"
	other = "92eb5ffee6ae2fec3ad71c777531578f"
)

func known() *wire.URL {
	return &wire.URL{Crawled: 1, ETag: "abc", LastModified: date, RawContentMd5: sum, Size: 10}
}

func moment(text string) time.Time {
	t, ok := schema.Date(text).Time()
	if !ok {
		panic(text)
	}
	return t
}

func TestParse(t *testing.T) {
	tests := []struct {
		text string
		want Rule
		err  string
	}{
		{`{"algorithm":1,"mode":2,"compare":3,"behavior":2}`, Rule{ETags, Twice, ByLength, Processed}, ""},
		{`{"algorithm":"2","mode":"1"}`, Rule{Dates, Once, ByCode, Keep}, ""},
		{`{"algorithm":0}`, Rule{Both, Once, ByCode, Keep}, ""},
		{`{"mode":0}`, Rule{}, ""},
		{`{}`, Rule{}, ""},
		{`null`, Rule{}, ""},
		{`{"algorithm":3,"mode":1}`, Rule{Head, Twice, ByCode, Keep}, ""},
		{``, Rule{}, "is empty"},
		{`[]`, Rule{}, "is not a JSON object"},
		{`{"algorithm":4}`, Rule{}, `has 4 at "algorithm"; expected 0 to 3`},
		{`{"mode":3}`, Rule{}, `at "mode"`},
		{`{"compare":-1}`, Rule{}, `at "compare"`},
		{`{"behavior":9}`, Rule{}, `at "behavior"`},
		{`{"mode":"x"}`, Rule{}, "expected a whole number"},
		{`{"mode":9223372036854775808}`, Rule{}, "expected a whole number"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := Parse(tt.text)
			if got != tt.want {
				t.Errorf("%+v, want %+v", got, tt.want)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}

// TestRules covers every algorithm, mode, comparison and behavior.
func TestRules(t *testing.T) {
	wantHeaders := map[int]string{
		Both:  `map[If-Modified-Since:[Fri, 17 May 2024 10:00:00 GMT] If-None-Match:["abc"]]`,
		ETags: `map[If-None-Match:["abc"]]`,
		Dates: `map[If-Modified-Since:[Fri, 17 May 2024 10:00:00 GMT]]`,
		Head:  `map[]`,
	}
	answers := []struct {
		name string
		a    Answer
		// same lists the comparisons that find the page unchanged.
		same []int
	}{
		{"304", Answer{Code: 304, Length: -1}, []int{ByCode, ByDate, ByMD5, ByLength}},
		{"all the same", Answer{200, moment(date), 10, sum}, []int{ByDate, ByMD5, ByLength}},
		{"all different", Answer{200, moment(date).Add(time.Second), 11, other}, nil},
		{"older", Answer{200, moment(date).Add(-time.Hour), 11, other}, []int{ByDate}},
		{"same length", Answer{200, time.Time{}, 10, other}, []int{ByLength}},
		{"MD5 in upper case", Answer{200, time.Time{}, 11, strings.ToUpper(sum)}, []int{ByMD5}},
		{"nothing to compare", Answer{Code: 200, Length: -1}, nil},
		{"not found", Answer{404, moment(date), 10, sum}, nil},
		{"redirect", Answer{302, moment(date), 10, sum}, nil},
		{"partial content", Answer{206, moment(date), 10, sum}, nil},
	}
	for algorithm := Both; algorithm <= Head; algorithm++ {
		for mode := Off; mode <= Twice; mode++ {
			for compare := ByCode; compare <= ByLength; compare++ {
				for behavior := Keep; behavior <= KeepAndDate; behavior++ {
					name := fmt.Sprintf("algorithm %d mode %d compare %d behavior %d", algorithm, mode, compare, behavior)
					text := fmt.Sprintf(`{"algorithm":%d,"mode":%d,"compare":%d,"behavior":%d}`, algorithm, mode, compare, behavior)
					t.Run(name, func(t *testing.T) {
						rule, err := Parse(text)
						if err != nil {
							t.Fatal(err)
						}
						on := mode != Off
						row := known()
						if rule.Applies(row) != on {
							t.Error("Applies is wrong")
						}
						headers, method := "map[]", http.MethodGet
						if on {
							headers = wantHeaders[algorithm]
							if algorithm == Head {
								method = http.MethodHead
							}
						}
						if got := fmt.Sprint(rule.Headers(row)); got != headers {
							t.Errorf("headers %s, want %s", got, headers)
						}
						if got := rule.Method(row); got != method {
							t.Errorf("method %s, want %s", got, method)
						}
						if want := mode == Twice || on && algorithm == Head; rule.Second(row) != want {
							t.Errorf("Second() = %v", !want)
						}
						for _, a := range answers {
							want := true
							for _, c := range a.same {
								want = want && !(on && c == compare)
							}
							if got := rule.Verdict(row, a.a); got != want {
								t.Errorf("%s: changed = %v", a.name, got)
							}
						}
						for _, processed := range []bool{false, true} {
							status, keep := rule.Outcome(processed)
							want := int64(wire.StatusCrawled)
							if behavior == Processed && processed {
								want = wire.StatusProcessed
							}
							if status != want || keep != (behavior != KeepAndDate) {
								t.Errorf("outcome %d, %v", status, keep)
							}
						}
					})
				}
			}
		}
	}
}

// TestEmptyRows: a row without values to compare gets a single plain GET.
func TestEmptyRows(t *testing.T) {
	for compare := ByCode; compare <= ByLength; compare++ {
		rule := Rule{Both, Twice, compare, Keep}
		for name, row := range map[string]*wire.URL{
			"never crawled": {ETag: "a", LastModified: date, RawContentMd5: sum, Size: 10},
			"all empty":     {Crawled: 1},
		} {
			if rule.Headers(row) != nil || rule.Second(row) || rule.Method(row) != "GET" || !rule.Verdict(row, Answer{Code: 200}) {
				t.Errorf("%s, compare %d: not a plain GET", name, compare)
			}
		}
	}
	row := &wire.URL{Crawled: 1, ETag: "a\r\nX: y", LastModified: "1970-01-01 00:00:00"}
	if h := (Rule{Both, Once, ByCode, Keep}).Headers(row); h != nil {
		t.Errorf("headers %v", h)
	}
}

func TestETag(t *testing.T) {
	tests := []struct{ name, header, stored, sent string }{
		{"strong", `"abc"`, `abc`, `"abc"`},
		{"weak", `W/"abc"`, `W/abc`, `W/"abc"`},
		{"weak, lower case", `w/"abc"`, `W/abc`, `W/"abc"`},
		{"comma inside", `"a,b"`, `a,b`, `"a,b"`},
		{"several", `"a", "b"`, `a`, `"a"`},
		{"no quotes", `abc`, `abc`, `"abc"`},
		{"no quotes, several", `abc, def`, `abc`, `"abc"`},
		{"dashes and suffix", `"2f-5c8-1:gzip"`, `2f-5c8-1:gzip`, `"2f-5c8-1:gzip"`},
		{"strong tag like a weak one", `"W/abc"`, `"W/abc"`, `"W/abc"`},
		{"backslash is literal", `"a\b"`, `a\b`, `"a\b"`},
		{"spaces around", ` "abc" `, `abc`, `"abc"`},
		{"empty", `""`, ``, ``},
		{"weak and empty", `W/""`, ``, ``},
		{"no value", ``, ``, ``},
		{"asterisk", `*`, `*`, `"*"`},
		{"unterminated quote", `"abc`, ``, ``},
		{"space inside", `"a b"`, ``, ``},
		{"not ASCII", "\"caf\xe9\"", ``, ``},
		{"too long", `"` + strings.Repeat("x", 256) + `"`, ``, ``},
		{"maximum length", `"` + strings.Repeat("x", 255) + `"`, strings.Repeat("x", 255), `"` + strings.Repeat("x", 255) + `"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stored := ETag(http.Header{"Etag": {tt.header}})
			if stored != tt.stored || entityTag(stored) != tt.sent {
				t.Errorf("stored %q, sent %q; want %q, %q", stored, entityTag(stored), tt.stored, tt.sent)
			}
		})
	}
	for stored, want := range map[string]string{`W/"abc`: `W/"abc"`, `abc"`: `"abc"`, `"abc"`: `"abc"`, `"`: "", `""`: "", "W/": ""} {
		if got := entityTag(stored); got != want {
			t.Errorf("row %q is sent as %q, want %q", stored, got, want)
		}
	}
	if ETag(nil) != "" {
		t.Error("no header gives a tag")
	}
}

// TestServerAgrees sends the requests to the standard library's file server.
func TestServerAgrees(t *testing.T) {
	for _, tag := range []string{`"abc"`, `W/"abc"`, `"a,b"`, `"W/abc"`} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", tag)
			http.ServeContent(w, r, "x", moment(date), strings.NewReader("0123456789"))
		}))
		defer srv.Close()
		resp, err := http.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for algorithm := Both; algorithm <= Dates; algorithm++ {
			rule := Rule{algorithm, Once, ByCode, Keep}
			row := &wire.URL{Crawled: 1, ETag: ETag(resp.Header), LastModified: date}
			req, _ := http.NewRequest(rule.Method(row), srv.URL, nil)
			req.Header = rule.Headers(row)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if rule.Verdict(row, Answer{Code: resp.StatusCode, Length: -1}) {
				t.Errorf("%s, algorithm %d: code %d", tag, algorithm, resp.StatusCode)
			}
		}
	}
}

func TestRate(t *testing.T) {
	tests := []struct {
		name    string
		rate    float64
		counter int64
		changed bool
		want    float64
		count   int64
	}{
		{"first", 0, 0, true, 1, 1},
		{"first, unchanged", 0, 0, false, 0, 1},
		{"second, unchanged", 1, 1, false, 0.5, 2},
		{"fourth", 2.0 / 3, 3, true, 0.75, 4},
		{"not a number", math.NaN(), 7, true, 1, 1},
		{"infinite", math.Inf(1), 7, false, 0, 1},
		{"negative rate", -1, 7, true, 1, 1},
		{"negative counter", 0.5, -7, true, 1, 1},
		{"rate above 1", 9, 1, true, 1, 2},
		{"full counter", 1, math.MaxInt64, true, 1, maxCounter + 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rate, count := Rate(tt.rate, tt.counter, tt.changed)
			if math.Abs(rate-tt.want) > 1e-9 || count != tt.count {
				t.Errorf("%v, %d; want %v, %d", rate, count, tt.want, tt.count)
			}
		})
	}
}

// FuzzETag checks that every stored tag can be sent, and is stored again as the same.
func FuzzETag(f *testing.F) {
	for _, s := range []string{`"a"`, `W/"a"`, `"W/a"`, `a,b`, `"`, `W/`, "\"\x00\"", `""a`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stored := ETag(http.Header{"Etag": {text}})
		sent := entityTag(stored)
		if (stored == "") != (sent == "") {
			t.Fatalf("%q is stored as %q and sent as %q", text, stored, sent)
		}
		if stored != "" && ETag(http.Header{"Etag": {sent}}) != stored {
			t.Fatalf("%q is stored as %q, sent as %q, and that is stored as %q", text, stored, sent, ETag(http.Header{"Etag": {sent}}))
		}
		if trimmed := strings.TrimSpace(text); stored != "" && strings.HasPrefix(trimmed, `"`) && !strings.HasPrefix(trimmed, sent) {
			t.Fatalf("%q is sent as %q", text, sent)
		}
		_, _ = Parse(text)
		_ = entityTag(text)
	})
}
