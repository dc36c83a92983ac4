package proxypool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/wire"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"a.com:80":                      "http://a.com:80",
		" A.com:080/ ":                  "http://a.com:80",
		"http://a.com:8080":             "http://a.com:8080",
		"HTTPS://a.com:443":             "https://a.com:443",
		"socks5://a.com:1080":           "socks5://a.com:1080",
		"socks5h://a.com:1080":          "socks5://a.com:1080",
		"http://u:p@a.com:80":           "http://u:p@a.com:80",
		"u:p@a.com:80":                  "http://u:p@a.com:80",
		"http://u@a.com:80":             "http://u@a.com:80",
		"http://u:p@w:d@a.com:80":       "http://u:p%40w%3Ad@a.com:80",
		"http://u:p%40w@a.com:80":       "http://u:p%40w@a.com:80",
		"http://u:100%@a.com:80":        "http://u:100%25@a.com:80",
		"10.1.2.3:80":                   "http://10.1.2.3:80",
		"[2001:DB8::1]:80":              "http://[2001:db8::1]:80",
		"":                              "error host:port",
		"a.com":                         "error host:port",
		"a.com:":                        "error no port",
		"a.com:0":                       "error no port",
		"a.com:65536":                   "error no port",
		"a.com:-1":                      "error no port",
		"a.com:80:90":                   "error host:port",
		":80":                           "error no valid host",
		"a b:80":                        "error no valid host",
		"a.com/x:80":                    "error no valid host",
		"a..com:80":                     "error no valid host",
		"é.com:80":                      "error no valid host",
		"ftp://a.com:80":                "error unknown type",
		"http://u:p\x01@a.com:80":       "error control characters",
		"http://u:secret@a.com":         "error host:port",
		"x://u:secret@a.com:80":         "error unknown type",
		strings.Repeat("a", 2000):       "error 2000 bytes",
		strings.Repeat("a", 255) + ":1": "error no valid host",
	} {
		u, err := ParseAddress(text)
		switch problem, wrong := strings.CutPrefix(want, "error "); {
		case wrong && (err == nil || !strings.Contains(err.Error(), problem) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%.50q: %v, %v", text, u, err)
		case !wrong && (err != nil || u.String() != want):
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

func TestParse(t *testing.T) {
	s, err := Parse(`{"source":"1","file_path":" x ","tries_count":"3","status_update_empty_proxy_list":7,
		"status_update_no_available_proxy":"1","status_update_tries_limit":9,
		"proxies":{"b:1":{},"a:2":{"host":"https://u:p@c:3","domains":"x","priority":"5","state":0,"limits":{"x":1}},"d:4":null},
		"raw_content_check":{"patterns":["(?i)captcha","","^$x"],"rotate":0}}`)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(s.Used(), s.WithTable, s.Attempts(), s.StatusEmpty, s.StatusNone, s.StatusTries, s.filePath)
	for _, e := range s.entries {
		got += fmt.Sprint(" ", e.host, "=", e.address, " ", e.written, " ", e.priority, " ", e.state)
	}
	want := "true true 4 7 1 4x b:1=http://b:1 [] 10 1 a:2=https://u:p@c:3 [x] 5 0 d:4=http://d:4 [] 10 1"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for body, want := range map[string]string{"page": "false false", "a CAPTCHA": "false true", "": "false false"} {
		if rotate, fault := s.Rotates([]byte(body)); fmt.Sprint(rotate, fault) != want {
			t.Errorf("%q: %v %v", body, rotate, fault)
		}
	}

	s, err = Parse(`{"raw_content_check":{"patterns":"x"}}`)
	if rotate, fault := s.Rotates([]byte("x")); err != nil || !rotate || !fault || s.Attempts() != 2 || s.WithTable {
		t.Error(rotate, fault, s, err)
	}
	if s, _ = Parse(`{"tries_count":1e9}`); s.Attempts() != maxTries+1 {
		t.Error(s.Attempts())
	}
	if s, err = Parse(" null "); err != nil || s.Used() {
		t.Error("null is a proxy", err)
	}
	if s, _ = Parse(`{"tries_count":-4}`); s.Attempts() != 1 {
		t.Error(s.Attempts())
	}

	for text, want := range map[string]string{
		``:                                     "is empty",
		`[]`:                                   "is a JSON array; expected an object",
		`{"proxies":["a:1"]}`:                  "is not a JSON object",
		`{"proxies":{"a":{}}}`:                 `has the proxy address "a"; expected host:port`,
		`{"proxies":{"a:1":{"priority":"x"}}}`: `has "x"; expected a whole number`,
		`{"proxies":{"a:1":{"domains":"("}}}`:  "has a domain of a proxy that is not a regular expression",
		`{"raw_content_check":{"patterns":["("]}}`: "has a pattern that is not a regular expression",
	} {
		if s, err := Parse(text); err == nil || !strings.HasPrefix(err.Error(), want) || s.Used() {
			t.Errorf("%s: %v", text, err)
		}
	}
	var many strings.Builder
	for i := range maxProxies + 1 {
		fmt.Fprintf(&many, `,"a:%d":{}`, i+1)
	}
	if _, err := Parse(`{"proxies":{` + many.String()[1:] + `}}`); err == nil {
		t.Error("too many proxies are accepted")
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct{ host, port, want string }{
		{"", "80", "none"},
		{"a.com", "8080", "http://a.com:8080"},
		{"a.com:1", "8080", "http://a.com:1"},
		{"socks5://u:p@a.com", "1080", "socks5://u:p@a.com:1080"},
		{"a.com", "", "error"},
		{"a.com", "x", "error"},
	} {
		s, err := Fixed(c.host, c.port)
		got := "none"
		if err != nil {
			got = "error"
		} else if s.Used() {
			p, err := Open(s, "s", "", nil, Options{})
			if err != nil {
				t.Fatal(err)
			}
			picked, err := p.Pick(t.Context(), "https://x/", nil)
			if err != nil {
				t.Fatal(err)
			}
			got = picked.URL.String()
		}
		if got != c.want {
			t.Errorf("%s, %s: %s", c.host, c.port, got)
		}
	}
}

func TestParseAliveCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"method":0,"domain_name_resolve":1}`:           "true true false 500ms",
		`{"connect_resolve":"1","connection_timeout":2}`: "true true true 2s",
		`{}`:                          "false false false 500ms",
		`{"method":1}`:                "error has the unknown method 1",
		`{"connection_timeout":0}`:    "error has an invalid connection_timeout",
		`{"connection_timeout":1e9}`:  "error has an invalid connection_timeout",
		`{"domain_name_resolve":"x"}`: `error has "x"; expected 0 or 1`,
		`5`:                           "error is a JSON number; expected an object",
	} {
		c, err := ParseAliveCheck(text)
		got := fmt.Sprint(c.On(), c.Resolve, c.Connect, c.Timeout)
		if err != nil {
			got = "error " + err.Error()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func open(t *testing.T, text, base string, rows ...wire.Proxy) *Pool {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Open(s, "s", base, rows, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// picks returns the hosts of n separate picks.
func picks(t *testing.T, p *Pool, address string, n int) string {
	t.Helper()
	var list []string
	for range n {
		got, err := p.Pick(t.Context(), address, nil)
		if err != nil {
			return err.Error()
		}
		list = append(list, strings.TrimSuffix(got.Host, ":1"))
	}
	return strings.Join(list, " ")
}

func TestPick(t *testing.T) {
	const page = "https://www.example.com/x"
	for _, c := range []struct {
		name, proxies string
		n             int
		want          string
	}{
		{"empty", `{}`, 1, ErrEmpty.Error()},
		{"in turn", `{"b:1":{},"a:1":{}}`, 4, "b a b a"},
		{"priority", `{"a:1":{"priority":2},"b:1":{"priority":1}}`, 6, "b a b b a b"},
		{"priority 0", `{"a:1":{"priority":0},"b:1":{"priority":0}}`, 4, "a b a b"},
		{"disabled", `{"a:1":{"state":0},"b:1":{}}`, 2, "b b"},
		{"all disabled", `{"a:1":{"state":0}}`, 1, ErrNone.Error()},
		{"domain found in the URL", `{"a:1":{"domains":["example\\.(com|org)"]},"b:1":{"domains":["other"]}}`, 2, "a a"},
		{"star", `{"a:1":{"domains":["other","*"]}}`, 1, "a"},
		{"no domains", `{"a:1":{"domains":[]}}`, 1, "a"},
		{"other domain", `{"a:1":{"domains":["other"]}}`, 1, ErrNone.Error()},
	} {
		for kind, filePath := range map[string]string{"memory": "", "index": "x.json"} {
			p := open(t, `{"file_path":"`+filePath+`","proxies":`+c.proxies+`}`, t.TempDir())
			if got := picks(t, p, page, c.n); got != c.want {
				t.Errorf("%s (%s): %s, want %s", c.name, kind, got, c.want)
			}
		}
	}
}

func TestTried(t *testing.T) {
	p := open(t, `{"proxies":{"a:1":{},"b:1":{}}}`, "")
	tried := map[string]bool{}
	var got []string
	for {
		proxy, err := p.Pick(t.Context(), "http://x/", tried)
		if err != nil {
			got = append(got, err.Error())
			break
		}
		got = append(got, proxy.Host)
	}
	if text := strings.Join(got, " "); text != "a:1 b:1 "+ErrNone.Error() {
		t.Error(text)
	}
}

func TestFault(t *testing.T) {
	base := t.TempDir()
	const text = `{"file_path":"x/","source":1,"proxies":{"a:1":{"faultsMax":2},"b:1":{}}}`
	row := wire.Proxy{SiteID: "*", Host: "b:1", State: 1, FaultsMax: 1}
	p := open(t, text, base, row)
	count := func(host string) string {
		proxy, err := p.Fault(t.Context(), Proxy{Host: host})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(proxy.Faults, proxy.State, proxy.FaultsMax, proxy.RowSite)
	}
	got := count("a:1") + ", " + count("b:1") + ", " + count("a:1") + ", " + count("b:1")
	if want := "1 1 2, 1 1 0*, 2 0 2, 2 1 0*"; got != want { // the property's entry is not overwritten by the row
		t.Errorf("got %s, want %s", got, want)
	}
	if got := picks(t, p, "http://x/", 2); got != "b b" {
		t.Error(got)
	}
	if got := picks(t, open(t, text, base, row), "http://x/", 2); got != "b b" {
		t.Errorf("opened again: %s", got)
	}
	if got := count("other:1"); !strings.Contains(got, "not in this pool") {
		t.Error(got)
	}
}

// read returns the members of an index entry.
func read(t *testing.T, path, host string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(all[host], &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestPool(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "index.json")
	write(t, path, `{"i:1":{"host":"i:1","freq":"2","priority":1,"limits":{"x":[1]},"faultsMax":3},
		"name":{"host":"http://u:p@n.com:1","state":0}, "broken":{}, "b:1":5, "both:1":{"state":0},
		"old:1":{"source":"property"}, "oldrow:1":{"source":"table"}, "row:1":{"source":"table","state":0,"freq":4,"faults":3}}`)
	rows := []wire.Proxy{
		{SiteID: "s", Host: "row:1", State: 1, Priority: 3, Faults: 0, FaultsMax: 3},
		{SiteID: "*", Host: "both:1", State: 1},
		{SiteID: "other", Host: "other:1", State: 1},
		{SiteID: "s", Host: "off:1", State: 0},
		{SiteID: "s", Host: "bad", State: 1},
		{SiteID: "s", Host: "baddomains:1", State: 1, Domains: "["},
		{SiteID: "s", Host: "star:1", State: 1, Priority: 2, Domains: "*"},
		{SiteID: "s", Host: "list:1", State: 1, Priority: 1, Domains: `["example"]`},
	}
	const text = `{"source":1,"file_path":"index.json","proxies":{"both:1":{},"prop:1":{}}}`
	p := open(t, text, base, rows...)
	var got []string
	for _, e := range p.entries {
		got = append(got, fmt.Sprint(e.host, e.state, e.freq, e.rowSite))
	}
	if text, want := strings.Join(got, " "), "both:10 0* i:11 2 name0 0 row:11 4s prop:11 0 list:11 0s star:11 0s"; text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if got := picks(t, p, "http://example.com/", 7); got != "list star prop list i list star" {
		t.Error(got)
	}
	if got := fmt.Sprint(read(t, path, "i:1")); got != "map[faults:0 faultsMax:3 freq:3 host:i:1 limits:map[x:[1]] priority:1 state:1]" {
		t.Error(got)
	}
	if got := fmt.Sprint(read(t, path, "list:1")); got != "map[domains:[example] faults:0 faultsMax:0 freq:3 host:list:1 priority:1 source:table state:1]" {
		t.Error(got)
	}
	if got := fmt.Sprint(len(read(t, path, "old:1")), len(read(t, path, "oldrow:1"))); got != "1 1" {
		t.Errorf("entries that are not used are changed: %s", got)
	}

	// Without the table its rows are not used.
	p = open(t, `{"file_path":"index.json"}`, base, rows...)
	got = nil
	for _, e := range p.entries {
		got = append(got, e.host)
	}
	if text := strings.Join(got, " "); text != "both:1 i:1 name" {
		t.Error(text)
	}
}

// Two processes share the uses and faults of an index file.
func TestSharedIndex(t *testing.T) {
	base := t.TempDir()
	const text = `{"file_path":"x.json","proxies":{"a:1":{"faultsMax":1},"b:1":{},"c:1":{}}}`
	p, q := open(t, text, base), open(t, text, base)
	if got := picks(t, p, "http://x/", 1) + picks(t, q, "http://x/", 1) + picks(t, p, "http://x/", 1); got != "abc" {
		t.Error(got)
	}
	if _, err := p.Fault(t.Context(), Proxy{Host: "a:1"}); err != nil {
		t.Error(err)
	}
	if got := picks(t, q, "http://x/", 2); got != "b c" {
		t.Error(got)
	}
}

func TestFullPool(t *testing.T) {
	base := t.TempDir()
	var text strings.Builder
	for i := range maxProxies + 50 {
		fmt.Fprintf(&text, `,"a:%d":{}`, i+1)
	}
	write(t, filepath.Join(base, "x.json"), "{"+text.String()[1:]+"}")
	p := open(t, `{"file_path":"x.json","proxies":{"b:1":{}}}`, base)
	if len(p.entries) != maxProxies || p.leftOut != 51 {
		t.Errorf("%d proxies, %d left out", len(p.entries), p.leftOut)
	}
	if _, err := p.Pick(t.Context(), "http://x/", nil); err != nil {
		t.Error(err)
	}
}

func TestIndexPath(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "file"), "{}")
	write(t, filepath.Join(base, "dir.d", "x"), "")
	for filePath, want := range map[string]string{
		"":                          "",
		"x.json":                    "x.json",
		"a/x.json":                  "a/x.json",
		"file":                      "file",
		"new":                       "new/s.json",
		"new.d/":                    "new.d/s.json",
		"dir.d":                     "dir.d/s.json",
		".":                         "s.json",
		base:                        "s.json",
		filepath.Join(base, "x.js"): "x.js",
		"/etc/x.json":               "error leads out",
		"../x.json":                 "error leads out",
		"x.json.lock":               "error has in file_path a name that ends in .lock, which is reserved",
	} {
		path, err := indexPath(base, filePath, "s")
		problem, wrong := strings.CutPrefix(want, "error ")
		if wrong && (err == nil || !strings.Contains(err.Error(), problem) || path != "") {
			t.Errorf("%s: %s, %v", filePath, path, err)
		}
		if !wrong && want != "" {
			want = filepath.Join(base, want)
		}
		if !wrong && (err != nil || path != want) {
			t.Errorf("%s: %s, %v", filePath, path, err)
		}
	}
	s, _ := Parse(`{"file_path":"/etc/x.json","proxies":{"a:1":{}}}`)
	p, err := Open(s, "s", base, nil, Options{})
	if err == nil || picks(t, p, "http://x/", 2) != "a a" {
		t.Error("a pool without an index file does not work:", err)
	}
}

func TestAnIndexThatFails(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "file"), "")
	s, err := Parse(`{"file_path":"file/x.json","proxies":{"a:1":{"faultsMax":1},"b:1":{}}}`)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	p, err := Open(s, "s", base, nil, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if got := picks(t, p, "http://x/", 3); got != "a b a" || !strings.Contains(log.String(), "in memory only") {
		t.Error(got, log.String())
	}
	proxy, err := p.Fault(t.Context(), Proxy{Host: "a:1"})
	if err == nil || proxy.State != 0 {
		t.Error(proxy, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Pick(ctx, "http://x/", map[string]bool{"b:1": true}); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func FuzzProxySpec(f *testing.F) {
	for _, text := range []string{
		`{"source":1,"file_path":"x","tries_count":"2","proxies":{"a:1":{"domains":"*"},"socks5://u:p@b:2":{"priority":1}},"raw_content_check":{"patterns":["x"]}}`,
		`{"proxies":{"a:1":null}}`, `{"proxies":{"":{"host":"[::1]:5"}}}`, `{"proxies":[]}`, `{"raw_content_check":5}`, `null`,
	} {
		f.Add(text, "http://x/")
	}
	f.Fuzz(func(t *testing.T, text, address string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		s.Rotates([]byte(address))
		s.filePath = ""
		p, err := Open(s, "s", "", nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tried := map[string]bool{}
		for range s.Attempts() {
			proxy, err := p.Pick(context.Background(), address, tried)
			if err != nil {
				return
			}
			again, err := ParseAddress(proxy.URL.String())
			if err != nil || again.String() != proxy.URL.String() {
				t.Errorf("%s, then %v, %v", proxy.URL, again, err)
			}
			if _, err := p.Fault(context.Background(), proxy); err != nil {
				t.Error(err)
			}
		}
	})
}
