package browser

import (
	"context"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/frontier/retry"
	"hce/dc/internal/wire/errormask"
)

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		in             float64
		limit, damping time.Duration
		fails          bool
	}{
		"the example":        {30000.5, 30 * time.Second, 5 * time.Second, false},
		"two digits":         {30000.12, 30 * time.Second, 12 * time.Second, false},
		"no damping":         {30000, 30 * time.Second, 0, false},
		"a leading zero":     {30000.05, 30 * time.Second, 5 * time.Second, false},
		"part of a second":   {1999, time.Second, 0, false},
		"less than a second": {10, time.Second, 0, false},
		"no room":            {5000.5, 0, 0, true},
		"many digits":        {30000.123456, 0, 0, true},
		"zero":               {0, 0, 0, true}, "negative": {-1, 0, 0, true},
		"not a number": {math.NaN(), 0, 0, true}, "endless": {math.Inf(1), 0, 0, true}, "huge": {1e300, 0, 0, true}, "tiny": {1e-300, 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			limit, damping, err := Limits(c.in)
			if limit != c.limit || damping != c.damping || (err != nil) != c.fails {
				t.Errorf("%v, %v, %v", limit, damping, err)
			}
		})
	}
}

func TestKindsHaveBits(t *testing.T) {
	for kind, want := range map[Kind]errormask.Mask{
		NameNotResolved: 1 << 5, TooManyRedirects: 1 << 17, ProxyConnect: 1 << 5, ConnectTimeout: 1 << 1, Blocked: 1 << 48,
		Empty: 1 << 3, Driver: 1 << 30, NotInstalled: 1 << 30, TimeOver: 1 << 1, MacroFailed: 1 << 53, Guard: 1<<58 | 1<<5,
		TooLarge: 1 << 8, BadURL: 1, Refused: 0, None: 0, BadRedirect: 1 << 7, BadResponse: 1 << 24, BadBody: 1 << 6, Connect: 1 << 5,
	} {
		if got := kind.Bits(); got != want {
			t.Errorf("%v: %v", kind, got.Names())
		}
	}
	for text, want := range map[string]Kind{"net::ERR_NAME_NOT_RESOLVED": NameNotResolved, "net::ERR_TUNNEL_CONNECTION_FAILED": Connect,
		"net::ERR_PROXY_CONNECTION_FAILED": ProxyConnect, "net::ERR_CONNECTION_RESET": Connect, "net::ERR_CONTENT_LENGTH_MISMATCH": BadBody, "net::ERR_EMPTY_RESPONSE": Connect, "net::ERR_CERT_DATE_INVALID": Connect, "": Connect} {
		if got, _ := netKind(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestCause(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault Fault
		want  retry.Cause
	}{
		{"reset", Fault{Kind: Connect, Err: netError("net::ERR_CONNECTION_RESET")}, retry.Reset},
		{"reset behind a redirect", Fault{Kind: Connect, Err: netError(reasonText("ConnectionReset"))}, retry.Reset},
		{"no way behind a redirect", Fault{Kind: Connect, Err: netError(reasonText("AddressUnreachable"))}, retry.Connect},
		{"HTTP/2", Fault{Kind: Connect, Err: netError("net::ERR_HTTP2_PROTOCOL_ERROR")}, retry.Reset},
		{"cut body", Fault{Kind: BadBody, Err: netError("net::ERR_INCOMPLETE_CHUNKED_ENCODING")}, retry.Cut},
		{"time-out", Fault{Kind: TimeOver}, retry.Timeout},
		{"certificate", Fault{Kind: Connect, Err: netError("net::ERR_CERT_DATE_INVALID")}, ""},
	} {
		if got := tt.fault.Cause(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	for reason, want := range map[string]Kind{"TimedOut": ConnectTimeout, "NameNotResolved": NameNotResolved, "BlockedByClient": Blocked, "BlockedByResponse": Blocked, "Failed": Connect} {
		if got, _ := netKind(reasonText(reason)); got != want {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

func TestParseMacro(t *testing.T) {
	one := func(items ...MacroItem) *Macro { return &Macro{Sets: []MacroSet{{Repeat: 1, Items: items}}} }
	for name, c := range map[string]struct {
		text string
		want *Macro
		err  string
	}{
		"a list":         {`[2, "3", "return 1"]`, one(MacroItem{Sleep: 2 * time.Second}, MacroItem{Sleep: 3 * time.Second}, MacroItem{Script: "return 1"}), ""},
		"one text":       {`"document.title"`, one(MacroItem{Script: "document.title"}), ""},
		"input":          {`["^//input[1]\tab\tcd", "^//input", "^//input\t"]`, one(MacroItem{Input: &Input{"//input[1]", []string{"ab", "cd"}}}, MacroItem{Input: &Input{XPath: "//input"}}, MacroItem{Input: &Input{XPath: "//input"}}), ""},
		"until":          {`["!0.5:7:a ? b : c"]`, one(MacroItem{Script: "a ? b : c", Loop: &Loop{Delay: time.Second / 2, Max: 7, Every: 1}}), ""},
		"until, checked": {`["!1:7:f(): 3 :g:2:x ? y : z"]`, one(MacroItem{Script: "f(): 3 :g", Loop: &Loop{Delay: time.Second, Max: 7, Every: 2, Check: "x ? y : z"}}), ""},
		"a negation":     {`["!document.x"]`, one(MacroItem{Script: "!document.x"}), ""},
		"loaded":         {`["https://a.test/x.js", "FILE:///x.js"]`, one(MacroItem{Load: "https://a.test/x.js"}, MacroItem{Load: "FILE:///x.js"}), ""},
		"an object": {`{"sets": [{"name": "n", "repeat": "2", "delay": "1.5", "items": "f()"}], "result_type": "3", "result_content_type": "Text/HTML"}`,
			&Macro{Result: ResultAuto, ContentType: "text/html", Sets: []MacroSet{{Repeat: 2, Delay: 1500 * time.Millisecond, Items: []MacroItem{{Script: "f()"}}}}}, ""},
		"empty items":      {`["", " "]`, one(), ""},
		"not JSON":         {`[`, nil, "is not valid JSON"},
		"empty":            {``, nil, "is empty"},
		"no sets":          {`{}`, nil, `has no "sets"`},
		"bad result type":  {`{"sets": [{}], "result_type": 4}`, nil, `has 4 at "result_type"; expected 0 to 3`},
		"bad repeat":       {`{"sets": [{"repeat": -1}]}`, nil, `at "sets", element 1, has -1 at "repeat"`},
		"bad delay":        {`{"sets": [{"delay": 1e9}]}`, nil, `at "sets", element 1, at "delay" has 1e+09`},
		"no XPath":         {`["^"]`, nil, "at item 1 has no XPath"},
		"a sleep too long": {`["99999999999999999999999"]`, nil, "at item 1 has"},
		"many runs":        {`["!1:99999999999999999999:f()"]`, nil, "at item 1 has 99999999999999999999 runs"},
		"an object item":   {`[{}]`, nil, "has {}; expected a text"},
		"too long":         {`["` + strings.Repeat("x", maxMacroText) + `"]`, nil, "has 1048580 bytes"},
		"too many":         {`[` + strings.Repeat("1,", maxMacroItems) + `1]`, nil, "has more than 10000 items"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseMacro(c.text)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, %v", got, err)
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("error %v", err)
			}
		})
	}
	page, m := SplitURL("http://a.test/#x###return 1")
	if page != "http://a.test/#x" || m.Sets[0].Items[0].Script != "return 1" {
		t.Errorf("%q, %+v", page, m)
	}
	if page, m := SplitURL("http://a.test/#x"); page != "http://a.test/#x" || m != nil {
		t.Errorf("%q, %+v", page, m)
	}
}

func FuzzParseMacro(f *testing.F) {
	for _, text := range []string{`[1, "!1:2:f():1:g()", "^//a\tb"]`, `{"sets": [{"items": ["x"], "repeat": 3}], "result_type": 1}`, `"x"`, `null`, `["!1:2:"]`, `{"sets": null}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMacro(text)
		if (m == nil) == (err == nil) {
			t.Fatalf("%+v, %v", m, err)
		}
		if m == nil {
			return
		}
		for _, set := range m.Sets {
			if set.Repeat < 0 || set.Delay < 0 {
				t.Errorf("set %+v", set)
			}
			for _, item := range set.Items {
				if item.Sleep < 0 || item.Loop != nil && (item.Loop.Every < 1 || item.Loop.Max < 0 || item.Loop.Delay < 0) {
					t.Errorf("item %+v", item)
				}
			}
		}
	})
}

func FuzzLimits(f *testing.F) {
	for _, n := range []float64{30000.5, 0, -1, 1e9, 999.999} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n float64) {
		limit, damping, err := Limits(n)
		if err == nil && (limit < time.Second || limit > maxLimit || damping < 0 || damping >= limit) {
			t.Errorf("%v: %v, %v", n, limit, damping)
		}
	})
}

func TestMacros(t *testing.T) {
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x.js")
	if err := os.WriteFile(outside, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	where := site(t, map[string]any{
		"/":      `<title>T</title><input id=i value=old><p>page</p><script>var n = 0</script>`,
		"/x.js":  func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(`"remote " + document.title`)) },
		"/next":  `<title>next</title><p>went on</p>`,
		"/large": func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, maxScript+1)) },
	})
	for name, c := range map[string]struct {
		macro string
		body  string // "" for the page
		kind  string
		urls  []string
	}{
		"an expression":     {`["document.title"]`, `["T"]`, "text/json", nil},
		"a function's body": {`["if (n == 0) return document.title"]`, `["T"]`, "text/json", nil},
		"an object, a list": {`["({a: 1})", "return [1, \"x\"]", "3", "return 7", "return null"]`, "", "", nil},
		"no result":         {`["document.body.append('changed')"]`, "", "", nil},
		"URLs":              {`{"sets": [{"items": ["return ['http://a.test/', 'http://b.test/']"]}], "result_type": 1}`, `["http://a.test/","http://b.test/"]`, "text/json", []string{"http://a.test/", "http://b.test/"}},
		"content":           {`{"sets": [{"items": ["'<b>x</b>'"]}], "result_type": 2, "result_content_type": "text/html"}`, `<b>x</b>`, "text/html", nil},
		"auto, one":         {`{"sets": [{"items": ["'x'"]}], "result_type": 3}`, `x`, "text/json", nil},
		"auto, several":     {`{"sets": [{"items": ["['x', 'y']"]}], "result_type": 3}`, `["x","y"]`, "text/json", []string{"x", "y"}},
		"repeated":          {`{"sets": [{"repeat": 3, "items": ["'n' + ++n"]}]}`, `["n1","n2","n3"]`, "text/json", nil},
		"until":             {`["!0:50:++n == 5", "'n' + n"]`, `["n5"]`, "text/json", nil},
		"until, checked":    {`["!0:50:n++:3:n >= 5", "'n' + n"]`, `["n6"]`, "text/json", nil},
		"until, never":      {`["!0:3:++n < 0", "'n' + n"]`, `["n3"]`, "text/json", nil},
		"input":             {`["^//input", "^//input\tab\tж", "document.getElementById('i').value"]`, `["abж"]`, "text/json", nil},
		"input, appended":   {`["^//input\tnew", "document.getElementById('i').value.includes('new') ? 'yes' : 'no'"]`, `["yes"]`, "text/json", nil},
		"a promise":         {`["new Promise(r => setTimeout(() => r('late'), 10))"]`, `["late"]`, "text/json", nil},
		"remote":            {`["` + where + `/x.js"]`, `["remote T"]`, "text/json", nil},
		"file":              {`["file://` + folder + `/title.js"]`, `["from file T"]`, "text/json", nil},
		"goes on":           {`["location = '/next'; 0", "document.title"]`, `["next"]`, "text/json", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMacro(c.macro)
			if err != nil {
				t.Fatal(err)
			}
			p := get(t, Request{URL: where + "/", Macro: m})
			switch {
			case name == "an object, a list":
				if string(p.Body) != `[{"a":1},1,"x"]` {
					t.Errorf("body %s", p.Body)
				}
			case c.body == "":
				wantText(t, p, "changed")
			case string(p.Body) != c.body || p.ContentType != c.kind || p.Rendered || !slices.Equal(p.MacroURLs, c.urls):
				t.Errorf("body %s, type %s, URLs %q", p.Body, p.ContentType, p.MacroURLs)
			}
		})
	}
	for name, macro := range map[string]string{
		"throws": `["throw new Error('no')"]`, "no syntax": `["a b c"]`, "no element": `["^//nothing\tx"]`, "no XPath": `["^///[\tx"]`,
		"forbidden address": `["http://10.0.0.1/x.js"]`, "not found": `["` + where + `/none.js"]`, "too large": `["` + where + `/large"]`,
		"outside": `["file://` + outside + `"]`, "outside by dots": `["file://` + folder + `/../macro.go"]`, "a folder": `["file://` + folder + `"]`, "no file": `["file://` + folder + `/none.js"]`,
		"too many items": `{"sets": [{"repeat": 100, "items": [` + strings.Repeat(`"1",`, 20) + `"1"]}]}`, "too many runs": `["!0:101:0"]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := ParseMacro(macro)
			if err != nil {
				t.Fatal(err)
			}
			wantFault(t, shared, Request{URL: where + "/", Macro: m}, MacroFailed)
		})
	}
	t.Run("disabled", func(t *testing.T) {
		t.Parallel()
		b := New(Config{Dial: func(context.Context, string, string) (net.Conn, error) { panic("dialled") }})
		defer b.Close()
		_, m := SplitURL("http://a.test/###1")
		if f := wantFault(t, b, Request{URL: "http://a.test/", Macro: m}, MacroFailed); !strings.Contains(f.Error(), "disabled") {
			t.Error(f)
		}
	})
	t.Run("endless", func(t *testing.T) {
		t.Parallel()
		_, m := SplitURL("x###while (true) {}")
		wantFault(t, shared, Request{URL: where + "/", Macro: m, Timeout: 3 * time.Second}, TimeOver)
	})
}
