package article

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

const pageURL = "https://post.example/news/market-hall.html?x=1"

func load(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// contains checks that text has the parts in this order.
func contains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Errorf("%s has no %q (in that order):\n%s", what, part, text)
			return
		}
		rest = after
	}
}

// lacks checks that text has no part.
func lacks(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s has %q:\n%s", what, part, text)
		}
	}
}

func TestNewsPage(t *testing.T) {
	a, err := Extract(load(t, "news.html"), pageURL)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "title", a.Title, "Harbour town agrees on market hall")
	contains(t, "text", a.Text, "The council has agreed", "\n", "Work begins in spring", "glass & wood")
	lacks(t, "text", a.Text, "Section 3", "All rights reserved", "var tracker", "<p>", "&amp;")
	contains(t, "markdown", a.Markdown, "The council has agreed", "](https://post.example/base/plan.html)")
	if a.Whole {
		t.Error("no article found")
	}
	if want := "2024-03-05T07:30:00Z"; a.Date.UTC().Format(time.RFC3339) != want {
		t.Errorf("date = %v", a.Date)
	}
	if a.Language != "en-GB" || a.Canonical != "https://post.example/base/canon.html" {
		t.Errorf("language %q, canonical %q", a.Language, a.Canonical)
	}
	contains(t, "author", a.Author, "Ann Example")
	contains(t, "description", a.Description, "After years of talks")
	for _, k := range []string{"market", "harbour"} {
		if !slices.Contains(a.Keywords, k) {
			t.Errorf("keywords = %q", a.Keywords)
		}
	}
	if !slices.Contains(a.Links, "https://post.example/base/plan.html") || !slices.Contains(a.Links, "https://other.example/") || len(a.Links) != 4 {
		t.Errorf("links = %q", a.Links)
	}
	if want := []string{"https://cdn.example/hall.jpg", "https://post.example/base/quay.jpg"}; !slices.Equal(a.Media, want) {
		t.Errorf("media = %q, want %q", a.Media, want)
	}
}

// Every page has a title and a text, also pages without an article.
func TestEveryPageHasTitleAndText(t *testing.T) {
	cases := []struct {
		name, text, title, want string
	}{
		{"nothing", "", "market-hall.html", "market-hall.html"},
		{"only a title", "<title>A</title>", "A", "A"},
		{"frame set", "<html><head><title>Frames</title></head><frameset cols=*,*><frame src=a><noframes><a href=b>Without frames</a></noframes></frameset>", "Frames", "Without frames"},
		{"script application", "<title>App</title><div id=root></div><noscript>Please switch on scripts</noscript><script src=a.js></script>", "App", "Please switch on scripts"},
		{"one image", "<body><img src=a.png alt='A view of the quay'>", "market-hall.html", "A view of the quay"},
		{"description alone", "<meta name=description content='About us'><title>T</title>", "T", "About us"},
		{"heading for a title", "<body><h2>Second</h2><p>Short", "Second", "Short"},
		{"list of links", "<title>Index</title><ul><li><a href=a>Alpha</a><li><a href=b>Beta</a></ul>", "Index", "Alpha\nBeta"},
		{"table", "<title>T</title><table><tr><td>1<td>2<tr><td>3<td>4</table>", "T", "1 2\n3 4"},
		{"lines", "<title>T</title><pre>a\n  b</pre>c<br>d<script>no</script><style>no</style><!-- no --><p hidden>no<p style='display: none'>no", "T", "a\n  b\nc\nd"},
		{"no mark-up", "just words", "market-hall.html", "just words"},
		{"cdata", "<title>T</title><p>a<![CDATA[b]]>c", "T", "ac"},
		{"nul bytes", "<title>T\x00</title><p>a\x00b", "", "a"},
		{"white space", "<title> A\n\tB </title><p> \u00a0x \n y", "A B", "x y"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Extract([]byte(c.text), pageURL)
			if err != nil {
				t.Fatal(err)
			}
			if c.title != "" && a.Title != c.title || a.Title == "" {
				t.Errorf("title = %q, want %q", a.Title, c.title)
			}
			contains(t, "text", a.Text, c.want)
			lacks(t, "text", a.Text, "no", "Please switch on scripts no")
			if a.Markdown == "" {
				t.Error("no Markdown")
			}
		})
	}
}

