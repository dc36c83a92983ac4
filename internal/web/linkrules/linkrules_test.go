package linkrules

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/schema"
)

var noon = time.Date(2024, 3, 5, 12, 30, 45, 0, time.UTC)

// must returns v and fails the test on an error.
func must[T any](t testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestXPaths(t *testing.T) {
	for _, c := range []struct {
		name, property, page string
		want                 []string
		builtin              bool
	}{
		{"one set", `{"sets": {"a\\.example": ["//a/@href"]}}`, "http://a.example/", []string{"//a/@href"}, false},
		{"no set matches", `{"sets": {"b": ["//a/@href"]}}`, "http://a.example/", nil, false},
		{"union of matching sets", `{"sets": {"": ["//a", "//b"], "x": ["//no"], "a": ["//b", "//c"]}, "mode": "0"}`, "http://a/", []string{"//a", "//b", "//c"}, false},
		{"built-in list added", `{"sets": {"": "//a"}, "mode": "1"}`, "http://a/", []string{"//a"}, true},
		{"built-in list without a matching set", `{"sets": {"x": "//a"}, "mode": 1}`, "http://a/", nil, true},
		{"no sets", `{}`, "http://a/", nil, false},
		{"date", `{"sets": {"": "//a[.='%@DATE(0)%']"}}`, "", []string{"//a[.='2024-03-05']"}, false},
		{"date in a format", `{"sets": {"": "%@DATE(+24)%"}, "date_format": "%d/%m %Y"}`, "", []string{"06/03 2024"}, false},
		{"negative hours", `{"sets": {"": "%@DAY(-13)% %@HOUR(-13)%"}}`, "", []string{"04 23"}, false},
		{"positive hours", `{"sets": {"": "%@DAY(+12)% %@HOUR(12)%"}}`, "", []string{"06 00"}, false},
		{"all macros", `{"sets": {"": "%@YEAR()%%@SHORTYEAR()%%@MONTH()%%@DAY()%%@HOUR()%%@MINUTE()%%@SECOND()%"}}`, "", []string{"202424030512" + "3045"}, false},
		{"invalid macros", `{"sets": {"": "%@DATE(+123)% %@WEEK(0)% %DATE%"}}`, "", []string{"%@DATE(+123)% %@WEEK(0)% %DATE%"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := must[*XPaths](t)(ParseXPaths(c.property))
			got, builtin := x.For(c.page, noon.In(time.FixedZone("", -7200)))
			if !slices.Equal(got, c.want) || builtin != c.builtin {
				t.Errorf("%q, %v", got, builtin)
			}
		})
	}
	var missing *XPaths
	if got, builtin := missing.For("", noon); got != nil || !builtin {
		t.Error("the built-in list does not apply without the property")
	}
}

func TestCollectLimits(t *testing.T) {
	l := must[ByURL[int64]](t)(ParseCollectLimits(`{"/NEWS/": [["MaxURLSFromPage", "5"], ["other", 7]], "": [["maxurls", 9]], "/news/top": ["MaxURLsFromPage", 2], "/all": [["", 0]]}`))
	for page, want := range map[string]int64{"http://a/news/": 9, "http://a/news/top": 2, "http://a/": 9, "http://a/all": 0} {
		if got := l.For(page); got == nil || *got != want {
			t.Errorf("%s: %v, want %d", page, got, want)
		}
	}
	l = must[ByURL[int64]](t)(ParseCollectLimits(`{"x": [["MaxURLSFromPage", 1]]}`))
	if l.For("http://a/") != nil {
		t.Error("the limit of another page applies")
	}
}

func TestURLLimits(t *testing.T) {
	links := []Candidate{
		{"http://a/1.html", "text/html; charset=utf-8"}, {"http://a/2.pdf", "application/pdf"},
		{"http://a/3.html", "text/html"}, {"http://b/4", ""}, {"http://a/5.html", "TEXT/HTML"},
	}
	for _, c := range []struct {
		name, property, want string // one digit for each link
		types                bool
	}{
		{"max_items", `{"max_items": "2"}`, "11000", false},
		{"max_items 0 means no limit", `{"max_items": 0}`, "11111", false},
		{"offset", `{"offset": 3}`, "00011", false},
		{"offset beyond the end", `{"offset": 5}`, "11111", false},
		{"offset and max_items", `[{"offset": 1, "max_items": 2}]`, "01100", false},
		{"URL mask", `{"root_url_mask": ["//A/"]}`, "11101", false},
		{"single text instead of a list", `{"root_url_mask": "//b/"}`, "00010", false},
		{"type mask does not match an unknown type", `{"content_type_mask": ["^text/html$"]}`, "10101", true},
		{"masks, offset and max_items", `{"root_url_mask": ["//a/"], "content_type_mask": ["html", "x"], "offset": 1, "max_items": 1}`, "00100", true},
		{"rules apply in sequence", `[{"root_url_mask": ["//a/"]}, {"max_items": 3}, {"offset": 1}]`, "01100", false},
		{"negative", `{"offset": -1, "max_items": -1}`, "11111", false},
		{"null", `null`, "11111", false},
		{"nothing matches", `{"root_url_mask": ["x"], "max_items": 9}`, "00000", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := must[URLLimits](t)(ParseURLLimits(c.property))
			got := ""
			for _, keep := range l.Keep(links) {
				got += map[bool]string{true: "1", false: "0"}[keep]
			}
			if got != c.want || l.NeedsContentTypes() != c.types {
				t.Errorf("%s, want %s; types %v", got, c.want, l.NeedsContentTypes())
			}
		})
	}
	var missing URLLimits
	if missing.NeedsContentTypes() || slices.Contains(missing.Keep(links), false) {
		t.Error("a missing property removes links")
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct {
		name, property, url, want string
		mask                      int64
		given                     bool
	}{
		{"only a mask", `4`, "http://a/", "http://a/", 4, true},
		{"mask as text", `"2"`, "http://a/", "http://a/", 2, true},
		{"replace", `{"mask": "1", "replace": [{"SESSION=\\w+": ""}, {"([?&])$": ""}]}`, "http://a/?session=9", "http://a/", 1, true},
		{"groups", `{"replace": [{"/(\\w+)/(\\d+)": "/\\2/\\1"}]}`, "/news/7", "/7/news", 0, false},
		{"single object", `{"replace": {"a": "b", "b": "c"}}`, "a", "c", 0, false},
		{"null", `null`, "a", "a", 0, false},
		{"result too long", `{"replace": {"a": "` + strings.Repeat("x", 9000) + `"}}`, "a", "a", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must[*Normalize](t)(ParseNormalize(c.property))
			mask, given := n.Mask()
			if got := n.Replace(c.url); got != c.want || mask != c.mask || given != c.given {
				t.Errorf("%q, mask %d %v", got, mask, given)
			}
		})
	}
}

