package links

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// tokens lists the tags and texts of a page, one line each.
func tokens(page string, cdata, ignoreContent bool) []string {
	var out []string
	z := tokenizer{page: []byte(page), cdata: cdata}
	for {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			return out
		case html.TextToken:
			out = append(out, fmt.Sprintf("text %q", z.Text()))
		case html.EndTagToken:
			out = append(out, fmt.Sprintf("end %q", z.Name()))
		case html.StartTagToken:
			line := fmt.Sprintf("start %q %q", z.Name(), z.Raw())
			if ignoreContent {
				z.IgnoreContent()
			}
			var keys []string
			for key, value, ok := z.Attr(); ok; key, value, ok = z.Attr() {
				if !slices.Contains(keys, string(key)) {
					keys = append(keys, string(key))
					line += fmt.Sprintf(" %q=%q", key, value)
				}
			}
			out = append(out, line)
		}
	}
}

// libraryTokens is tokens by html.Tokenizer.
func libraryTokens(page string, cdata, ignoreContent bool) []string {
	var out []string
	z := html.NewTokenizer(strings.NewReader(page))
	z.AllowCDATA(cdata)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.TextToken:
			out = append(out, fmt.Sprintf("text %q", z.Text()))
		case html.EndTagToken:
			name, _ := z.TagName()
			out = append(out, fmt.Sprintf("end %q", name))
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := string(z.Raw()) // TagName changes it
			if ignoreContent {
				z.NextIsNotRawText()
			}
			name, more := z.TagName()
			line := fmt.Sprintf("start %q %q", name, raw)
			var keys []string
			for more {
				var key, value []byte
				if key, value, more = z.TagAttr(); slices.Contains(keys, string(key)) {
					continue
				}
				keys = append(keys, string(key))
				line += fmt.Sprintf(" %q=%q", key, value)
			}
			out = append(out, line)
		}
	}
}

func compareTokens(t *testing.T, page string) {
	t.Helper()
	for _, o := range [][2]bool{{false, false}, {true, false}, {true, true}} {
		got, want := tokens(page, o[0], o[1]), libraryTokens(page, o[0], o[1])
		if !slices.Equal(got, want) {
			t.Fatalf("page %q, CDATA %t, content ignored %t:\ngot  %s\nwant %s", page, o[0], o[1], strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

var tokenPages = []string{
	"", "text", "<", "a<", "</", "<a", "<a>", "<A HREF=x>y</A>", "a < b <c d", "a</", "a</>b", "</3>x", "<?xml?>x<!DOCTYPE html>y<!x>z",
	`<a href="x" HREF='y' b=c/ d / e= f = "g" =h i==j k="l"m>`, "<br/><p a=/>", `<a href="x`, "<a\nb\r=\fc\t>", "<a b='\r\n\r'>\r\nx\ry",
	"<!---->a<!-->b<!--->c<!--x--!>d<!----!-->e<!--->f", "<!--x--!y-->z", "<!--", "<!-", "<!", "<!--x-", "<!doctype",
	"<title>a&amp;b<b></title >c", "<TITLE>x</titlE/>y", "<textarea><a></textarea>", "<style>a&amp;\x00</style>b\x00", "<xmp></xm></xmp>",
	"<plaintext></plaintext>", "<noscript><a></noscript>", "<iframe></iframe", "<title></title>x", "<title>",
	"<script></script>x", "<script><!--</script>x", "<script><!--<script></script>x</script>y", "<script><!--<script>--></script>y",
	"<script><!-->-</script>x", "<script><!-- < </script>x", "<script><!--<scr</script>x", "<script><!--<script/></script ><script ", "<script><!-<//</scr</script\n>",
	"<![CDATA[a&amp;b]]>c", "<![CDATA[]]>", "<![CDATA[a]]", "<![cdata[a]]>",
	`<a b="&amp;&amp&ampx&amp=&copy;&copyx;&notit;&semi;&#65;&#x41 &#;&#x;&;&&nosuch;&nosuch&lt">`, "&amp;&copyx;&#128;",
}

func TestTokens(t *testing.T) {
	for _, page := range tokenPages {
		compareTokens(t, page)
	}
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil {
			compareTokens(t, string(text))
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, page := range tokenPages {
		f.Add(page)
	}
	f.Fuzz(compareTokens)
}
