package template

import (
	"context"
	"strings"
	"testing"

	"hce/dc/internal/wire/errormask"
)

// itemsOf shows the items of a page: tags in the order of the template, without source_url.
func itemsOf(t testing.TB, template, page string) (string, []Problem) {
	t.Helper()
	s := set(t, template)
	o := options()
	o.Text = plain
	results, problems := s.Templates[0].Items(context.Background(), parsed(t, page), o)
	var list []string
	for _, r := range results {
		text := ""
		for _, tag := range r.Tags {
			if tag.Name != "source_url" {
				text += " " + tag.Name + "=" + strings.Join(tag.Data, "|")
			} else if tag.First() != o.URL {
				t.Errorf("source_url is %q", tag.Data)
			}
		}
		list = append(list, strings.TrimSpace(text))
	}
	return strings.Join(list, "; "), problems
}

func TestItems(t *testing.T) {
	const tags = `{"tags":{"a":[{"target":"//h3"}],"b":[{"target":"//p","delimiter":"+"}]}}`
	for name, c := range map[string]struct{ template, page, want string }{
		"3.7 list":                              {tags, `<ul><li><h3>1</h3><p>x</p></li><li><h3>2</h3><p>y</p></li><li><h3>3</h3><p>z</p></li></ul>`, "a=1 b=x order_number=1; a=2 b=y order_number=2; a=3 b=z order_number=3"},
		"3.7 two items":                         {tags, `<ul><li><h3>1</h3><p>x</p></li><li><h3>2</h3><p>y</p></li></ul>`, "a=1 b=x order_number=1; a=2 b=y order_number=2"},
		"3.7 one item":                          {tags, `<ul><li><h3>1</h3><p>x</p></li></ul>`, "a=1 b=x order_number=1"},
		"3.7 wrapped values":                    {tags, `<div><div><div><h3>1</h3></div><div><p>x</p></div></div><div><div><h3>2</h3></div><div><p>y</p></div></div></div>`, "a=1 b=x order_number=1; a=2 b=y order_number=2"},
		"3.7 values of a tag are concatenated":  {tags, `<div><div><h3>1</h3><p>x</p><p>y</p></div><div><h3>2</h3><p>z</p></div></div>`, "a=1 b=x+y order_number=1; a=2 b=z order_number=2"},
		"3.7 table rows":                        {`{"tags":{"a":["//td[1]"],"b":["//td[2]"]}}`, `<table><tr><th>A<th>B<tr><td>1<td>x<tr><td>2<td>y</table>`, "a=1 b=x order_number=1; a=2 b=y order_number=2"},
		"3.7 mandatory tag":                     {`{"tags":{"a":["//h3"],"b":[{"target":"//p","mandatory":1},{"target":"//i","mandatory":1,"join":"concat"}]}}`, `<ul><li><h3>1</h3></li><li><h3>2</h3><p>y</p></li><li><h3>3</h3><i>z</i></li></ul>`, "a=2 b=y order_number=1; a=3 b=z order_number=2"},
		"3.7 not all rules mandatory":           {`{"tags":{"a":["//h3"],"b":[{"target":"//p","mandatory":1},{"target":"//i","join":"concat"}]}}`, `<ul><li><h3>1</h3></li><li><h3>2</h3><p>y</p></li></ul>`, "a=1 order_number=1; a=2 b=y order_number=2"},
		"3.7 default":                           {`{"tags":{"a":["//h3"],"b":[{"target":"//p","default":"-"}]}}`, `<ul><li><h3>1</h3></li><li><h3>2</h3><p>y</p></li></ul>`, "a=1 b=- order_number=1; a=2 b=y order_number=2"},
		"3.7 none left":                         {`{"tags":{"a":[{"target":"//h5","mandatory":1}],"b":["//p"]}}`, `<ul><li><p>x</p></li><li><p>y</p></li></ul>`, ""},
		"3.7 nothing found":                     {tags, `<b>x</b>`, ""},
		"3.7 only postProcessing":               {`{"tags":{"a":[{"target":"//h3","format":"1","postProcessing":"([0-9]+)"}],"b":[{"target":"//p","type":"datetime"}]}}`, `<ul><li><h3>no 12</h3><p>5 March 2026</p></li><li><h3>no 13</h3><p>6 March 2026</p></li></ul>`, "a=12 b=5 March 2026 order_number=1; a=13 b=6 March 2026 order_number=2"},
		"3.7 join first in an item":             {`{"tags":{"a":[{"target":"//h3"},{"target":"//h4"}]}}`, `<ul><li><h3>1</h3><h4>one</h4></li><li><h4>two</h4></li><li><h3>3</h3></li></ul>`, "a=1 order_number=1; a=two order_number=2; a=3 order_number=3"},
		"3.7 a computed value":                  {`{"tags":{"a":["//h3"],"shop":["string(//h1)"]}}`, `<h1>S</h1><ul><li><h3>1</h3></li><li><h3>2</h3></li></ul>`, "a=1 shop=S order_number=1; a=2 shop=S order_number=2"},
		"3.7 a value outside":                   {`{"tags":{"a":["//h3"],"b":["//p"]}}`, `<p>intro</p><ul><li><h3>1</h3><p>x</p></li><li><h3>2</h3><p>y</p></li></ul>`, "a=1 b=x order_number=1; a=2 b=y order_number=2"},
		"3.7 explicit container":                {`{"container":"//div[@class='i']","tags":{"a":["//h3"],"b":["//p"]}}`, `<div><div class=i><h3>1</h3></div><p>out</p></div><section><div class=i><h3>2</h3><p>y</p></div></section>`, "a=1 order_number=1; a=2 b=y order_number=2"},
		"3.7 explicit CSS container":            {`{"container":".i","tags":{"a":["//h3"]}}`, `<div class=i><h3>1</h3><h3>2</h3></div>`, "a=1 2 order_number=1"},
		"3.7 one tag in a list":                 {`{"tags":{"a":["//li"]}}`, `<ul><li>1</li><li>2</li></ul>`, "a=1 order_number=1; a=2 order_number=2"},
		"6.2 #28 values that are skipped":       {tags, `<ul><li><h3>1</h3><p>x</p></li><li>ad</li><li><p> </p></li><li><h3>4</h3></li><li><p>w</p></li></ul>`, "a=1 b=x order_number=1; a=4 order_number=2; b=w order_number=3"},
		"6.2 #28 fewer values than the index":   {tags, `<ul><li><h3>1</h3></li><li><h3>2</h3></li><li><h3>3</h3></li><li><h3>4</h3><p>last</p></li></ul>`, "a=1 order_number=1; a=2 order_number=2; a=3 order_number=3; a=4 b=last order_number=4"},
		"6.2 #28 one tag is not split":          {`{"tags":{"text":["//article/p"]}}`, `<article><h1>T</h1><p>1</p><p>2</p><p>3</p></article>`, "text=1 2 3 order_number=1"},
		"6.2 #28 one tag of several articles":   {`{"tags":{"text":["//article/p"]}}`, `<main><article><p>1</p><p>2</p><p>3</p></article><article><p>4</p><p>5</p></article></main>`, "text=1 2 3 order_number=1; text=4 5 order_number=2"},
		"6.2 #28 title and text of one article": {`{"tags":{"a":["//h3"],"b":["//article/p"]}}`, `<article><h3>T</h3><p>1</p><p>2</p></article>`, "a=T b=1 2 order_number=1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, problems := itemsOf(t, c.template, c.page); got != c.want || len(problems) > 0 {
				t.Errorf("got %q (%s), want %q", got, messages(problems), c.want)
			}
		})
	}
}

func TestItemsAreBounded(t *testing.T) {
	page := "<ul>" + strings.Repeat("<li><b>x</b></li>", maxItems+7) + "</ul>"
	s := set(t, `{"tags":{"a":["//b"]}}`)
	results, problems := s.Templates[0].Items(context.Background(), parsed(t, page), options())
	if len(results) != maxItems || Bits(problems) != errormask.MaxItems {
		t.Errorf("%d items, %s", len(results), messages(problems))
	}
}

func TestFaultyContainer(t *testing.T) {
	got, problems := itemsOf(t, `{"templates":[{"container":"//li[","tags":{"a":["//b"]}}]}`, `<ul><li><b>1</b></li><li><b>2</b></li></ul>`)
	if got != "a=1 order_number=1; a=2 order_number=2" || Bits(problems) != errormask.Scraper || !strings.Contains(messages(problems), `template 1: "container": compile XPath`) {
		t.Errorf("%q, %s", got, messages(problems))
	}
}
