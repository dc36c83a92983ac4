package xpath

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

const page = `<html><body><div class=news><a href="/1?a=1&amp;b=2">One</a><a href=/2 rel=nofollow>Two <b>words</b></a></div>
<table><tr><td><a href="/3">x</a></table><a>none</a><a href="">empty</a><!-- <a href=no> --><p>12</p></body></html>`

const feed = `<?xml version="1.0" encoding="ISO-8859-1"?><rss xmlns:media="u"><channel><item><link>http://a/1</link><media:content url="http://a/i.png"/></item>
<item><link>http://a/2</link><Guid>x</Guid></item></channel></rss>`

func texts(t testing.TB, expr string, doc *Document, max int) []string {
	t.Helper()
	e, err := Compile(expr)
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Texts(context.Background(), doc, max)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestTexts(t *testing.T) {
	h, err := HTML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	x, err := XML([]byte(feed))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		expr string
		doc  *Document
		max  int
		want []string
	}{
		{`//a/@href`, h, 9, []string{"/1?a=1&b=2", "/2", "/3"}},
		{`//a/@href`, h, 2, []string{"/1?a=1&b=2", "/2"}},
		{`//a/@href`, h, 0, nil},
		{`//div[@class="news"]/a[not(@rel)]/@href`, h, 9, []string{"/1?a=1&b=2"}},
		{`//div/a`, h, 9, []string{"One", "Two words"}},
		{`//td/a/text()`, h, 9, []string{"x"}},
		{`/html/body/table/tbody/tr/td/a/@href`, h, 9, []string{"/3"}},
		{`//A/@HREF`, h, 9, nil},
		{`//a/@href | //a/@rel`, h, 9, []string{"/1?a=1&b=2", "/2", "/3", "nofollow"}},
		{`string(//td/a/@href)`, h, 9, []string{"/3"}},
		{`concat("http://x", //td/a/@href)`, h, 9, []string{"http://x/3"}},
		{`count(//a)`, h, 9, []string{"5"}},
		{`//nothing`, h, 9, nil},
		{`//link`, x, 9, []string{"http://a/1", "http://a/2"}},
		{`//item[2]/link/text()`, x, 9, []string{"http://a/2"}},
		{`//content/@url`, x, 9, []string{"http://a/i.png"}},
		{`//Guid`, x, 9, []string{"x"}},
	} {
		t.Run(c.expr, func(t *testing.T) {
			if got := texts(t, c.expr, c.doc, c.max); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestBrokenExpressions(t *testing.T) {
	for _, text := range []string{"", "//a[", "//a[@href", "][", "//a/@", "foo(1)", "$x", strings.Repeat("a", MaxExpr+1), strings.Repeat("(", 4000), strings.Repeat("a[", 1900), "-" + strings.Repeat("-", 4000)} {
		if _, err := Compile(text); err == nil {
			t.Logf("Compile(%.20q): no error", text)
		}
	}
	for _, text := range []string{"", "//a[", "][", strings.Repeat("a", MaxExpr+1)} {
		if _, err := Compile(text); err == nil {
			t.Errorf("Compile(%.20q): no error", text)
		}
	}
}

func TestBrokenXML(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                    nil,
		"<a><link>1</link><link>2</a>":        {"1", "2"},
		"<a><link>1</link></b><link>2</link>": {"1", "2"},
		"<a><link>&nbsp;&x;1</link><":         {"\u00a0&x;1"},
		"no mark-up":                          nil,
	} {
		doc, err := XML([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(t, "//link", doc, 9); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Without bounds each of these pages would take minutes or gigabytes.
func TestHostilePages(t *testing.T) {
	var tags strings.Builder
	for i := range 400 {
		fmt.Fprintf(&tags, "<b id=%d>", i)
	}
	var bodies strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&bodies, "<body a%d=1>", i)
	}
	for name, text := range map[string]string{
		"deep nesting":        strings.Repeat("<div>", 100_000),
		"reopened elements":   "<p>" + tags.String() + strings.Repeat("</p><p>x", 200_000),
		"formatting elements": strings.Repeat("<b x=1><i>", 300) + strings.Repeat(tags.String(), 3),
		"merged attributes":   bodies.String(),
		"in noscript":         "<noscript><p>" + tags.String() + strings.Repeat("</p><p>x", 200_000),
		"split text":          strings.Repeat("</x>a", 800_000),
		"too long":            strings.Repeat("a", MaxText+1),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := HTML([]byte(text)); !errors.Is(err, ErrCostly) {
				t.Errorf("error %v", err)
			}
		})
	}
	for name, text := range map[string]string{
		"deep nesting":   strings.Repeat("<a>", 100_000),
		"many elements":  "<r>" + strings.Repeat("<a/>", 2_000_000),
		"too long":       strings.Repeat("a", MaxText+1),
		"wrong end tags": strings.Repeat("<a>", 600) + strings.Repeat("</b>", 100_000),
	} {
		t.Run("XML "+name, func(t *testing.T) {
			if _, err := XML([]byte(text)); !errors.Is(err, ErrCostly) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// Invalid but harmless pages must be accepted.
// The library compiles the beginning of some expressions; a condition has no text.
func TestRefusedExpressions(t *testing.T) {
	for text, says := range map[string]string{
		"//h1[": "compile XPath", "//h1]": "follows the expression", "//h1)": "was not opened", "//h1 bar": "follows the expression", "//h1 'x'": "follows the expression",
		"//h1,//h2": "no XPath 1.0", "for $x in //p return $x": "no XPath 1.0", "//p = 'x'": "true or false", "not(//p)": "true or false", "true()": "true or false",
	} {
		if _, err := Compile(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"//h1 //b", "//p[. = ')']", `concat("(", //p)`, "1+2", "'a)'", "(//a)[1]/@href", "//a | //b", "count(//p)", "-1", "/"} {
		if _, err := Compile(text); err != nil {
			t.Error(err)
		}
	}
}

func TestInvalidPages(t *testing.T) {
	for name, text := range map[string]string{
		"unclosed":  strings.Repeat("<p><font size=2>x<b>y", 20_000),
		"nested":    strings.Repeat("<div>", 400) + "<a href=x>",
		"long list": strings.Repeat("<li><a href=x>y</a>", 50_000),
	} {
		t.Run(name, func(t *testing.T) {
			doc, err := HTML([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			texts(t, "//a/@href", doc, 100_000)
		})
	}
}

func TestHostileExpressions(t *testing.T) {
	doc, err := HTML([]byte(strings.Repeat("<p>x<a href=x>y</a>", 5_000)))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"//*[count(//*[count(//*) > 1]) > 1]", "//*[contains(//body, .)]", "//p/following::*/preceding::*",
		"//*/ancestor::*/descendant::*", strings.Repeat("//*", 50), "string(//*[count(//*) > 1][last()])",
	} {
		e, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Texts(context.Background(), doc, 20_000)
		t.Logf("%.40s: %d, %v", text, len(got), err)
	}
	e, err := Compile("//*[count(//*[count(//*) > 1]) > 1]")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Texts(context.Background(), doc, 9); !errors.Is(err, ErrCostly) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Texts(ctx, doc, 9); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	doc, err := HTML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int{`//a[@href][position() < 3]/@href | //b`: 4, `string(//div/a[2]/@href)`: 1, `//a[contains(@href, string(//td/a/@href))]`: 1} {
		e, err := Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 100 {
					if got, err := e.Texts(context.Background(), doc, 9); len(got) != want || err != nil {
						t.Errorf("%s: %q %v", text, got, err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
}

func FuzzTexts(f *testing.F) {
	for _, expr := range []string{`//a/@href`, `//a[1]/b[last()]|//p`, `concat(string(//a), "x")`, `matches(//a, "(")`, `replace("a", "a", "$1")`, `-1 div 0`} {
		f.Add(expr, page)
		f.Add(expr, feed)
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		if len(text) > 2000 || len(expr) > 200 {
			return
		}
		e, err := Compile(expr)
		if err != nil {
			return
		}
		for _, parse := range []func([]byte) (*Document, error){HTML, XML} {
			doc, err := parse([]byte(text))
			if err != nil {
				continue
			}
			if got, _ := e.Texts(context.Background(), doc, 50); len(got) > 50 || slices.Contains(got, "") {
				t.Errorf("%q", got)
			}
		}
	})
}

// The doctype in capitals is no quirks mode: a table follows the paragraph that it ends.
func TestDoctypeInCapitals(t *testing.T) {
	for _, doctype := range []string{"<!doctype html>", "<!DOCTYPE html>", "<!DOCTYPE HTML>", "\ufeff\n<!Doctype Html>"} {
		doc, err := HTML([]byte(doctype + "<title>Tides</title><p>High water:<table><tr><td>8:00</table>"))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Root().Descendants() {
			if n.Data == "table" && n.Parent.Data != "body" {
				t.Errorf("%q: the table is in %s", doctype, n.Parent.Data)
			}
		}
	}
}
