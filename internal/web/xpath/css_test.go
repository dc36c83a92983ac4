package xpath

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Each case names the language that reads the target.
func TestTargets(t *testing.T) {
	doc, err := HTML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, target string
		css          bool
		max          int
		want         []string // element, attribute and text of each match
	}{
		{"a class", ".news a", true, 9, []string{"a  One", "a  Two words"}},
		{"a list", ".news a, .news", true, 9, []string{"div  OneTwo words", "a  One", "a  Two words"}},
		{"a bounded number of matches", ".news a", true, 1, []string{"a  One"}},
		{"a class without a match", ".nothing", true, 9, nil},
		{"an id that is missing", "#x, .news > a[rel]", true, 9, []string{"a  Two words"}},
		{"an element", "td", true, 9, []string{"td  x"}},
		{"a list of elements", "td, a[rel]", true, 9, []string{"a  Two words", "td  x"}},
		{"a child, which XPath compares", "div > a", true, 9, []string{"a  One", "a  Two words"}},
		{"a descendant", "table a", true, 9, []string{"a  x"}},
		{"a descendant, which XPath divides", "body div a", true, 9, []string{"a  One", "a  Two words"}},
		{"a sibling, which XPath adds", "a + a", true, 1, []string{"a  Two words"}},
		{"a class of an element", "div.news > a", true, 9, []string{"a  One", "a  Two words"}},
		{"an attribute, which XPath takes for a child", "a[rel]", true, 9, []string{"a  Two words"}},
		{"an attribute with a slash", `a[href^="/3"]`, true, 9, []string{"a  x"}},
		{"a pseudo-class", "div a:first-child", true, 9, []string{"a  One"}},
		{"a pseudo-element", "td a::attr(href)", true, 9, []string{"a href /3"}},
		{"a universal attribute", "*[rel]", true, 9, []string{"a  Two words"}},

		{"a path", "//div/a", false, 9, []string{"a  One", "a  Two words"}},
		{"a path from the root element", "html/body/div/a", false, 9, []string{"a  One", "a  Two words"}},
		{"a relative path", ".//div/a", false, 9, []string{"a  One", "a  Two words"}},
		{"an attribute of a path", "//td/a/@href", false, 9, []string{"a href /3"}},
		{"texts of a path", "//td/a/text()", false, 9, []string{"  x"}},
		{"an axis", "descendant::td/a", false, 9, []string{"a  x"}},
		{"a parenthesis", "(//a)[1]", false, 9, []string{"a  One"}},
		{"a union", "//td | //div/a[1]", false, 9, []string{"a  One", "td  x"}},
		{"a text", "string(//td/a)", false, 9, []string{"  x"}},
		{"a number", "count(//td)", false, 9, []string{"  1"}},
		{"a literal", "'x > y'", false, 9, []string{"  x > y"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target, err := Target(c.target)
			if err != nil {
				t.Fatal(err)
			}
			matches, err := target.Matches(context.Background(), doc, c.max)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range matches {
				name := ""
				if m.Node != nil && m.Node.FirstChild != nil {
					name = m.Node.Data
				}
				got = append(got, name+" "+m.Attr+" "+m.Text)
			}
			if !slices.Equal(got, c.want) || IsCSS(target) != c.css {
				t.Errorf("%q, CSS %v, want %q", got, IsCSS(target), c.want)
			}
		})
	}
}

// What XPath finds stays, although CSS would find something else.
func TestXPathThatFindsSomethingStays(t *testing.T) {
	doc, err := HTML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"*", "html", "html[body]", "*[head]"} {
		target, err := Target(text)
		if err != nil {
			t.Fatal(err)
		}
		list, err := target.Find(context.Background(), doc, Limits{Matches: 9})
		if err != nil || len(list) != 1 || list[0].Node.Data != "html" {
			t.Errorf("%s: %v, %v; want the element html", text, list, err)
		}
	}
}

