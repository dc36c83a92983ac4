package referrers

import (
	"fmt"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// TestLinksOf: every kind of link, with its element and its text.
func TestLinksOf(t *testing.T) {
	for _, tt := range []struct{ name, kind, text, redirects, want string }{
		{"page", "text/html", `<a href="b">The <b>second</b>
			page</a><img src=/i.png alt=x><script src="//h.example/s.js"></script><iframe src="f"></iframe><a href="#here">here</a>`, "",
			`[http://h.example/d/b a[href] "The second page" http://h.example/i.png img[src] "" http://h.example/s.js script[src] "" http://h.example/d/f iframe[src] ""]`},
		{"base", "text/html", `<base href="/e/"><a href="b">b</a><a href="b">again</a>`, "", `[http://h.example/e/b a[href] "b"]`},
		{"behind a redirect", "text/html", `<a href="b">b</a>`, `[{"code":301,"url":"http://other.example/x/y"}]`, `[http://other.example/x/b a[href] "b"]`},
		{"an unclosed link", "text/html", `<a href="b">b<a href="c">c`, "", `[http://h.example/d/b a[href] "b" http://h.example/d/c a[href] "c"]`},
		{"style sheet", "text/css", `body { background: url(i.png) }`, "", `[http://h.example/d/i.png style[style] ""]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &pages.Page{URL: wire.URL{URL: "http://h.example/d/a", ContentType: tt.kind, Redirects: tt.redirects}, Raw: []byte(tt.text)}
			var got []string
			for _, l := range linksOf(p) {
				got = append(got, fmt.Sprintf("%s %s[%s] %q", l.URL, l.Tag, l.Attr, l.Text))
			}
			if fmt.Sprint(got) != tt.want {
				t.Errorf("%v, want %s", got, tt.want)
			}
		})
	}
}
