package xpath

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

const cssPage = `<html><body id=top><div class="byline x"><a href=/a>Ann</a>, <a href=/b>Bob</a><span><a>Eve</a></span></div>
<p>1</p><p class=q>2</p><p>3</p><h2>H</h2><p>4</p><ul><li>a</li><li>b</li><li data-x="y, z">c</li></ul><em></em></body></html>`

func document(t testing.TB, text string) *Document {
	t.Helper()
	doc, err := HTML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func showCSS(matches []Match) (list []string) {
	for _, m := range matches {
		switch {
		case m.Attr != "":
			list = append(list, "@"+m.Text)
		case m.Node.FirstChild != nil:
			list = append(list, m.Node.FirstChild.Data)
		default:
			list = append(list, m.Node.Data)
		}
	}
	return list
}

func TestCSS(t *testing.T) {
	doc := document(t, cssPage)
	for text, want := range map[string][]string{
		`.byline a`:               {"Ann", "Bob", "Eve"},
		` .byline  >  a `:         {"Ann", "Bob"},
		`.byline>a`:               {"Ann", "Bob"},
		`#top .byline.x a[href]`:  {"Ann", "Bob"},
		`#top a:nth-child(2)`:     {"Bob"},
		`h2 + p`:                  {"4"},
		`p ~ p`:                   {"2", "3", "4"},
		`p.q ~ h2, .byline span`:  {"a", "H"},
		`p:not(.q)`:               {"1", "3", "4"},
		`p:not( .q, h2 )`:         {"1", "3", "4"},
		`li:last-child`:           {"c"},
		`li:nth-child(2n + 1)`:    {"a", "c"},
		`li[data-x="y, z"]`:       {"c"},
		`div:has(span)`:           {"a"},
		`p:contains("3")`:         {"3"},
		`em:empty`:                {"em"},
		`body div span a`:         {"Eve"},
		`.byline::text`:           {", "},
		`.byline > a::attr(href)`: {"@/a", "@/b"},
		`.byline ::attr("href")`:  {"@/a", "@/b"},
		`.none`:                   nil,
	} {
		t.Run(text, func(t *testing.T) {
			s, err := CompileCSS(text)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Find(context.Background(), doc, Limits{Matches: 9})
			if err != nil || !slices.Equal(showCSS(got), want) {
				t.Errorf("got %q, %v, want %q", showCSS(got), err, want)
			}
		})
	}
}

func TestRefusedSelectors(t *testing.T) {
	for _, text := range []string{"", " ", ".", "#", "a >", "> a", "a,", ",a", "a[", "a[x", `a["`, "a:has(b c)", "a:not(:has(b))",
		":nth-child(", "a::before", "a:unknown", "a + + b", strings.Repeat("a ", 65), strings.Repeat("a", MaxExpr+1)} {
		if _, err := CompileCSS(text); err == nil {
			t.Errorf("CompileCSS(%.20q): no error", text)
		}
	}
}

// Without bounds each of these would take minutes.
func TestHostileSelectors(t *testing.T) {
	for name, c := range map[string]struct {
		selector, page string
		costly         bool
	}{
		"deep descendants":   {"x div div div div div div div div div div", strings.Repeat("<div>", 400), false},
		"many siblings":      {"p:nth-last-child(7)", "<body>" + strings.Repeat("<p></p>", 100_000), true},
		"texts of ancestors": {`div:contains("zz")`, strings.Repeat("<div>", 400) + strings.Repeat("<b>x</b>", 100_000), true},
		"some siblings":      {"tr:nth-child(odd)", "<table>" + strings.Repeat("<tr><td>x", 5000), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := CompileCSS(c.selector)
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Find(context.Background(), document(t, c.page), Limits{Matches: 10_000})
			if errors.Is(err, ErrCostly) != c.costly || err != nil && !c.costly {
				t.Errorf("error %v", err)
			}
		})
	}
	s, err := CompileCSS("p")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Find(ctx, document(t, cssPage), Limits{Matches: 9}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func FuzzCSS(f *testing.F) {
	for _, text := range []string{".a b > c", `a:not([x="]"])`, "a,b::text", `a\:b:contains(")")`, "a:nth-child(2n+1)::attr(x)", ":has(a)"} {
		f.Add(text, cssPage)
	}
	f.Fuzz(func(t *testing.T, text, page string) {
		if len(page) > 2000 || len(text) > 200 {
			return
		}
		s, err := CompileCSS(text)
		if err != nil {
			return
		}
		if got, _ := s.Find(context.Background(), document(t, page), Limits{Matches: 50}); len(got) > 50 {
			t.Errorf("%d matches", len(got))
		}
	})
}
