package xpath

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTargets(t *testing.T) {
	doc, err := HTML([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		target string
		max    int
		want   []string // element, attribute and text of each match
	}{
		{".news a", 9, []string{"a  One", "a  Two words"}},
		{".news a, .news", 9, []string{"div  OneTwo words", "a  One", "a  Two words"}},
		{".news a", 1, []string{"a  One"}},
		{".nothing", 9, nil},
		{"#x, .news > a[rel]", 9, []string{"a  Two words"}},
		{"//div/a", 9, []string{"a  One", "a  Two words"}},
		{"//td/a/@href", 9, []string{"a href /3"}},
		{"//td/a/text()", 9, []string{"  x"}},
		{"string(//td/a)", 9, []string{"  x"}},
		{"count(//td)", 9, []string{"  1"}},
	} {
		t.Run(c.target, func(t *testing.T) {
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
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
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