func TestTemplate(t *testing.T) {
	for _, c := range []struct {
		template, url string
		quote         bool
		want          string
	}{
		{"http://p/?u=%URL%", "http://a/?b=c", false, "http://p/?u=http://a/?b=c"},
		{"http://p/?u=%URL%", "http://a/ü%20?b=c&d", true, "http://p/?u=http%3A%2F%2Fa%2F%C3%BC%2520%3Fb%3Dc%26d"},
		{"%URL%#%URL%", "%URL%", false, "%URL%#%URL%"},
		{"http://p/", "http://a/", true, "http://p/"},
		{"", "http://a/", true, "http://a/"},
	} {
		if got := Template(c.template, c.url, c.quote); got != c.want {
			t.Errorf("%q with %q: %q", c.template, c.url, got)
		}
	}
	if n := len(Template(strings.Repeat("%URL%", 1000), strings.Repeat("u", 8000), false)); n > 90000 {
		t.Errorf("%d bytes", n)
	}
}

func TestResolver(t *testing.T) {
	r := must[ByURL[Resolution]](t)(ParseResolver(`{"METHOD": "sget", "URL": ["^http://s/", {"METHOD": "DGET", "URL": "^http://d/", "MAX": "3"}, {"TYPES": "302"}]}`))
	all := []int{301, 302, 303, 304, 307, 308}
	for url, want := range map[string]Resolution{
		"http://s/": {"SGET", 10, all}, "http://d/": {"DGET", 3, all}, "http://x/": {"SGET", 10, []int{302}},
	} {
		if got := r.For(url); got == nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v", url, got)
		}
	}
	r = must[ByURL[Resolution]](t)(ParseResolver(`{"URL": ["^http://s/"], "MAX": 999}`))
	if got := r.For("http://s/"); got == nil || got.Method != MethodHead || got.Max != maxRedirects || r.For("http://x/") != nil {
		t.Errorf("defaults: %+v", got)
	}
	if r = must[ByURL[Resolution]](t)(ParseResolver(`{}`)); r.For("x") == nil {
		t.Error("the empty object does not resolve every link")
	}
	var missing ByURL[Resolution]
	if missing.For("x") != nil {
		t.Error("a missing property resolves links")
	}
}