func TestHostilePages(t *testing.T) {
	many := strings.Repeat
	cases := []struct {
		name, text, want string
		err              error
	}{
		{"nested deep", many("<div>", 2000) + "<p>core", "core", nil},
		{"too many elements", "<article>" + many("<p>word</p>", 21_000), "word\nword", nil},
		{"too many long paragraphs", many("<p>"+many("long text ", 20)+"</p>", 7_500), "long text", nil},
		{"attribute of a megabyte", "<p class='" + many("x ", 500_000) + "'>core", "core", nil},
		{"quotes within quotes", many("<blockquote>x", 400), "x\nx", nil},
		{"table of one wide and many narrow rows", "<article>" + many("<p>Some words here.", 30) + "<table><tr>" + many("<td>x", 3000) + many("<tr><td>x", 3000) + "</table>", "Some words", nil},
		{"spans of a million cells", "<table><tr><td colspan=1000000 rowspan=1000000>core<td>x<tr><td colspan=-1>y</table>", "core", nil},
		{"tables within tables", many("<table><tr><td>x", 120), "x", nil},
		{"formatting never closed", many("<b><i><u>", 150) + many("<p>x", 1000), "x\nx", nil},
		{"entities", "<p>" + many("&amp;&lt;&#0;&#x110000;", 20_000), "&<", nil},
		{"brackets never closed", "<article><p>" + many("Some words here. ", 20) + "<p>" + many("[", 1_100_000), "Some words", nil},
		{"broken utf-8", "<title>\xFF</title><p>\xC3\x28 core", "core", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, err := Extract([]byte(c.text), pageURL)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Errorf("error = %v, want %v", err, c.err)
			}
			if len(a.Text) > 2*len(c.text)+100 || len(a.Markdown) > 3*len(c.text)+100 {
				t.Errorf("%d bytes became %d of text, %d of Markdown", len(c.text), len(a.Text), len(a.Markdown))
			}
			contains(t, "text", a.Text[:min(len(a.Text), 200_000)], c.want)
		})
	}
}

// The text has the sentences of the page, with their words and in their order, whatever
// elements they consist of. The engine alone moves and joins them.
func TestSentencesStayWhole(t *testing.T) {
	sentences := []struct{ html, text string }{
		{"<p>The <code>a</code> and <code>b</code> of <a href=x>the <b>first</b> module</a> read <em>all</em> files.</p>", "The a and b of the first module read all files."},
		{"<ul><li><p>Use <code>Accept</code>, <a href=y><code>Vary</code></a> or <i>both</i> of them here.</p></li></ul>", "Use Accept, Vary or both of them here."},
		{"<ul><li>Some words, <a href=z>a link</a>, more <b>words</b> and an end.</li></ul>", "Some words, a link, more words and an end."},
		{"<dl><dt><code>name</code> of it</dt><dd><p>Value of <code>name</code> as <a href=q>a link</a> of two.</p></dd></dl>", "name of it\nValue of name as a link of two."},
		{"<blockquote><p>Said <a href=r>by <em>some</em> person</a>, not by <b>me</b> alone.</p></blockquote>", "Said by some person, not by me alone."},
		{"<p>" + strings.Repeat("The last paragraph goes on. ", 20) + "</p>", strings.Repeat("The last paragraph goes on. ", 20)[:100]},
	}
	page, want := "<title>T</title><nav><a href=/>Home</a> <a href=/b>Other pages</a></nav><article><h1>Heading</h1>", []string{}
	for _, s := range sentences {
		page += s.html
		want = append(want, s.text)
	}
	a, err := Extract([]byte(page+"</article>"), pageURL)
	if err != nil || a.Whole {
		t.Fatalf("whole %v, %v", a.Whole, err)
	}
	contains(t, "text", a.Text, want...)
	lacks(t, "text", a.Text, "Other pages")
	contains(t, "Markdown", a.Markdown, "The `a` and `b` of [the **first** module](https://post.example/news/x) read *all* files.",
		"- Use `Accept`, [`Vary`](https://post.example/news/y) or *both* of them here.", "> Said [by *some* person](https://post.example/news/r), not by **me** alone.")
}

func TestLinksInMarkdown(t *testing.T) {
	const page = "https://town.example/town/mill.html"
	for _, c := range []struct{ name, head, href, want string }{
		{"file of the same folder", "", "x.html", "https://town.example/town/x.html"},
		{"folder above", "", "../a/b.html?c=1", "https://town.example/a/b.html?c=1"},
		{"root", "", "/x", "https://town.example/x"},
		{"other host", "", "//other.example/x", "https://other.example/x"},
		{"query alone", "", "?p=2", "https://town.example/town/mill.html?p=2"},
		{"fragment alone", "", "#part", "https://town.example/town/mill.html#part"},
		{"fragment of another page", "", "x.html#part", "https://town.example/town/x.html#part"},
		{"white space", "", " x.html\n", "https://town.example/town/x.html"},
		{"base element", "<base href=/other/>", "x.html", "https://town.example/other/x.html"},
		{"mail", "", "mailto:a@town.example", "mailto:a@town.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, body := range []string{"<p>See <a href='%s'>there</a> for more.", "<ul><li>One <b>more</b> <a href='%s'>there</a> in a list.</ul>", "<dl><dt>A</dt><dd>In <code>it</code> <a href='%s'>there</a>.</dd></dl>"} {
				body = strings.ReplaceAll(body, "%s", c.href)
				words := "<p>" + strings.Repeat("Words of an article that goes on. ", 20)
				a, err := Extract([]byte(c.head+"<title>T</title><article>"+words+body+words+"</article>"), page)
				if err != nil {
					t.Fatal(err)
				}
				contains(t, "Markdown", a.Markdown, "[there]("+c.want+")")
			}
		})
	}
}

