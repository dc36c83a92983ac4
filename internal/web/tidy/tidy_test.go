package tidy

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
)

func TestTidy(t *testing.T) {
	body := func(s string) string { return "<html><head></head><body>" + s + "</body></html>" }
	tests := []struct{ name, in, want string }{
		{"empty", "", body("")},
		{"text", "a < b & c", body("a &lt; b &amp; c")},
		{"well-formed", body("<p>x</p>"), body("<p>x</p>")},
		{"doctype", "\uFEFF<!doctype HTML PUBLIC 'x'><title>T</title>x", "<!DOCTYPE html>\n<html><head><title>T</title></head><body>x</body></html>"},
		{"attributes of html and body", "<html lang=de><head id=h><body class=b>x", `<html lang="de"><head></head><body class="b">x</body></html>`},
		{"head, then text", "<meta charset=utf-8><link href=a>x<meta name=b>", `<html><head><meta charset="utf-8"/><link href="a"/></head><body>x<meta name="b"/></body></html>`},
		{"unclosed elements", "<div><p>a<p>b<b>c", body("<div><p>a</p><p>b<b>c</b></p></div>")},
		{"overlapping elements", "<b><i>x</b>y</i>", body("<b><i>x</i></b>y")},
		{"end tags without start tags", "</div>x</p></b></br></html>y", body("x<br/>y")},
		{"list", "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", body("<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>")},
		{"definition list", "<dl><dt>a<dd>b<dt>c</dl>", body("<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>")},
		{"table", "<table><tr><td>a<td>b<tr><td>c<table><tr><td>d</table>e</table>f",
			body("<table><tr><td>a</td><td>b</td></tr><tr><td>c<table><tr><td>d</td></tr></table>e</td></tr></table>f")},
		{"table sections", "<table><thead><tr><th>a<tbody><tr><td>b", body("<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>b</td></tr></tbody></table>")},
		{"end tag in another cell", "<b><table><tr><td>a</b>b</td></tr></table></b>", body("<b><table><tr><td>ab</td></tr></table></b>")},
		{"options", "<select><option>a<option selected>b</select>", body(`<select><option>a</option><option selected="">b</option></select>`)},
		{"nested links", "<a href=1>x<a href=2>y</a>", body(`<a href="1">x</a><a href="2">y</a>`)},
		{"quotes", `<a title='"a"' title=b href="x?a=1&b=2">`, body(`<a title="&quot;a&quot;" href="x?a=1&amp;b=2"></a>`)},
		{"invalid names", `<a"b>x<p <=1 y=2>z<1>`, body(`x<p y="2">z&lt;1&gt;</p>`)},
		{"script", "<script>if (a<b) x('</p>')</script>", "<html><head><script>if (a<b) x('</p>')</script></head><body></body></html>"},
		{"unclosed script", "x<script><!--<script>y", body("x")},
		{"unclosed textarea", "<textarea>a<b>", body("<textarea>a&lt;b&gt;</textarea>")},
		{"plaintext", "x<plaintext><b>", body("x&lt;b&gt;")},
		{"SVG", `<svg><path d=1 /><style>a>b</style><style><b></style></svg>x`, body(`<svg><path d="1"/><style>a>b</style></svg>x`)},
		{"slash on a non-void element", "<div/>x", body("<div>x</div>")},
		{"comments", "<p><!-- a --><!-- b -- c --><?php x ?><!-->-->", body("<p><!-- a --><!--?php x ?--><!---->--&gt;</p>")},
		{"control characters", "a\x00b\x01<p title='\x02c'>", body(`ab<p title="c"></p>`)},
		{"invalid UTF-8", "a\xffb", body("a\uFFFDb")},
		{"frames", "<frameset><frame src=a></frameset>", body(`<frameset><frame src="a"/></frameset>`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Tidy([]byte(tt.in))
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\n got %s\nwant %s", err, got, tt.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	tests := []struct {
		name, in string
		want     error
	}{
		{"page", "<p>x", nil},
		{"image", "<img src=a>", nil},
		{"text", "x", nil},
		{"empty", "", ErrEmpty},
		{"space", " \n", ErrEmpty},
		{"only a head", "<title>x</title><script>y</script>", ErrEmpty},
		{"empty elements", "<html><body><div><p></p></div>", ErrEmpty},
		{"unclosed script", "<script><p>x", ErrEmpty},
		{"too deep", strings.Repeat("<div>", MaxDepth) + "x", ErrDeep},
		{"maximum depth", strings.Repeat("<div>", MaxDepth-2) + "x", nil},
		{"only ampersands", strings.Repeat("&", 200_000), ErrSize},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := Check([]byte(tt.in)); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
}

// TestHostile uses texts that cost parsers gigabytes of memory or deep stacks.
func TestHostile(t *testing.T) {
	var bold strings.Builder
	for i := range 400 {
		fmt.Fprintf(&bold, "<b a%d>", i)
	}
	for name, text := range map[string]string{
		"reopened formatting":    "<p>" + bold.String() + strings.Repeat("<p>x", 50_000),
		"nested":                 strings.Repeat("<div>", 50_000) + "x" + strings.Repeat("</div>", 50_000),
		"nested tables":          strings.Repeat("<table><tr><td>", 20_000),
		"end tags":               strings.Repeat("<div>", 200) + strings.Repeat("</b>", 50_000),
		"attributes":             "<p" + strings.Repeat(" a", 100_000) + ">" + "<p " + strings.Repeat("a=b ", 100_000),
		"unterminated tag":       "<p " + strings.Repeat("a", 1_000_000),
		"unterminated comment":   strings.Repeat("<!--", 200_000),
		"unclosed scripts":       strings.Repeat("<script>", 200_000),
		"unclosed textareas":     strings.Repeat("<textarea>", 100_000),
		"unclosed forms":         strings.Repeat("<form>", 2<<20/6),
		"svg":                    strings.Repeat("<svg>", 100_000) + "<path/>",
		"quotes in an attribute": strings.Repeat("x", 200_000) + "<p a='" + strings.Repeat("\"", 20_000) + "'>",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Tidy([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) > growthRatio*len(text)+2*growthFree {
				t.Errorf("%d bytes of %d", len(got), len(text))
			}
			if _, err := html.Parse(bytes.NewReader(got)); err != nil {
				t.Errorf("html.Parse rejects the result: %v", err)
			}
		})
	}
	if _, err := Tidy(bytes.Repeat([]byte("&"), 200_000)); !errors.Is(err, ErrSize) {
		t.Errorf("%v, want ErrSize", err)
	}
}

// FuzzTidy checks that the result is UTF-8, bounded, well-formed for a strict reader, and
// unchanged when it is tidied again.
func FuzzTidy(f *testing.F) {
	for _, s := range []string{
		"<p>a<p>b", "<table><tr><td>x<tr></table>", "<script>a</script><!-- x -->", "<svg><a/></svg>", "<ul><li>a<li>b", "<b><i></b></i>",
		"<textarea>\n\nx", "<title>&lt;</title>", "<!doctype html><html><head></head><body x=y>", "<select><option>a<option>b", "&#13;&#0;&nbsp;", "<noscript><img></noscript>", "<frameset><frame>", "a\fb", "<!---->",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_ = Check(text)
		got, err := Tidy(text)
		if err != nil {
			return
		}
		if !utf8.Valid(got) || len(got) > growthRatio*3*len(text)+2*growthFree {
			t.Fatalf("%d bytes of %d", len(got), len(text))
		}
		again, err := Tidy(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%v: %q\nbecame %q\nand then %q", err, text, got, again)
		}
		if bytes.Contains(got, []byte("<script")) || bytes.Contains(got, []byte("<style")) || bytes.Contains(got, []byte("<xmp")) ||
			bytes.Contains(got, []byte("<no")) || bytes.Contains(got, []byte("<iframe")) {
			return // HTML does not escape their content
		}
		d := xml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(got, []byte("<!DOCTYPE html>\n"))))
		d.Strict = true
		for {
			if _, err := d.RawToken(); err == io.EOF {
				break
			} else if err != nil {
				if strings.Contains(err.Error(), "illegal character code") { // U+FFFE and U+FFFF
					return
				}
				t.Fatalf("%q became %q: %v", text, got, err)
			}
		}
	})
}