func TestFetcherTypes(t *testing.T) {
	f := must[ByURL[int]](t)(ParseFetcherTypes(`{"^http://a/x": "2", "^http://a/y": 7, "^http://a/": 1}`))
	for url, want := range map[string]int{"http://a/x": 2, "http://a/y": 1} {
		if got := f.For(url); got == nil || *got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
	if f.For("http://b/") != nil {
		t.Error("another URL has a fetcher")
	}
}

func TestChain(t *testing.T) {
	c := must[*pyregexp.Regexp](t)(ParseChain(`{"url_pattern": "page=\\d+", "tags_name": ["content", "x"], "delimiter": "\n"}`))
	if !c.MatchString("http://a/?page=2") || c.MatchString("http://a/") {
		t.Errorf("%+v", c)
	}
	for _, off := range []string{"null", "{}", `{"url_pattern": null}`} {
		if c := must[*pyregexp.Regexp](t)(ParseChain(off)); c != nil {
			t.Errorf("property %s is not disabled", off)
		}
	}
}

func TestFieldsInit(t *testing.T) {
	site := &wire.Site{ID: "s", MaxURLs: 10}
	parent := wire.NewURL("s", "http://a/news/1")
	parent.Depth, parent.ContentType = 2, "text/html"
	for _, c := range []struct {
		name, property string
		want           schema.Patch
	}{
		{"always", `{"priority": {"value": "7", "conditions": [true]}}`, schema.Patch{"Priority": int64(7)}},
		{"no conditions", `{"Priority": {"value": 7}}`, schema.Patch{"Priority": int64(7)}},
		{"never", `{"priority": {"value": 7, "conditions": [false, "0"]}}`, schema.Patch{}},
		{"equal, as numbers", `{"priority": {"value": 7, "conditions": ["parent.depth == 2.0"]}}`, schema.Patch{"Priority": int64(7)}},
		{"not equal", `{"priority": {"value": 7, "conditions": ["parent.Depth <> 2", "parent.depth != 2"]}}`, schema.Patch{}},
		{"second holds", `{"priority": {"value": 7, "conditions": ["site.maxURLs == 1", "site.MaxURLs==10"]}}`, schema.Patch{"Priority": int64(7)}},
		{"text in quotes", `{"charset": {"value": "utf-8", "conditions": ["parent.contentType == 'text/html'"]}}`, schema.Patch{"Charset": "utf-8"}},
		{"search", `{"charset": {"value": "x", "conditions": ["parent.url search news/\\d"]}}`, schema.Patch{"Charset": "x"}},
		{"match only at the start", `{"charset": {"value": "x", "conditions": ["parent.url match news"]}}`, schema.Patch{}},
		{"match", `{"charset": {"value": "x", "conditions": ["parent.url match http"]}}`, schema.Patch{"Charset": "x"}},
		{"empty", `{"charset": {"value": "x", "conditions": ["parent.charset is empty"]}}`, schema.Patch{"Charset": "x"}},
		{"not empty", `{"charset": {"value": "x", "conditions": ["parent.url Is Empty"]}}`, schema.Patch{}},
		{"missing date is empty", `{"charset": {"value": "x", "conditions": ["parent.PDate is empty"]}}`, schema.Patch{"Charset": "x"}},
		{"date", `{"PDate": {"value": "2024-01-02"}, "CDate": {"value": "NOW()"}, "UDate": {"value": {"str": "NOW()"}}, "TcDate": {"value": null}}`,
			schema.Patch{"PDate": "2024-01-02 00:00:00", "CDate": schema.Expr("NOW()"), "UDate": schema.Expr("NOW()"), "TcDate": nil}},
		{"values fit", `{"type": {"value": 300}, "httpMethod": {"value": "abcdefghijklmnopqrst"}}`, schema.Patch{"Type": int64(255), "HTTPMethod": "abcdefghijklmnop"}},
		{"number with a fraction", `{"HTTPTimeout": {"value": "30000.5"}}`, schema.Patch{"HTTPTimeout": 30000.5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := must[FieldsInit](t)(ParseFieldsInit(c.property))
			if got := f.Patch(site, &parent); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%#v, want %#v", got, c.want)
			}
		})
	}
}

