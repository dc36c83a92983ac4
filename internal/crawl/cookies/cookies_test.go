package cookies

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http/httpguts"
)

var noon = time.Date(2024, 3, 5, 12, 0, 0, 0, time.UTC)

func mustURL(t testing.TB, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestParseProperty(t *testing.T) {
	for _, c := range []struct {
		name, text, host string
		stage            Stage
		want             string
		ok               bool
	}{
		{"empty", "", "a.example.com", Page, "", true},
		{"text", " a=b; c=d\n", "a.example.com", Page, "a=b; c=d", true},
		{"text, every stage", "a=b", "x", Robots, "a=b", true},
		{"any domain", `{".*":{"cookie":"a=b"}}`, "x.example", Feed, "a=b", true},
		{"star is any domain", `{"*":{"cookie":"a=b"}}`, "x.example", Feed, "a=b", true},
		{"last two labels", `{"example.com":{"cookie":"a=b"},".*":{"cookie":"c=d"}}`, "www.EXAMPLE.com.", Page, "a=b", true},
		{"leading dot", `{".Example.com":{"cookie":"a=b"}}`, "www.example.com", Page, "a=b", true},
		{"registrable domain", `{"example.co.uk":{"cookie":"a=b"}}`, "www.example.co.uk", Page, "a=b", true},
		{"last two labels of it", `{"co.uk":{"cookie":"a=b"}}`, "www.example.co.uk", Page, "a=b", true},
		{"the nearest wins", `{"example.com":{"cookie":"a=b"},"www.example.com":{"cookie":"c=d"}}`, "www.example.com", Page, "c=d", true},
		{"other domain", `{"example.com":{"cookie":"a=b"}}`, "example.org", Page, "", true},
		{"not by a part of a label", `{"example.com":{"cookie":"a=b"}}`, "badexample.com", Page, "", true},
		{"one label is no parent", `{"com":{"cookie":"a=b"}}`, "example.com", Page, "", true},
		{"one label", `{"localhost":{"cookie":"a=b"}}`, "localhost", Page, "a=b", true},
		{"address", `{"10.1.2.3":{"cookie":"a=b"}}`, "10.1.2.3", Page, "a=b", true},
		{"part of an address", `{"2.3":{"cookie":"a=b"}}`, "10.1.2.3", Page, "", true},
		{"address 6", `{"[2001:db8::1]":{"cookie":"a=b"}}`, "[2001:db8::1]", Page, "a=b", true},
		{"stage", `{".*":{"stage":6,"cookie":"a=b"}}`, "x", Robots, "a=b", true},
		{"stage in quotes", `{".*":{"stage":"6","cookie":"a=b"}}`, "x", Page, "a=b", true},
		{"other stage", `{".*":{"stage":6,"cookie":"a=b"}}`, "x", Links, "", false},
		{"stage 0", `{".*":{"stage":0,"cookie":"a=b"}}`, "x", Page, "", false},
		{"the domain forbids what any allows", `{"example.com":{"stage":4},".*":{"cookie":"a=b"}}`, "example.com", Page, "", false},
		{"no cookie", `{"example.com":{"stage":2}}`, "example.com", Page, "", true},
		{"text for the object", `{"example.com":"a=b"}`, "example.com", Page, "a=b", true},
		{"number as text", `{".*":{"cookie":5}}`, "x", Page, "5", true},
		{"the last of equal names", `{".*":"a=b",".*":"c=d"}`, "x", Page, "c=d", true},
	} {
		p, err := ParseProperty(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, ok := p.Text(c.stage, c.host); got != c.want || ok != c.ok {
			t.Errorf("%s: %q, %v", c.name, got, ok)
		}
	}
}

func TestParsePropertyErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":`:                           "is not valid JSON",
		`{"a":[1]}`:                       `has for the domain "a" an entry that has [1]; expected a text`,
		`{"a":{"stage":"x"}}`:             `has for the domain "a" an entry that has "x"; expected a whole number`,
		`{"a":{"stage":-1}}`:              `has for the domain "a" an entry that has -1 at "stage"`,
		`{"a":"b\r\nSet-Cookie: c"}`:      "line breaks",
		"a=b\r\nHost: x":                  "line breaks",
		"a=" + strings.Repeat("b", 20000): "has a cookie text of 20002 bytes",
	} {
		p, err := ParseProperty(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
		if got, ok := p.Text(Page, "a"); got != "" || !ok {
			t.Errorf("%.40q sends %q", text, got)
		}
	}
	var many strings.Builder
	for i := range maxDomains + 1 {
		fmt.Fprintf(&many, `,"d%d":"a=b"`, i)
	}
	if _, err := ParseProperty("{" + many.String()[1:] + "}"); err == nil {
		t.Error("too many domains are accepted")
	}
}

// one is a response with Set-Cookie lines, then a request to another URL.
type one struct {
	name, from string
	lines      string // separated by |
	to         string
	after      time.Duration
	want       string
}

func TestJar(t *testing.T) {
	const site = "http://www.example.com/a/b"
	for _, c := range []one{
		{"same host", site, "a=1", "http://www.example.com/a/c", 0, "a=1"},
		{"host only", site, "a=1", "http://x.www.example.com/a/c", 0, ""},
		{"domain", site, "a=1; Domain=example.com", "http://x.example.com/a/b", 0, "a=1"},
		{"domain with a dot", site, "a=1; Domain=.EXAMPLE.com", "http://example.com/a/b", 0, "a=1"},
		{"domain must match whole labels", site, "a=1; domain=example.com", "http://badexample.com/a/b", 0, ""},
		{"foreign domain", site, "a=1; Domain=example.org", "http://example.org/a/b", 0, ""},
		{"domain below", site, "a=1; Domain=x.www.example.com", "http://x.www.example.com/a/b", 0, ""},
		{"public suffix", site, "a=1; Domain=com", "http://other.com/a/b", 0, ""},
		{"public suffix of two labels", "http://a.co.uk/", "a=1; Domain=co.uk", "http://b.co.uk/", 0, ""},
		{"the suffix itself is a host", "http://github.io/", "a=1; Domain=github.io", "http://github.io/", 0, "a=1"},
		{"the suffix itself, below it", "http://github.io/", "a=1; Domain=github.io", "http://x.github.io/", 0, ""},
		{"address", "http://10.1.2.3/", "a=1; Domain=10.1.2.3", "http://10.1.2.3:80/", 0, "a=1"},
		{"part of an address", "http://10.1.2.3/", "a=1; Domain=2.3", "http://10.1.2.3/", 0, ""},
		{"address 6", "http://[2001:db8::1]/", "a=1", "http://[2001:db8::1]:8080/", 0, "a=1"},
		{"ports share", "http://example.com:81/", "a=1", "http://example.com:82/", 0, "a=1"},
		{"final dot", "http://example.com./", "a=1", "http://example.com/", 0, "a=1"},
		{"empty domain", site, "a=1; Domain=", "http://www.example.com/a/", 0, "a=1"},

		{"default path", site, "a=1", "http://www.example.com/b", 0, ""},
		{"default path must match whole names", site, "a=1", "http://www.example.com/ab", 0, ""},
		{"default path of the root", "http://example.com", "a=1", "http://example.com/x/y", 0, "a=1"},
		{"path", site, "a=1; Path=/", "http://www.example.com/b", 0, "a=1"},
		{"path itself", site, "a=1; path=/b", "http://www.example.com/b", 0, "a=1"},
		{"path with a slash at its end", site, "a=1; Path=/b/", "http://www.example.com/b", 0, ""},
		{"path without a slash", site, "a=1; Path=b", "http://www.example.com/a/x", 0, "a=1"},
		{"the last attribute counts", site, "a=1; Path=/b; Path=/c", "http://www.example.com/c", 0, "a=1"},
		{"escaped path", site, "a=1; Path=/%62", "http://www.example.com/%62/x", 0, "a=1"},

		{"secure", "https://e.com/", "a=1; Secure", "https://e.com/", 0, "a=1"},
		{"secure cookie over http", "https://e.com/", "a=1; secure=x", "http://e.com/", 0, ""},
		{"secure cookie set over http", "http://e.com/", "a=1; Secure", "https://e.com/", 0, ""},
		{"__Secure-", "https://e.com/", "__Secure-a=1; Secure", "https://e.com/", 0, "__Secure-a=1"},
		{"__Secure- without Secure", "https://e.com/", "__secure-a=1", "https://e.com/", 0, ""},
		{"__Host-", "https://e.com/", "__Host-a=1; Secure; Path=/", "https://e.com/", 0, "__Host-a=1"},
		{"__Host- with a domain", "https://e.com/", "__Host-a=1; Secure; Path=/; Domain=e.com", "https://e.com/", 0, ""},
		{"__Host- of a folder", "https://e.com/x/", "__Host-a=1; Secure", "https://e.com/x/", 0, ""},
		{"a prefix in the value", "https://e.com/", "=__Secure-a=1; Secure", "https://e.com/", 0, ""},

		{"session", site, "a=1; Path=/", site, SessionAge - 1, "a=1"},
		{"session is over", site, "a=1; Path=/", site, SessionAge, ""},
		{"max-age", site, "a=1; Max-Age=60", site, time.Minute - 1, "a=1"},
		{"max-age is over", site, "a=1; Max-Age=60", site, time.Minute, ""},
		{"max-age without end", site, "a=1; Max-Age=99999999999999999999", site, maxAge - 1, "a=1"},
		{"max-age is bounded", site, "a=1; Max-Age=99999999999999999999", site, maxAge, ""},
		{"max-age 0", site, "a=1|a=1; Max-Age=0", site, 0, ""},
		{"max-age below 0", site, "a=1|a=1; Max-Age=-5", site, 0, ""},
		{"invalid max-age", site, "a=1; Max-Age=1h", site, 2 * time.Hour, "a=1"},
		{"max-age wins", site, "a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", site, 0, "a=1"},
		{"expires", site, "a=1; Expires=Tue, 05 Mar 2024 13:00:00 GMT", site, time.Hour - 1, "a=1"},
		{"expires is over", site, "a=1; Expires=Tue, 05 Mar 2024 13:00:00 GMT", site, time.Hour, ""},
		{"removed", site, "a=1|a=; expires=Thu, 01-Jan-1970 00:00:01 GMT", site, 0, ""},
		{"set again", site, "a=1|a=; Max-Age=0|a=2", site, 0, "a=2"},
		{"invalid expires", site, "a=1; Expires=soon", site, time.Hour, "a=1"},

		{"order", site, "a=1; Path=/|b=2; Path=/a|c=3; Path=/a/b", site, 0, "c=3; b=2; a=1"},
		{"same name, other path", site, "a=1; Path=/|a=2; Path=/a", site, 0, "a=2; a=1"},
		{"replaced", site, "a=1|a=2", site, 0, "a=2"},
		{"no name", site, "x", site, 0, "x"},
		{"no name but a sign", site, "=x", site, 0, "x"},
		{"no value", site, "x=", site, 0, "x="},
		{"nothing", site, "|=|; Path=/| ;", site, 0, ""},
		{"signs of equality", site, "a==b=c", site, 0, "a==b=c"},
		{"JSON", site, `a={"b": [1, 2]}`, site, 0, `a={"b": [1, 2]}`},
		{"letters beyond ASCII", site, "a=é", site, 0, "a=é"},
		{"invalid UTF-8", site, "a=\xff", site, 0, ""},
		{"control characters", site, "a=\x01|b\x7f=1|c=\r\n", site, 0, ""},
		{"spaces", site, "  a  =  1 2  ; Path=/", site, 0, "a=1 2"},
		{"largest", site, "a=" + strings.Repeat("x", 4095), site, 0, "a=" + strings.Repeat("x", 4095)},
		{"too large", site, "a=" + strings.Repeat("x", 4096), site, 0, ""},
		{"path with invalid UTF-8 is ignored", site, "a=1; Path=/\xff", site, 0, "a=1"},
		{"long path is passed over", site, "a=1; Path=/" + strings.Repeat("x", 2000), site, 0, "a=1"},
	} {
		j := newJar()
		j.SetCookies(mustURL(t, c.from), http.Header{"Set-Cookie": strings.Split(c.lines, "|")}, noon)
		if got := j.Header(Property{}, mustURL(t, c.to), Page, noon.Add(c.after)); got != c.want {
			t.Errorf("%s: %.60q, want %.60q", c.name, got, c.want)
		}
	}
}

func TestOpenConnectionsLeaveSecureCookies(t *testing.T) {
	j := newJar()
	set(t, j, "https://www.example.com/", "a=1; Secure; Path=/x; Domain=example.com", noon)
	set(t, j, "http://www.example.com/", "a=2; Path=/x/y", noon)
	set(t, j, "http://example.com/", "a=2; Path=/x", noon)
	set(t, j, "http://www.example.com/", "a=3; Path=/", noon)
	if got := j.Header(Property{}, mustURL(t, "https://www.example.com/x/y"), Page, noon); got != "a=1; a=3" {
		t.Error(got)
	}
}

func set(t testing.TB, j *Jar, from, line string, now time.Time) {
	t.Helper()
	j.SetCookies(mustURL(t, from), http.Header{"Set-Cookie": {line}}, now)
}

func TestParseDate(t *testing.T) {
	for text, want := range map[string]string{
		"Sun, 06 Nov 1994 08:49:37 GMT":     "1994-11-06 08:49:37",
		"Sunday, 06-Nov-94 08:49:37 GMT":    "1994-11-06 08:49:37",
		"Sun Nov  6 08:49:37 1994":          "1994-11-06 08:49:37",
		"Wed, 9 Jun 2021 1:2:3 UTC":         "2021-06-09 01:02:03",
		"9 june 21 01:02:03":                "2021-06-09 01:02:03",
		"01:02:03 9th September 2021":       "2021-09-09 01:02:03",
		"Thu, 29 Feb 2024 00:00:00 GMT":     "2024-02-29 00:00:00",
		"Wed, 29 Feb 2023 00:00:00 GMT":     "",
		"Wed, 31 Dec 9999 23:59:59 GMT":     "9999-12-31 23:59:59",
		"Wed, 31 Dec 1600 23:59:59 GMT":     "",
		"Wed, 31 Dec 2024 24:00:00 GMT":     "",
		"Wed, 31 Dec 2024":                  "",
		"Dec 2024 00:00:00":                 "",
		"31 2024 00:00:00":                  "",
		"":                                  "",
		"1700000000":                        "",
		strings.Repeat("1:2:3 ", 100) + "1": "",
	} {
		at, ok := parseDate(text)
		got := ""
		if ok {
			got = at.Format("2006-01-02 15:04:05")
		}
		if got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func TestHeaderMergesTheProperty(t *testing.T) {
	j := newJar()
	u := mustURL(t, "http://www.example.com/")
	j.SetCookies(u, http.Header{"Set-Cookie": {"b=jar", "a=jar", "free"}}, noon)
	for text, want := range map[string]string{
		"":                                  "b=jar; a=jar; free",
		"a=own":                             "a=own; b=jar; free",
		"a=own; b = x;":                     "a=own; b = x; free",
		`{"example.org":"a=own"}`:           "b=jar; a=jar; free",
		`{"example.com":{"stage":13}}`:      "",
		`{"example.com":{"stage":2}}`:       "b=jar; a=jar; free",
		`{".*":{"stage":2,"cookie":"c=1"}}`: "c=1; b=jar; a=jar; free",
	} {
		p, err := ParseProperty(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := j.Header(p, u, Page, noon); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	// The first request, with an empty jar (F17).
	p, _ := ParseProperty("a=own")
	if got := newJar().Header(p, u, Page, noon); got != "a=own" {
		t.Error(got)
	}
}

func TestFloods(t *testing.T) {
	j := newJar()
	u := mustURL(t, "http://www.example.com/")
	var lines []string
	for i := range 1000 {
		lines = append(lines, fmt.Sprintf("n%04d=%s", i, strings.Repeat("x", 4000)))
	}
	j.SetCookies(u, http.Header{"Set-Cookie": lines}, noon)
	if len(j.cookies) != maxPerOwner || len(j.changed) != maxPerOwner {
		t.Errorf("%d cookies, %d changed", len(j.cookies), len(j.changed))
	}
	if got := j.Header(Property{}, u, Page, noon); len(got) > maxLine || len(got) < maxLine/2 {
		t.Errorf("a line of %d bytes", len(got))
	}
	set(t, j, u.String(), "last=1", noon.Add(time.Second))
	for i := range 60 {
		set(t, j, fmt.Sprintf("http://h%d.example.com/", i), "a=1", noon)
	}
	if got := j.Header(Property{}, u, Page, noon.Add(time.Second)); !strings.Contains(got, "last=1") || len(j.cookies) != maxPerOwner {
		t.Errorf("%d cookies, the newest is lost", len(j.cookies))
	}
	for i := range 4000 {
		set(t, j, fmt.Sprintf("http://d%d.com/", i), "a="+strings.Repeat("x", i%4000), noon.Add(time.Duration(i)*time.Minute))
	}
	if len(j.cookies) > maxPerJar || j.bytes > maxBytes || len(j.changed) > len(j.cookies) {
		t.Errorf("%d cookies of %d bytes, %d changed", len(j.cookies), j.bytes, len(j.changed))
	}
	bytes := 0
	for _, c := range j.cookies {
		bytes += c.size()
	}
	if bytes != j.bytes {
		t.Errorf("counted %d bytes, are %d", j.bytes, bytes)
	}
}

// jars opens the jars of dir with a stopped clock.
func openAt(dir string, now *time.Time) *Jars {
	return Open(dir, Options{Now: func() time.Time { return *now }})
}

func save(t *testing.T, js *Jars) {
	t.Helper()
	if err := js.Save(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSave(t *testing.T) {
	dir, now := t.TempDir(), noon
	a, b := openAt(dir, &now), openAt(dir, &now)
	const at = "https://example.com/"
	u := mustURL(t, at)
	line := func(js *Jars) string { return js.Site("s").Header(Property{}, u, Page, now) }
	a.Site("s")
	b.Site("s")

	set(t, a.Site("s"), at, "x=a", now)
	now = now.Add(time.Second)
	set(t, b.Site("s"), at, "x=b", now)
	set(t, b.Site("s"), at, "y={\"<é>\"}", now)
	save(t, b)
	save(t, a) // the later in time wins, not the later to save
	if got := line(a); got != "x=b; y={\"<é>\"}" {
		t.Errorf("a has %q", got)
	}
	if got := line(openAt(dir, &now)); got != "x=b; y={\"<é>\"}" {
		t.Errorf("the file has %q", got)
	}

	// A removed cookie stays removed even if another process has set it before.
	set(t, a.Site("s"), at, "x=again", now)
	now = now.Add(time.Second)
	set(t, b.Site("s"), at, "x=; Max-Age=0", now)
	save(t, b)
	save(t, a)
	if got := line(a) + "|" + line(openAt(dir, &now)); got != "y={\"<é>\"}|y={\"<é>\"}" {
		t.Error(got)
	}
	if got := openAt(dir, &now).Site("other").Header(Property{}, u, Page, now); got != "" {
		t.Errorf("another site has %q", got)
	}

	// After SessionAge neither is left.
	now = now.Add(2 * SessionAge)
	set(t, a.Site("s"), at, "z=1", now)
	save(t, a)
	text, err := os.ReadFile(filepath.Join(dir, "s.json"))
	if err != nil || strings.Count(string(text), `"name"`) != 1 {
		t.Errorf("%s, %v", text, err)
	}
	before, _ := os.Stat(filepath.Join(dir, "s.json"))
	save(t, a)
	if after, _ := os.Stat(filepath.Join(dir, "s.json")); !os.SameFile(before, after) {
		t.Error("saved without a change")
	}
}

func TestAFailedSaveIsTriedAgain(t *testing.T) {
	parent, now := t.TempDir(), noon
	dir := filepath.Join(parent, "cookies")
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file in the place of the folder
		t.Fatal(err)
	}
	js := openAt(dir, &now)
	set(t, js.Site("s"), "http://e.com/", "a=1", now)
	if err := js.Save(t.Context()); err == nil {
		t.Error("saved into a file")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	save(t, js)
	if got := openAt(dir, &now).Site("s").Header(Property{}, mustURL(t, "http://e.com/"), Page, now); got != "a=1" {
		t.Error(got)
	}
}

func TestFilesChangedByHand(t *testing.T) {
	dir, now := t.TempDir(), noon
	for content, want := range map[string]string{
		`{`:    "",
		`null`: "",
		`{"cookies":[{"name":"a","value":"b\r\nX: y","domain":"e.com","path":"/","expires":"2025-01-01T00:00:00Z"}]}`:                                   "",
		`{"cookies":[{"name":"a","value":"b","domain":"E.com","path":"/","expires":"2025-01-01T00:00:00Z"}]}`:                                           "",
		`{"cookies":[{"name":"a","value":"b","domain":"e.com","path":"","expires":"2025-01-01T00:00:00Z"}]}`:                                            "",
		`{"cookies":[{"name":"a","value":"b","domain":"e.com","path":"/","expires":"2024-01-01T00:00:00Z"}]}`:                                           "",
		`{"cookies":[{"name":"a","value":"b","domain":"e.com","path":"/","set":"9024-01-01T00:00:00Z","expires":"9025-01-01T00:00:00Z"},{"name":"c"}]}`: "a=b",
	} {
		if err := os.WriteFile(filepath.Join(dir, "s.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		js := openAt(dir, &now)
		if got := js.Site("s").Header(Property{}, mustURL(t, "http://e.com/"), Page, now); got != want {
			t.Errorf("%s: %q", content, got)
		}
		set(t, js.Site("s"), "http://e.com/", "a=new", now) // also over what lay ahead of the clock
		save(t, js)
		if got := openAt(dir, &now).Site("s").Header(Property{}, mustURL(t, "http://e.com/"), Page, now); !strings.Contains(got, "a=new") {
			t.Errorf("%s: then %q", content, got)
		}
	}
}

func TestMemoryOnly(t *testing.T) {
	js := Open("", Options{})
	set(t, js.Site("s"), "http://e.com/", "a=1", time.Now())
	save(t, js)
	if got := js.Site("s").Header(Property{}, mustURL(t, "http://e.com/"), Page, time.Now()); got != "a=1" {
		t.Error(got)
	}
}

func FuzzProperty(f *testing.F) {
	for _, text := range []string{"a=b; c=d", `{".*":{"stage":15,"cookie":"a=b"}}`, `{"example.com":{"stage":"2"}}`, `{"a":"b"}`, `{"a":[]}`, "{", "\r\n"} {
		f.Add(text, "www.example.com")
	}
	f.Fuzz(func(t *testing.T, text, host string) {
		p, err := ParseProperty(text)
		for _, stage := range []Stage{Links, Page, Robots, Feed} {
			got, ok := p.Text(stage, host)
			if err != nil && (got != "" || !ok) {
				t.Errorf("broken %q sends %q", text, got)
			}
			if !httpguts.ValidHeaderFieldValue(got) {
				t.Errorf("%q cannot be sent", got)
			}
		}
	})
}

func FuzzSetCookie(f *testing.F) {
	for _, line := range []string{"a=1; Domain=example.com; Path=/; Secure; Max-Age=5", "x; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "=;=;", "__Host-a=1; Path=/", "a=\xff", "a=" + strings.Repeat(";", 100)} {
		f.Add("https://www.example.com/a/b", line, "http://example.com/")
	}
	f.Fuzz(func(t *testing.T, from, line, to string) {
		source, err := url.Parse(from)
		if err != nil {
			return
		}
		target, err := url.Parse(to)
		if err != nil {
			return
		}
		j := newJar()
		j.SetCookies(source, http.Header{"Set-Cookie": {line, line}}, noon)
		if got := j.Header(Property{}, target, Page, noon); !httpguts.ValidHeaderFieldValue(got) || len(got) > maxLine {
			t.Errorf("%q cannot be sent", got)
		}
		if len(j.cookies) > 1 {
			t.Errorf("%d cookies of one line", len(j.cookies))
		}
		kept := newJar()
		kept.mergeFile(j.fileContent(noon), noon)
		if len(kept.cookies) != len(j.cookies) {
			t.Errorf("a file loses a cookie of %q", line)
		}
	})
}
