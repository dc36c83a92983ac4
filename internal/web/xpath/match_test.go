package xpath

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

const story = `<html><head><title>T</title></head><body><article id=a data-id=n-7><h1> Big  <b>news</b> </h1>
<p class=lead>One</p><p>Two</p><!-- note --><p>Three</p><h2>More</h2><p>Four</p></article>
<ul><li>1</li><li>2</li><li>3</li></ul><noscript><img src=/n.png></noscript><a href="/x?y=1">link</a></body></html>`

// show describes matches: the name or text of a node, @name=value, or =text.
func show(matches []Match) (list []string) {
	for _, m := range matches {
		switch {
		case m.Node == nil:
			list = append(list, "="+m.Text)
		case m.Attr != "":
			list = append(list, "@"+m.Attr+"="+m.Text)
		case m.Node.FirstChild != nil:
			list = append(list, m.Node.Data+":"+m.Node.FirstChild.Data)
		default:
			list = append(list, strings.TrimSpace(m.Node.Data))
		}
	}
	return list
}

// The functions and axes that templates of the original service use
// (docs/spec/processing.md 2.3).
func TestFunctionsAndAxes(t *testing.T) {
	doc, err := HTML([]byte(story))
	if err != nil {
		t.Fatal(err)
	}
	for expr, want := range map[string][]string{
		`//p`:                                      {"p:One", "p:Two", "p:Three", "p:Four"},
		`//p/text()`:                               {"One", "Two", "Three", "Four"},
		`//article/@data-id`:                       {"@data-id=n-7"},
		`//a/@href|//article/@id`:                  {"@id=a", "@href=/x?y=1"},
		`//li[2]|//li[1]|//li`:                     {"li:1", "li:2", "li:3"},
		`//li[last()]`:                             {"li:3"},
		`//li[position()<3]`:                       {"li:1", "li:2"},
		`(//p)[2]`:                                 {"p:Two"},
		`//p[1]`:                                   {"p:One"},
		`//li/parent::ul`:                          {"ul:li"},
		`//b/ancestor::article/@id`:                {"@id=a"},
		`//b/ancestor::*`:                          {"html:head", "body:article", "article:h1", "h1: Big  "},
		`//h2/preceding-sibling::p`:                {"p:One", "p:Two", "p:Three"},
		`//h2/preceding-sibling::p[1]`:             {"p:Three"},
		`//h2/following-sibling::p`:                {"p:Four"},
		`//h2/preceding::b`:                        {"b:news"},
		`//h2/following::li[1]`:                    {"li:1"},
		`//article/child::h1`:                      {"h1: Big  "},
		`//article/descendant::b`:                  {"b:news"},
		`//article/descendant-or-self::*/@id`:      {"@id=a"},
		`//b/..`:                                   {"h1: Big  "},
		`//h2/self::h2`:                            {"h2:More"},
		`//noscript/img/@src`:                      {"@src=/n.png"},
		`//comment()`:                              {"note"},
		`//p[contains(@class,"le")]`:               {"p:One"},
		`//p[starts-with(.,"T")]`:                  {"p:Two", "p:Three"},
		`//p[not(@class)]`:                         {"p:Two", "p:Three", "p:Four"},
		`//p[string-length(.)>3]`:                  {"p:Three", "p:Four"},
		`//p[number(//li[2])=2]/@class`:            {"@class=lead"},
		`//*[name()="h2"]`:                         {"h2:More"},
		`//*[local-name()="h2"]`:                   {"h2:More"},
		`substring-before(//article/@data-id,"-")`: {"=n"},
		`substring-after(//article/@data-id,"-")`:  {"=7"},
		`substring(//h2,1,2)`:                      {"=Mo"},
		`concat(//h2,"-",//li[1])`:                 {"=More-1"},
		`string(//li[3])`:                          {"=3"},
		`normalize-space(//h1)`:                    {"=Big news"},
		`translate(//h2,"Me","LE")`:                {"=LorE"},
		`count(//li)`:                              {"=3"},
		`number(//h2)`:                             nil,
		`string(//h6)`:                             nil,
		`//h6`:                                     nil,
	} {
		t.Run(expr, func(t *testing.T) {
			e, err := Compile(expr)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Find(context.Background(), doc, Limits{Matches: 9})
			if err != nil || !slices.Equal(show(got), want) {
				t.Errorf("got %q, %v, want %q", show(got), err, want)
			}
		})
	}
}

func TestFindIsBounded(t *testing.T) {
	doc, err := HTML([]byte(strings.Repeat("<p>x", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Compile("//p")
	if err != nil {
		t.Fatal(err)
	}
	steps := 100_000
	for i := 0; ; i++ {
		got, err := e.Find(context.Background(), doc, Limits{Matches: 7, Steps: &steps})
		if errors.Is(err, ErrCostly) && i > 0 && steps == 0 {
			return
		}
		if len(got) != 7 || err != nil || i > 100_000 {
			t.Fatal(fmt.Sprint(i, len(got), err, steps))
		}
	}
}
