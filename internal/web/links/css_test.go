package links

import (
	"slices"
	"strings"
	"testing"
)

func TestCSS(t *testing.T) {
	cases := map[string]struct{ sheet, want string }{
		"import text":      {`@import "a.css"; p { color: red }`, "a.css"},
		"import url":       {`@import url(a.css) screen; @IMPORT url('b.css');`, "a.css b.css"},
		"quoted url":       {`p { background: #fff url( "c.png" ) no-repeat; }`, "c.png"},
		"font":             {`@font-face { src: url(d.woff2) format("woff2"), url(d.woff) }`, "d.woff2 d.woff"},
		"comment":          {`/* url(no.png) */ a { cursor: url(e.cur), auto }`, "e.cur"},
		"url in a string":  {`a::after { content: "url(no.png)" }`, ""},
		"escapes":          {`a { background: url("f\20 g.png") }`, "f g.png"},
		"data":             {`a { background: url(data:image/png;base64,AAAA) }`, ""},
		"broken":           {`a { background: url(h.png } b { x: url(`, ""},
		"case and newline": {"a { background: URL(\n i.png\n) }", "i.png"},
		"duplicate":        {`a { background: url(j.png) } b { background: url("j.png") }`, "j.png"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(urls(CSS([]byte(c.sheet), 0).Links), " "); got != c.want {
				t.Errorf("CSS(%s) = %q, want %q", c.sheet, got, c.want)
			}
		})
	}
	if p := CSS([]byte(strings.Repeat("a{b:url(x.png)} ", 3)+"@import 'y.css';"), 1); !p.Cut || len(p.Links) != 1 {
		t.Errorf("cut %v, %d links", p.Cut, len(p.Links))
	}
}

func TestStylesOfAPage(t *testing.T) {
	page := HTML([]byte(`<style>@import "a.css"; p { background: url(b.png) }</style><p style="background:url(&quot;c.png&quot;)">x</p><a href="d">url(no)</a>`), 0)
	if got := urls(page.Links); !slices.Equal(got, []string{"a.css", "b.png", "c.png", "d"}) {
		t.Errorf("links %q", got)
	}
}

func FuzzCSS(f *testing.F) {
	f.Add([]byte(`@import url("a.css"); p{background:url(b.png)}`))
	f.Add([]byte(`a{b:url(\61 .png)}`))
	f.Fuzz(func(t *testing.T, sheet []byte) {
		for _, l := range CSS(sheet, 100).Links {
			if l.URL == "" || len(l.URL) > maxURL {
				t.Errorf("link %q", l.URL)
			}
		}
	})
}
