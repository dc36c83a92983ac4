package links

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// urls returns the URLs of links.
func urls(links []Link) []string {
	var out []string
	for _, l := range links {
		out = append(out, l.URL)
	}
	return out
}

func load(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryAttribute(t *testing.T) {
	page := HTML(load(t, "attributes.html"), 0)
	var got []string
	for _, l := range page.Links {
		got = append(got, fmt.Sprintf("%s@%s=%s", l.Tag, l.Attr, l.URL))
	}
	want := strings.Fields(string(load(t, "attributes.want")))
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s", strings.Join(got, "\n"))
	}
	i := slices.IndexFunc(page.Links, func(l Link) bool { return l.URL == "double.html" })
	if i < 0 || page.Links[i].Rel != "nofollow ugc" {
		t.Errorf("rel of double.html is not %q", "nofollow ugc")
	}

	page.Links = nil
	want2 := Page{
		Title: "All the & attributes", Base: "/base/", Refresh: "later.html", RefreshDelay: 7, Robots: []RobotsRule{{"robots", "noindex"}, {"robots", "nofollow"}},
		Canonical: "/canon", Lang: "de-AT",
		Forms: []Form{{Action: "act.cgi", Method: "get"}, {Action: "no-post2.cgi", Method: "post"}, {Action: "no-dialog.cgi", Method: "get"}},
	}
	if fmt.Sprint(page) != fmt.Sprint(want2) {
		t.Errorf("page = %+v, want %+v", page, want2)
	}
}

func TestFrameset(t *testing.T) {
	page := HTML(load(t, "frameset.html"), 0)
	want := []string{"menu.html", "menu-desc.html", "main.html", "plain.html"}
	if got := urls(page.Links); !slices.Equal(got, want) || page.Title != "Frames" {
		t.Errorf("got %q %q, want %q", page.Title, got, want)
	}
}

func TestXML(t *testing.T) {
	cases := []struct {
		file, title, lang string
		want              []string
	}{
		{"feed.xml", "News & more", "en-GB", []string{
			"https://site.example/", "https://site.example/feed.xml", "https://site.example/1?a=1&b=2",
			"https://site.example/topics", "https://cdn.example/1.mp3", "https://site.example/2?a=1&b=2",
			"https://site.example/?p=2", "https://cdn.example/2.jpg"}},
		{"sitemap.xml", "", "", []string{
			"http://a.example/", "http://a.example/de", "http://a.example/i.png", "http://a.example/b"}},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			page := XML(load(t, c.file), 0)
			if got := urls(page.Links); !slices.Equal(got, c.want) {
				t.Errorf("links = %q, want %q", got, c.want)
			}
			if page.Title != c.title || page.Lang != c.lang {
				t.Errorf("title %q, lang %q", page.Title, page.Lang)
			}
		})
	}
}

func TestOddPages(t *testing.T) {
	long := strings.Repeat("x", maxURL)
	cases := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", nil},
		{"no markup", "just words < and > & signs", nil},
		{"attributes without spaces", `<a class="x"href="y">`, []string{"y"}},
		{"slash as separator", `<a/href=y/>`, []string{"y/"}},
		{"stray quote", `<a href=y" title="x">`, []string{`y"`}},
		{"unterminated quote", `<a href="y>text</a><a href=z>`, nil},
		{"unterminated tag", `<a href=y`, nil},
		{"nul bytes", "<a href=x\x00y><\x00a href=z>", []string{"x\uFFFDy"}},
		{"broken utf-8", "<a href=x\xFFy>", []string{"x\xFFy"}},
		{"cdata in html is a comment", "<![CDATA[ <a href=x> ]]><a href=y>", []string{"y"}},
		{"comment closed early", "<!--><a href=y>-->", []string{"y"}},
		{"script tags in a script", "<script><!-- <script> </script> <a href=n> --></script><a href=y>", []string{"y"}},
		{"maximum length", "<a href=" + long + "><a href=x" + long + "><a href=y>", []string{long, "y"}},
		{"base is not a link", "<base href=x><a href=y>", []string{"y"}},
		{"deep nesting", strings.Repeat("<div>", 100_000) + "<a href=y>", []string{"y"}},
		{"attribute of a megabyte", "<a href=x data-a='" + strings.Repeat("a&amp;", 180_000) + "'><a href=y>", []string{"x", "y"}},
		{"link of a megabyte", "<a href='" + strings.Repeat("a", 1<<20) + "'><a href=y>", []string{"y"}},
		{"srcset of a megabyte", "<img src=x srcset='" + strings.Repeat("a 1x,", 200_000) + "'>", []string{"x"}},
		{"a hundred thousand attributes", "<a " + strings.Repeat("href=n ", 100_000) + "><a href=y>", []string{"n", "y"}},
		{"nested noscript and noframes", strings.Repeat("<noscript><noframes>", 50_000) + "<a href=y>", []string{"y"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := urls(HTML([]byte(c.text), 0).Links); !slices.Equal(got, c.want) {
				t.Errorf("got %.200q, want %.200q", got, c.want)
			}
		})
	}
}

func TestMaxLinks(t *testing.T) {
	text := []byte("<a href=1><a href=2><a href=1><a href=3><base href=/b/>")
	page := HTML(text, 2)
	if got := urls(page.Links); !slices.Equal(got, []string{"1", "2"}) || !page.Cut || page.Base != "/b/" {
		t.Errorf("two of three: %q, cut %v, base %q", got, page.Cut, page.Base)
	}
	if page = HTML(text, 3); len(page.Links) != 3 || page.Cut {
		t.Errorf("three of three: %d, cut %v", len(page.Links), page.Cut)
	}
}