// Control characters are blanks: no reader sees them.
func TestControlCharactersInAPage(t *testing.T) {
	a, err := Extract([]byte("<title>T</title><article>"+strings.Repeat("<p>\x01\x02Words of \x1fan article\x01 that goes on.\x03", 20)), pageURL)
	if err != nil || strings.Count(a.Text, "Words of an article that goes on.") != 20 {
		t.Errorf("%v, text %q", err, a.Text)
	}
}

// A page of any size has its article and its metadata.
func TestLargePage(t *testing.T) {
	words := strings.Repeat("Some words here. ", 20)
	text := "<title>Big</title><meta name=author content='A B'><nav><a href=/>Home</a></nav><article><h1>Big</h1>" + strings.Repeat("<p>"+words, 10_000)
	a, err := Extract([]byte(text), pageURL)
	if err != nil || a.Whole || len(a.Text) < 10_000*(len(words)-1) {
		t.Errorf("whole %v, %d bytes of text, %v", a.Whole, len(a.Text), err)
	}
	if a.Title != "Big" || a.Author != "A B" {
		t.Errorf("title %q, author %q", a.Title, a.Author)
	}
}

func TestListingsKeepTheirLines(t *testing.T) {
	listing := "if a {\n    b &amp;&amp; <i>c</i>()\n}"
	text := "<article><h1>Title</h1><p>" + strings.Repeat("Words of an article that goes on. ", 20) + "</p><pre>" + listing + "</pre><p>The <code>b <em>c</em></code> call ends it all.</p></article>"
	a, err := Extract([]byte(text), pageURL)
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "text", a.Text, "if a {\n    b && c()\n}\nThe b c call")
	contains(t, "markdown", a.Markdown, "```\nif a {\n    b && c()\n}\n```", "`b c` call")
}

func TestLanguage(t *testing.T) {
	german := strings.Repeat("Der Rat der alten Stadt am Hafen hat einen Plan für die Markthalle beschlossen. ", 3)
	cases := []struct{ name, text, want string }{
		{"attribute", "<html lang=de_at><p>" + german, "de-AT"},
		{"attribute of a template", "<html lang=en-US><p>" + german, "de"},
		{"attribute of a short text", "<html lang=pt_br><p>Rat", "pt-BR"},
		{"invalid attribute", "<html lang='none of your business'><p>" + german, "de"},
		{"meta", "<meta http-equiv=Content-Language content='fr, de-CH'><p>" + german, "de-CH"},
		{"guess", "<p>" + german, "de"},
		{"guess russian", "<p>" + strings.Repeat("Совет старого города принял план рыночного зала. ", 3), "ru"},
		{"too short to guess", "<p>Rat", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if a, _ := Extract([]byte(c.text), pageURL); a.Language != c.want {
				t.Errorf("got %q, want %q", a.Language, c.want)
			}
		})
	}
}