// A text that is neither is refused with both reasons, what is clearly one of them with one.
func TestNeither(t *testing.T) {
	for text, want := range map[string][]string{
		"h1 >":        {"neither XPath nor CSS", "compile XPath", "compile CSS"},
		"h1 and h2":   {"neither XPath nor CSS", "true or false", "an operator of XPath"},
		"h1:no-class": {"neither XPath nor CSS", "has a prefix", "compile CSS"},
		"price: 12":   {"neither XPath nor CSS"},
		"//h1[":       {"compile XPath"},
		"//h1 = 'x'":  {"true or false"},
		".a:nothing":  {"compile CSS"},
	} {
		_, err := Target(text)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v; want %q", text, err, part)
			}
		}
		if both := strings.Contains(err.Error(), "neither"); both != (len(want) > 1 || text == "price: 12") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FindIn evaluates relative expressions at each node, and leaves those of the document to Find.
func TestFindIn(t *testing.T) {
	doc, err := HTML([]byte(`<h1>T</h1><ul><li id=1><b>x</b><i>y</i></li><li id=2><p><b>z</b></p></li></ul>`))
	if err != nil {
		t.Fatal(err)
	}
	items, err := Target("li")
	if err != nil {
		t.Fatal(err)
	}
	list, err := items.Find(context.Background(), doc, Limits{Matches: 9})
	if err != nil {
		t.Fatal(err)
	}
	nodes := []*html.Node{list[0].Node, list[1].Node}
	for target, want := range map[string]string{
		"./b": "b;", "./@id": "1;2", "string(.//b)": "x;z", "concat(//h1, ' ', .//b)": "T x;T z", "count(./*)": "2;1", "self::node()": "li;li",
		"./b | .//p": "b;p", "../li[1]": "li;li", "//b": "document", "(//b)[1]": "document", "//b | //i": "document", "b": "document", ".x": "document",
	} {
		s, err := Target(target)
		if err != nil {
			t.Fatal(err)
		}
		lists, ok, err := FindIn(context.Background(), s, doc, nodes, Limits{Matches: 9})
		var got []string
		for _, list := range lists {
			var one []string
			for _, m := range list {
				if m.Text == "" {
					m.Text = m.Node.Data
				}
				one = append(one, m.Text)
			}
			got = append(got, strings.Join(one, ","))
		}
		if text := strings.Join(got, ";"); err != nil || ok && text != want || !ok && want != "document" {
			t.Errorf("%s: %q, %v, %v; want %q", target, text, ok, err, want)
		}
	}
	back, err := must(Compile("./b")).FindIn(context.Background(), doc, []*html.Node{nodes[1], nodes[0], nodes[0]}, Limits{Matches: 9})
	if err != nil || len(back[0]) != 0 || len(back[1]) != 1 || len(back[2]) != 1 {
		t.Errorf("nodes in another order, and twice: %v, %v", back, err)
	}
	other := &html.Node{Type: html.ElementNode, Data: "b"}
	if _, err := must(Compile("./b")).FindIn(context.Background(), doc, []*html.Node{other}, Limits{Matches: 9}); err == nil {
		t.Error("a node of another document: no error")
	}
}

func must(e *Expr, err error) *Expr {
	if err != nil {
		panic(err)
	}
	return e
}

func TestBrokenSelectors(t *testing.T) {
	for _, text := range []string{"", ".", "#", ".a[", ".a:nothing", ".a >", "." + strings.Repeat("a", MaxExpr)} {
		if _, err := Target(text); err == nil {
			t.Errorf("Target(%.20q): no error", text)
		}
	}
}

func TestSelectorsAreBounded(t *testing.T) {
	doc, err := HTML([]byte(strings.Repeat("<b class=x>word", 400) + strings.Repeat("<i>", 10)))
	if err != nil {
		t.Fatal(err)
	}
	target, err := CompileCSS(".x")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := target.Matches(context.Background(), doc, 3); len(list) != 3 || err != nil {
		t.Errorf("%d matches, %v", len(list), err)
	}
	large, err := HTML([]byte(strings.Repeat("<p class=x>word", 2*checkEvery)))
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := target.Matches(ended, large, 1<<20); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{".a", ".a:has(.b:has(.c))", "#" + strings.Repeat(":not(", 300), ".a ~ .b ~ .c ~ .d", ".\\", "//a[", ".a:nth-child(99999999999999999999n)"} {
		f.Add(seed)
	}
	doc, err := HTML([]byte(page))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if target, err := Target(text); err == nil {
			_, _ = target.Matches(context.Background(), doc, 9)
		}
	})
}