func TestManyLinks(t *testing.T) {
	var b strings.Builder
	const n = 50_000
	for i := range n {
		fmt.Fprintf(&b, "<p><a href='/path/of/page/%d?x=1&amp;y=2'>text</a>\n", i)
	}
	if got := len(HTML([]byte(b.String()), 0).Links); got != n {
		t.Errorf("%d links in %d bytes, want %d", got, b.Len(), n)
	}
}

func TestBase(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"single quotes", "<base href='http://x/'>", "http://x/"},
		{"no quotes, no end", "<base href=http://x/><base href=http://y/>", "http://x/"},
		{"the first with an href", "<base target=_top><base href=b>", "b"},
		{"the first empty href", "<base href=''><base href=b>", ""},
		{"in a comment", "<!-- <base href=a> --><base href=b>", "b"},
		{"unfetchable scheme", "<base href='data:text/html,x'>", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := HTML([]byte(c.text), 0).Base; got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	cases := []struct{ content, url string }{
		{"5", ""},
		{"0;url=next.html", "next.html"},
		{" 3 , URL = 'a b.html' tail", "a b.html"},
		{`1;url="next.html`, "next.html"},
		{"2.75; next.html", "next.html"},
		{"2 url=next.html", "next.html"},
		{".5;url=x", "x"},
		{"1;urls/list", "urls/list"},
		{"1;url", "url"},
		{"soon;url=x", ""},
		{"1x;url=x", ""},
		{"99999999999999999999;url=x", "x"},
		{"", ""},
	}
	for _, c := range cases {
		t.Run(c.content, func(t *testing.T) {
			if url := refreshURL(c.content); url != c.url {
				t.Errorf("got %q, want %q", url, c.url)
			}
		})
	}
}

func TestCandidates(t *testing.T) {
	cases := []struct{ name, value, want string }{
		{"plain", "a.png, b.png 2x", "a.png b.png"},
		{"no space after the comma", "a.png 1x,b.png 2x", "a.png b.png"},
		{"comma inside a url", "a,b.png 1x", "a,b.png"},
		{"urls joined by a comma", "a.png,b.png", "a.png,b.png"},
		{"commas before and after", " ,, a.png,, b.png,", "a.png b.png"},
		{"parentheses", "a.png calc(1,2) 1x, b.png", "a.png b.png"},
		{"unclosed parenthesis", "a.png (1, b.png", "a.png"},
		{"blank", " \t, ", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(slices.Collect(srcsetURLs(c.value)), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzLinks(f *testing.F) {
	for _, name := range []string{"attributes.html", "frameset.html", "feed.xml", "sitemap.xml"} {
		f.Add(load(f, name))
	}
	f.Add([]byte("<meta http-equiv=refresh content='1;url='><img srcset='(,,'><title>\xFF"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, page := range []Page{HTML(text, 50), XML(text, 50)} {
			seen := map[string]bool{}
			for _, l := range page.Links {
				if l.URL == "" || len(l.URL) > maxURL || seen[l.URL] || deadSchemes[schemeOf(l.URL)] {
					t.Errorf("link %+v of %q", l, text)
				}
				seen[l.URL] = true
			}
			if len(page.Links) > 50 || !utf8.ValidString(page.Title) || len(page.Title) > maxTitle {
				t.Errorf("%d links, title %q of %q", len(page.Links), page.Title, text)
			}
		}
	})
}

// page20k is a page of about 20 KB with a menu, paragraphs, links and images.
func page20k() []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>` +
		`<link rel="stylesheet" href="/s.css"><script>var a = "<a href=x>";</script></head><body><nav class="menu"><ul>`)
	for i := range 40 {
		fmt.Fprintf(&b, `<li class="item"><a class="nav-link" href="/section/%d/">Section %d</a></li>`, i, i)
	}
	b.WriteString(`</ul></nav><main>`)
	for i := range 30 {
		fmt.Fprintf(&b, `<p id="p%d" class="text">%s <a href="/article/%d?from=page&amp;pos=%d" rel="nofollow">more</a> `+
			`<img class="lazy" src="/img/%d.jpg" srcset="/img/%d-2.jpg 2x" alt="x"></p>`,
			i, strings.Repeat("Some words that are read by people. ", 9), i, i, i, i)
	}
	b.WriteString(`</main></body></html>`)
	return []byte(b.String())
}

func BenchmarkHTML(b *testing.B) {
	text := page20k()
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		HTML(text, 0)
	}
}

// Anchors has a link also if another element had it before, and names the dead ones.
func TestAnchors(t *testing.T) {
	long := strings.Repeat("x", 9<<10)
	page := Anchors([]byte(`<link rel=next href="b.html"><a href=" b.html ">b</a><img src=i><area href=c><a ping=/p href=#top>t</a>
<a href="mailto:x@y">m</a><a href="MAILTO:x@y">m</a><a href="mailto:x@y">m</a><a href="">e</a><a href="` + long + `">l</a><base href=/d/>`))
	var got []string
	for _, l := range page.Links {
		got = append(got, l.Tag+" "+l.URL)
	}
	if strings.Join(got, ", ") != "a b.html, area c" || page.Base != "/d/" {
		t.Errorf("%q, %q", got, page.Base)
	}
	if len(page.Dead) != 3 || page.Dead[0] != "mailto:x@y" || page.Dead[1] != "MAILTO:x@y" || page.Dead[2] != long[:8<<10] {
		t.Errorf("%.200q", page.Dead)
	}
}
