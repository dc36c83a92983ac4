package markup

import (
	"strings"
	"testing"

	"hce/dc/internal/web/dates"
)

func TestHTML(t *testing.T) {
	created, _ := dates.ParseISO("2024-05-17T08:00:00+02:00")
	modified, _ := dates.ParseISO("2024-05-18")
	p := Page{Title: ` A "title" <b> `, Author: "Ann\x00 Bell", Keywords: "a; b", Language: "en", Created: created, Modified: modified}
	p.Block("h2", "Moon & sun")
	p.Raw(Anchor("http://a.example/?a=1&b=2") + Text("x\xffy\u00ad\u200b\u202e\tz") + "</a>" + Preformatted("a\n\tb"))
	want := `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A &#34;title&#34; &lt;b&gt;</title>` +
		`<meta name="author" content="Ann Bell"><meta name="keywords" content="a; b"><meta name="date" content="2024-05-17T08:00:00+02:00"><meta property="article:modified_time" content="2024-05-18"></head><body>` +
		"\n<h2>Moon &amp; sun</h2>\n" + `<a href="http://a.example/?a=1&amp;b=2">x` + "\uFFFDy z</a>a\n b</body></html>\n"
	if got := string(p.HTML()); got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

func TestAnchor(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://a.example/": true, "mailto:a@b.example": true, " http://a.example/ ": true,
		"": false, "#x": false, "../b": false, "javascript:alert(1)": false, "file:///etc/passwd": false, "http://[": false, "http://a/" + strings.Repeat("x", 1<<20): false,
	} {
		if got := Anchor(address); (got != "") != ok {
			t.Errorf("%.40q: %.80q", address, got)
		}
	}
}

func TestLimits(t *testing.T) {
	p := Page{Title: strings.Repeat("é", 1<<20)}
	for range 20 {
		p.Block("p", strings.Repeat("<", 1<<20))
	}
	if page := p.HTML(); !p.Cut || p.Len() > MaxBytes || len(page) > MaxBytes+(64<<10) {
		t.Errorf("cut %v, body of %d bytes, page of %d", p.Cut, p.Len(), len(page))
	}
}