func TestRecrawlUpdates(t *testing.T) {
	r := must[ByURL[schema.Patch]](t)(ParseRecrawlUpdates(`{"/a": {"new": "1", "fields": {"Priority": "3", "UDate": "NOW()"}}, "/": {"new": 0}}`))
	if u := r.For("http://x/a"); u == nil || !reflect.DeepEqual(*u, schema.Patch{"Priority": int64(3), "UDate": schema.Expr("NOW()")}) {
		t.Errorf("%+v", u)
	}
	if u := r.For("http://x/"); u == nil || len(*u) > 0 {
		t.Errorf("%+v", u)
	}
	if r.For("x") != nil {
		t.Error("an update applies to a URL that no expression matches")
	}
}

// readers maps properties to their Parse functions.
var readers = map[string]func(text string) error{
	"COLLECT_URLS_XPATH_LIST": func(text string) error {
		x, err := ParseXPaths(text)
		if err == nil {
			x.For("http://a/", noon)
		}
		return err
	},
	"COLLECT_URLS_LIMITS": func(text string) error {
		l, err := ParseCollectLimits(text)
		if err == nil {
			l.For("http://a/")
		}
		return err
	},
	"URL_LIMITS": func(text string) error {
		l, err := ParseURLLimits(text)
		if err == nil {
			l.Keep([]Candidate{{"http://a/", "text/html"}, {"http://b/", ""}})
		}
		return err
	},
	"URL_NORMALIZE": func(text string) error {
		n, err := ParseNormalize(text)
		if err == nil {
			n.Replace("http://a/")
		}
		return err
	},
	"HTTP_REDIRECT_RESOLVER": func(text string) error {
		r, err := ParseResolver(text)
		if err == nil {
			r.For("http://a/")
		}
		return err
	},
	"FETCHER_TYPE": func(text string) error {
		f, err := ParseFetcherTypes(text)
		if err == nil {
			f.For("http://a/")
		}
		return err
	},
	"URL_CHAIN": func(text string) error {
		c, err := ParseChain(text)
		if err == nil && c != nil {
			c.MatchString("http://a/")
		}
		return err
	},
	"URLS_FIELDS_INIT": func(text string) error {
		f, err := ParseFieldsInit(text)
		if err == nil {
			f.Patch(&wire.Site{}, &wire.URL{})
		}
		return err
	},
	"RECRAWL_URL_UPDATE": func(text string) error {
		r, err := ParseRecrawlUpdates(text)
		if err == nil {
			r.For("http://a/")
		}
		return err
	},
}

