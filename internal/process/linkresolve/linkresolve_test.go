package linkresolve

import (
	"strings"
	"testing"
)

func TestMethods(t *testing.T) {
	r, err := Parse(`{"method":{"^https?://t\\.example/":"get","\\.php":" HEAD ","example":"GET"}}`)
	if err != nil {
		t.Fatal(err)
	}
	for link, want := range map[string]string{
		"http://t.example/a.php": Get, "http://other.test/a.php": Head, "http://an.example/b": Get, "http://other.test/": Head,
	} {
		if got := r.Method(link); got != want {
			t.Errorf("%s: %s, want %s", link, got, want)
		}
	}
	if r, err := Parse(`{}`); err != nil || r == nil || r.Method("http://a.test/") != Head {
		t.Errorf("an empty object: %v, %v", r, err)
	}
	for text, want := range map[string]string{
		`[]`:                             "is a JSON array; expected an object",
		`{"method":{"(":"GET"}}`:         `has the invalid expression "("`,
		`{"method":{"a":"POST"}}`:        `has method "POST" for "a"; expected HEAD or GET`,
		`{"method":{"a":["GET"]}}`:       `has method ["GET"] for "a"; expected HEAD or GET`,
		`{"method":{` + many(101) + `}}`: "has 101 expressions",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
}

func many(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = `"` + strings.Repeat("a", i+1) + `":"GET"`
	}
	return strings.Join(list, ",")
}

func TestReplace(t *testing.T) {
	const base = "http://page.test/dir/"
	for value, want := range map[string]string{
		"":                                 "",
		"http://t.example/1":               "<http://t.example/1>",
		"http://t.example/1,https://b.c/2": "<http://t.example/1>,<https://b.c/2>",
		"http://t.example/1, http://b.c/2": "<http://t.example/1>,<http://b.c/2>",
		"http://t.example/a,b,c":           "<http://t.example/a,b,c>",
		"http://t.example/a,/b,mailto:m":   "<http://t.example/a>,<http://page.test/b>,mailto:m",
		"x.html":                           "<http://page.test/dir/x.html>",
		"mailto:a@b.test":                  "mailto:a@b.test",
		"http://keep.test/, http://b.c/":   "http://keep.test/,<http://b.c/>",
		"http://[broken":                   "http://[broken",
	} {
		got := Replace(value, base, func(link string) string {
			if link == "http://keep.test/" {
				return ""
			}
			return "<" + link + ">"
		})
		if got != want {
			t.Errorf("%q: %q, want %q", value, got, want)
		}
	}
}

func TestMarked(t *testing.T) {
	for body, want := range map[string]string{
		``: "", `<a href=/x>no mark</a> redirect_url`: "",
		`<a href="/x" id="redirect_url">`:                                   "http://t.example/x",
		`<p><A class="big redirect_url" HREF=https://b.test/?a=1&amp;b=2>`:  "https://b.test/?a=1&b=2",
		`<a redirect_url href=//b.test/y>`:                                  "http://b.test/y",
		`<a href="/redirect_url">`:                                          "",
		`<a id=redirect_url href=javascript:x()><a id=redirect_url href=z>`: "http://t.example/z",
		`<link id=redirect_url href=/x>`:                                    "",
		`<a id=redirect_url href=/` + strings.Repeat("x", 1<<20):            "",
		strings.Repeat("<b>", maxTokens) + `<a id=redirect_url href=/x>`:    "",
	} {
		if got := Marked([]byte(body), "http://t.example/s"); got != want {
			t.Errorf("%.60s: %q, want %q", body, got, want)
		}
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(`{"method":{"a":"GET"}}`, "http://a.test/,b", `<a id=redirect_url href=/x>`)
	const base = "http://page.test/"
	f.Fuzz(func(t *testing.T, property, value, body string) {
		if r, err := Parse(property); err == nil {
			r.Method(value)
		}
		if got := Replace(value, base, func(string) string { return "" }); got != value {
			t.Errorf("%q became %q without a replacement", value, got)
		}
		if target := Marked([]byte(body), "http://page.test/"); target != "" && !strings.HasPrefix(target, "http") {
			t.Errorf("target %q", target)
		}
	})
}