func TestDates(t *testing.T) {
	const day = "2021-03-05"
	ld := func(text string) string { return `<script type="application/ld+json">` + text + `</script>` }
	cases := []struct{ name, text, want string }{
		{"meta", "<meta property=article:published_time content=2021-03-05>", day},
		{"meta of a time zone", "<meta name=DC.date.issued content='2021-03-05T02:00:00+02:00'>", "2021-03-05T02:00:00+02:00"},
		{"json-ld", ld(`{"@graph":[{"datePublished" : "2021-03-05T00:00:00Z",}]}`), "2021-03-05T00:00:00Z"},
		{"json-ld with escapes", ld(`{"@type":"Article","datePublished":"2021-03-05T00:00:00\u002b01:00"}`), "2021-03-05T00:00:00+01:00"},
		{"a video in an article", ld(`{"@type":"NewsArticle","video":{"@type":"VideoObject","uploadDate":"2020-01-01","datePublished":"2020-01-01"},"datePublished":"2021-03-05"}`), day},
		{"a comment before the article", ld(`{"@type":"Article","comment":[{"@type":"Comment","datePublished":"2021-04-05"}],"datePublished":"2021-03-05"}`), day},
		{"an event and a site", ld(`[{"@type":"Event","startDate":"2021-03-05"},{"@type":"WebSite","datePublished":"2021-03-05"}]`), ""},
		{"microdata of a comment", "<div itemprop=comment itemscope itemtype=https://schema.org/Comment><time itemprop=datePublished datetime=2021-04-05>x</time></div>", ""},
		{"time element of publication", "<time datetime=2020-01-01>then</time><time itemprop=datePublished datetime=2021-03-05>now</time>", day},
		{"any time element", "<time datetime='2021-03-05 00:00:00'>then</time>", "2021-03-05T00:00:00"},
		{"a time element of an update", "<h1>Tides</h1><p>Last updated <time datetime=2021-03-05>5 March</time>", ""},
		{"mail form", "<meta name=date content='Fri, 05 Mar 2021 00:00:00 +0000'>", "2021-03-05T00:00:00Z"},
		{"first that can be read", "<meta name=date content=soon><meta name=pubdate content=20210305>", day},
		{"hash", "<meta name=date content=0123456789abcdef0123456789abcdef>", ""},
		{"impossible year", "<meta name=date content=0001-01-01>", ""},
		{"an update alone", "<meta property=article:modified_time content=2021-03-05>", ""},
		{"none", "<p>no date", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a, _ := Extract([]byte(c.text), "https://a.example/")
			if a.Date.String() != c.want {
				t.Errorf("got %q, want %q", a.Date, c.want)
			}
		})
	}
	page := "<article><h1>Title of it</h1><div class=byline>By X, March 5, 2021</div><p>" + strings.Repeat("Words of an article that goes on. ", 20) + "</article>"
	if a, _ := Extract([]byte(page), "https://a.example/"); a.Date.String() != day {
		t.Errorf("date in the text: %v", a.Date)
	}
}

func TestPlain(t *testing.T) {
	long := strings.Repeat("ä", 300)
	cases := []struct{ name, text, contentType, title string }{
		{"first line", "\n  A  title \nand text", "text/plain", "A title"},
		{"long first line", long, "text/plain", long[:maxTitle]},
		{"blank", " \n ", "text/plain", "market-hall.html"},
		{"json", `{"a": 1}`, "application/json", "market-hall.html"},
		{"xml", "<a/>", "text/xml; charset=utf-8", "market-hall.html"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			a := Plain([]byte(c.text), c.contentType, pageURL)
			if a.Title != c.title || a.Text != c.text || !utf8.ValidString(a.Title) {
				t.Errorf("title %q, text %q", a.Title, a.Text)
			}
		})
	}
}

func TestTitleOfURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://a.example/x/y.html?z=1": "y.html", "https://a.example/x/": "x", "https://a.example/": "a.example",
		"https://a.example": "a.example", "https://a.example/caf%C3%A9": "café", "%zz": "%zz", "": "",
	} {
		if got := titleOfURL(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add(load(f, "news.html"))
	f.Add([]byte("<frameset><frame src=a><noframes><p>x"))
	f.Add([]byte("<table><tr><td><b><a href='http://[::1'><svg><title>x</title><math><mi></b></table>"))
	f.Add([]byte("<ul><li><blockquote><pre>x</ul><template><p>y</template><select><option>z"))
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := Extract(text, pageURL)
		if err != nil && !errors.Is(err, ErrParser) {
			t.Errorf("error = %v", err)
		}
		if a.Title == "" || a.Text == "" || a.Markdown == "" {
			t.Errorf("title %q, text %q, Markdown %q of %q", a.Title, a.Text, a.Markdown, text)
		}
	})
}

// A conditional comment that lost its end does not hide the page; one that is whole stays a comment.
func TestOpenConditions(t *testing.T) {
	const prose = "The ferry leaves the quay at noon, and the wind is fair. The next one sails in the evening if the tide allows it."
	for _, c := range []struct{ name, page string }{
		{"never ends", "<!doctype html><!--[if lt IE 9]><html class=old><![endif]--><!--[if !IE]> <head><title>Ferry sails</title></head><body><h1>Ferry sails</h1><p>" + prose},
		{"ends in the text", "<!--[if (gt IE 9)|!(IE)]>\n<head class=a><title>Ferry sails</title></head><body><h1>Ferry sails</h1><p>" + prose + "<!-- a note --></p>"},
		{"twice", "<!--[if gt IE 8]><!--[if !IE]><head><title>Ferry sails</title></head><body><h1>Ferry sails</h1><p>" + prose + "</p>"},
		{"for old browsers", "<title>Ferry sails</title><!--[if lt IE 9]><p>You use an old browser.</p><![endif]--><h1>Ferry sails</h1><p>" + prose + "<!--[if gt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := Extract([]byte(c.page), "https://boats.example/1.html")
			if err != nil || a.Title != "Ferry sails" || !strings.Contains(a.Text, prose) || strings.Contains(a.Text, "old browser") {
				t.Errorf("%q, %q, error %v", a.Title, a.Text, err)
			}
		})
	}
}