func TestBrokenProperties(t *testing.T) {
	for _, c := range []struct{ property, text, says string }{
		{"COLLECT_URLS_XPATH_LIST", `{"sets": {"(": ["//a"]}}`, `has an invalid expression "("`},
		{"COLLECT_URLS_XPATH_LIST", `{"sets": {"a": [["//a"]]}}`, `expected a text`},
		{"COLLECT_URLS_XPATH_LIST", `{"mode": 2}`, `has 2 at "mode"; expected 0 or 1`},
		{"COLLECT_URLS_XPATH_LIST", `{"sets": [1]}`, `is not a JSON object`},
		{"COLLECT_URLS_XPATH_LIST", `{"sets": {"": "` + strings.Repeat("x", 5000) + `"}}`, `XPath of 5000 bytes`},
		{"COLLECT_URLS_LIMITS", `{"a": [["x"]]}`, `expected [option, number]`},
		{"COLLECT_URLS_LIMITS", `{"a": [["x", "y"]]}`, `expected a whole number`},
		{"COLLECT_URLS_LIMITS", `[]`, `is not a JSON object`},
		{"URL_LIMITS", `{"max_items": "x"}`, `expected a whole number`},
		{"URL_LIMITS", `"x"`, `expected an object`},
		{"URL_LIMITS", `{"root_url_mask": ["["]}`, `has an invalid expression`},
		{"URL_NORMALIZE", `"x"`, `expected a whole number`},
		{"URL_NORMALIZE", `{"replace": [{"(a)": "\\2"}]}`, `has a replacement with the group "2"`},
		{"URL_NORMALIZE", `{"replace": [1]}`, `is not a JSON object`},
		{"URL_NORMALIZE", `[]`, `expected a number`},
		{"HTTP_REDIRECT_RESOLVER", `{"METHOD": "GET"}`, `expected HEAD, SGET or DGET`},
		{"HTTP_REDIRECT_RESOLVER", `{"TYPES": [200]}`, `expected a code from 300 to 399`},
		{"HTTP_REDIRECT_RESOLVER", strings.Repeat(`{"URL":[`, 20) + strings.Repeat(`]}`, 20), `nested objects`},
		{"FETCHER_TYPE", `{"a": "x"}`, `expected a whole number`},
		{"URL_CHAIN", `{"url_pattern": ""}`, `has no expression`},
		{"URLS_FIELDS_INIT", `{"url": {"value": "x"}}`, `cannot be set`},
		{"URLS_FIELDS_INIT", `{"Site_Id": {"value": "x"}}`, `cannot be set`},
		{"URLS_FIELDS_INIT", `{"colour": {"value": "x"}}`, `which is not a field of a URL`},
		{"URLS_FIELDS_INIT", `{"type": {"value": "x"}}`, `expected a whole number`},
		{"URLS_FIELDS_INIT", `{"type": {}}`, `has no value for Type`},
		{"URLS_FIELDS_INIT", `{"type": {"value": 1, "conditions": ["depth > 1"]}}`, `has the condition`},
		{"URLS_FIELDS_INIT", `{"type": {"value": 1, "conditions": ["parent.colour == 1"]}}`, `whose field is unknown`},
		{"URLS_FIELDS_INIT", `{"PDate": {"value": "0001-01-01"}}`, `years 1000 to 9999`},
		{"URLS_FIELDS_INIT", `{"PDate": {"value": "20240101"}}`, `expected YYYY-MM-DD hh:mm:ss`},
		{"RECRAWL_URL_UPDATE", `{"a": {"fields": {"URLMd5": "x"}}}`, `cannot be set`},
		{"RECRAWL_URL_UPDATE", `{"a": 1}`, `has a number at "a"`},
		{"URL_CHAIN", `{"url_pattern": "a"} x`, `has more behind its JSON value`},
		{"FETCHER_TYPE", "", `is empty`},
		{"FETCHER_TYPE", `{"a": "` + strings.Repeat("x", maxText) + `"}`, `the limit is`},
		{"FETCHER_TYPE", `{` + strings.Repeat(`"a":1,`, 1001) + `"b":1}`, `has 1002 rules`},
	} {
		err := readers[c.property](c.text)
		if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 500 {
			t.Errorf("property %s of %.60s: %v, want %q", c.property, c.text, err, c.says)
		}
	}
}

func FuzzProperties(f *testing.F) {
	for _, text := range []string{
		`{"sets": {"a": ["//a[.='%@DATE(-1)%']"]}, "mode": 1, "date_format": "%Q%"}`,
		`{"a": [["x", 1]], "b": ["x", "2"]}`,
		`[{"root_url_mask": ["a"], "content_type_mask": "b", "offset": 1, "max_items": "2"}]`,
		`{"mask": 1, "replace": [{"(a)": "\\1"}]}`,
		`{"METHOD": "HEAD", "URL": ["a", {"URL": "b"}], "MAX": 3, "TYPES": [301]}`,
		`{"a": 1, "b": "2"}`,
		`{"url_pattern": "a", "tags_name": "x", "delimiter": ""}`,
		`{"priority": {"value": 1, "conditions": [true, "site.id is empty", "parent.url match 'a'"]}}`,
		`{"a": {"new": 1, "fields": {"UDate": {"str": "NOW()"}}}}`,
		`null`, `[null]`, `{"a": null}`, `4`, `""`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range readers {
			if err := read(text); err != nil && err.Error() == "" {
				t.Errorf("%s: empty error text", name)
			}
		}
	})
}
