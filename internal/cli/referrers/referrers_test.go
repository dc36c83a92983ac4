package referrers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/cli/storestest"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/urlkey"
)

// TestLinksOf: every kind of link, with its element and its text.
func TestLinksOf(t *testing.T) {
	for _, tt := range []struct{ name, kind, text, redirects, headers, want string }{
		{"page", "text/html", `<a href="b">The <b>second</b>
			page</a><img src=/i.png alt=x><script src="//h.example/s.js"></script><iframe src="f"></iframe><a href="#here">here</a>`, "", "",
			`[http://h.example/d/b a[href] "The second page" http://h.example/i.png img[src] "" http://h.example/s.js script[src] "" http://h.example/d/f iframe[src] ""]`},
		{"base", "text/html", `<base href="/e/"><a href="b">b</a><a href="b">again</a>`, "", "", `[http://h.example/e/b a[href] "b"]`},
		{"behind a redirect", "text/html", `<a href="b">b</a>`, `[{"code":301,"url":"http://other.example/x/y"}]`, "Link: <c>; rel=next\r\nRefresh: 9;url=d\r\n",
			`[http://other.example/x/y redirect "" http://other.example/x/b a[href] "b" http://other.example/x/c header[link] "" http://other.example/x/d header[refresh] ""]`},
		{"a picture and a text lead to one page", "text/html", `<a href="b"><img src=i></a> <a href="b">Bee</a> <a href="b">again</a>`, "", "", `[http://h.example/d/b a[href] "Bee" http://h.example/d/i img[src] ""]`},
		{"a form and an area", "text/html", `<form action=f><input name=q></form><form action=p method=post></form><area href=r>`, "", "", `[http://h.example/d/f form[action] "" http://h.example/d/r area[href] ""]`},
		{"another scheme", "text/html", `<a href="ftp://h.example/x">x</a>`, "", "", `[ftp://h.example/x a[href] "x"]`},
		{"a sitemap", "application/xml", `<urlset><url><loc>http://h.example/s</loc></url></urlset>`, "", "", `[http://h.example/s loc ""]`},
		{"the query in the charset of the page", "text/html; windows-1251", `<a href="/s?q=привет">q</a>`, "", "", `[http://h.example/s?q=%EF%F0%E8%E2%E5%F2 a[href] "q"]`},
		{"a script", "application/octet-stream", `<a href=b>b</a>`, "", "", `[]`},
		{"an unclosed link", "text/html", `<a href="b">b<a href="c">c`, "", "", `[http://h.example/d/b a[href] "b" http://h.example/d/c a[href] "c"]`},
		{"style sheet", "text/css", `body { background: url(i.png) }`, "", "", `[http://h.example/d/i.png style[style] ""]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind, charset, _ := strings.Cut(tt.kind, "; ")
			p := &pages.Page{URL: wire.URL{URL: "http://h.example/d/a", ContentType: kind, Charset: charset, Redirects: tt.redirects}, Raw: []byte(tt.text), Headers: []byte(tt.headers)}
			var got []string
			for _, l := range linksOf(p) {
				got = append(got, fmt.Sprintf("%s %s %q", l.URL, elementOf(l), l.Text))
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}

// TestIndex: the index has the links that Read gives, by the key of their URL.
func TestIndex(t *testing.T) {
	stores := storestest.Open(t)
	site := stores.NewSite("https://example.org/")
	for i := range 120 {
		stores.AddPage(site, fmt.Sprintf("https://example.org/%d", i), "Title", fmt.Sprintf(`<a href="%d">next</a><a href=0>first</a><a href="/%%7Eme">me</a>`, i+1))
	}
	want := map[string][]string{}
	err := Read(t.Context(), pages.Reader{Service: stores, Site: site}, func(to string, from Referrer) error {
		want[urlkey.Of(to)] = append(want[urlkey.Of(to)], fmt.Sprintf(`{"url":%q,"element":"a[href]","text":%q}`, from.URL, from.Text))
		return nil
	})
	if err != nil || len(want) != 122 || len(want[urlkey.Of("https://example.org/~me")]) != 120 {
		t.Fatal(len(want), err)
	}
	index, err := NewIndex(t.Context(), pages.Reader{Service: stores, Site: site}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	want[urlkey.Of("https://example.org/unknown")] = nil
	for _, key := range slices.Sorted(maps.Keys(want)) {
		list, err := index.Of(key)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range list {
			got = append(got, string(l))
		}
		if slices.Sort(want[key]); !slices.Equal(got, want[key]) {
			t.Errorf("%s: %s, want %s", key, got, want[key])
		}
	}
}
