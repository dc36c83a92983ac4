package scraper

import (
	"strings"
	"testing"

	"hce/dc/internal/web/feed"
	"hce/dc/internal/wire"
)

// TestEntryTexts: entries of each kind of feed have text, Markdown, links, and plain titles.
func TestEntryTexts(t *testing.T) {
	const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><entry><id>tag:x,1</id><link href="https://news.example/a"/><updated>2026-03-01T10:00:00Z</updated>`
	const rss = `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>T</title><item><link>https://news.example/a</link>`
	rules, _ := Compile(&Source{})
	for _, tt := range []struct {
		name, feed                         string
		title, text, markdown, about, link string
	}{
		{"Atom, html", atom + `<title type="html">&lt;b&gt;Ebb&lt;/b&gt; &amp;amp; flood</title><content type="html">&lt;p&gt;The mill &lt;a href="/b"&gt;turns&lt;/a&gt;.&lt;/p&gt;</content></entry></feed>`,
			"Ebb & flood", "The mill turns.", "The mill [turns](https://news.example/b).", "", "https://news.example/b"},
		{"Atom, xhtml", atom + `<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><em>Ebb</em></div></title><summary type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>The <em>mill</em></p></div></summary></entry></feed>`,
			"Ebb", "The mill", "The *mill*", "The mill", ""},
		{"Atom, text", atom + `<title>Use &lt;b&gt; in C</title><summary>a &lt; b &amp;&amp; c</summary></entry></feed>`,
			"Use <b> in C", "a < b && c", "a < b && c", "a < b && c", ""},
		{"RSS", rss + `<title>&lt;i&gt;Ebb&lt;/i&gt;</title><description>&lt;p&gt;Short&lt;/p&gt;</description><content:encoded><![CDATA[<p>The whole <b>text</b></p>]]></content:encoded></item></channel></rss>`,
			"Ebb", "The whole text", "The whole **text**", "Short", ""},
		{"RSS, only a description", rss + `<title>Ebb</title><description>Short and plain</description></item></channel></rss>`,
			"Ebb", "Short and plain", "Short and plain", "Short and plain", ""},
		{"JSON", `{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","url":"https://news.example/a","title":"Ebb","content_html":"<p>The <b>mill</b></p>","summary":"Short"}]}`,
			"Ebb", "The mill", "The **mill**", "Short", ""},
		{"JSON, text", `{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","url":"https://news.example/a","content_text":"a < b"}]}`,
			"", "a < b", "a < b", "", ""},
	} {
		for _, standard := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: ", normalized"}[standard], func(t *testing.T) {
				f, err := feed.Parse([]byte(tt.feed), feed.Options{Standard: standard})
				if err != nil || len(f.Items) != 1 {
					t.Fatal(f, err)
				}
				raw, err := f.Items[0].Document(wire.Md5("a"), "https://news.example/feed", wire.Md5("feed"))
				if err != nil {
					t.Fatal(err)
				}
				s := &scrape{Page: &Page{ID: wire.Md5("a"), URL: "https://news.example/a", Text: raw, Entry: true}, rules: rules}
				parts := s.extractParts()
				if len(parts) != 1 {
					t.Fatalf("%d parts, %v", len(parts), s.out)
				}
				r := &parts[0].results[0]
				plain := func(name string) string {
					if text := r.First(name + "_plain"); text != "" {
						return text
					}
					return r.First(name)
				}
				got := []string{plain("title"), strings.TrimSpace(r.First("content_encoded")), strings.TrimSpace(r.First("content_markdown")), plain("description"), r.First("links")}
				want := []string{tt.title, tt.text, tt.markdown, tt.about, tt.link}
				for i := range want {
					if i == 4 && standard { // the document has a member with this name
						continue
					}
					if got[i] != want[i] {
						t.Errorf("%s is %q, want %q in %s", []string{"title", "text", "Markdown", "description", "links"}[i], got[i], want[i], raw)
					}
				}
			})
		}
	}
}
