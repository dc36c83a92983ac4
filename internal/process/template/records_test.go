package template

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

const goods = `<h1>Ship's chandler</h1><p class=name>Not a product</p><ul class=goods>
<li class=card data-id=1><h3>Rope <b>20 m</b></h3><span class=price>12.50 EUR</span><a href="/rope">see</a>
 <ul><li class=size><i>6 mm</i><u>10</u></li><li class=size><i>8 mm</i><u>12</u></li></ul></li>
<li class=card data-id=2><h3>Anchor "Bo" &amp; co</h3><span class=price>99 EUR</span></li>
<li class=card data-id=3><span class=price>sold out</span></li></ul>
<ol class=more><li class=card data-id=4><h3>Buoy</h3></li></ol>`

// A rule with tags gives a list of objects. docs/templates.md describes it.
func TestListsOfObjects(t *testing.T) {
	for _, c := range []struct{ name, rules, page, want string }{
		{"CSS", `{"target":".goods > .card","tags":{"name":["h3"],"price":[".price"]}}`, goods,
			`[{"name":"Rope 20 m","price":"12.50 EUR"},{"name":"Anchor \"Bo\" & co","price":"99 EUR"},{"price":"sold out"}]`},
		{"XPath of the page", `{"target":"//ul/li[@class='card']","tags":{"name":["//li/h3"]}}`, goods, `[{"name":"Rope 20 m"},{"name":"Anchor \"Bo\" & co"}]`},
		{"XPath of the object", `{"target":".card","tags":{"id":["./@data-id"],"name":["./h3"],"n":["count(./*)"]}}`, goods,
			`[{"id":"1","name":"Rope 20 m","n":"4"},{"id":"2","name":"Anchor \"Bo\" & co","n":"2"},{"id":"3","n":"1"},{"id":"4","name":"Buoy","n":"1"}]`},
		{"the element itself", `{"target":"//li[@class='size']/i","tags":{"size":["."]}}`, goods, `[{"size":"6 mm"},{"size":"8 mm"}]`},
		{"a value of the page", `{"target":".card","tags":{"name":[{"target":"h3","mandatory":1}],"shop":["string(//h1)"]}}`, goods,
			`[{"name":"Rope 20 m","shop":"Ship's chandler"},{"name":"Anchor \"Bo\" & co","shop":"Ship's chandler"},{"name":"Buoy","shop":"Ship's chandler"}]`},
		{"types and formats of fields", `{"target":".card","tags":{"price":[{"target":".price","postProcessing":"[0-9.]+"}],"link":[{"target":"a","type":"link","canonicalizeURLs":1}],"name":[{"target":"h3","format":"4"}]}}`, goods,
			`[{"price":"12.50","link":"http://site.example/rope","name":"Rope"},{"price":"99","name":"Anch"},{"name":"Buoy"}]`},
		{"a mandatory field", `{"target":".card","tags":{"name":[{"target":"h3","mandatory":1}]}}`, goods, `[{"name":"Rope 20 m"},{"name":"Anchor \"Bo\" & co"},{"name":"Buoy"}]`},
		{"a default of a field", `{"target":".goods .card","tags":{"id":["./@data-id"],"name":[{"target":"h3","default":"?"}]}}`, goods, `[{"id":"1","name":"Rope 20 m"},{"id":"2","name":"Anchor \"Bo\" & co"},{"id":"3","name":"?"}]`},
		{"a list in an object", `{"target":".card","tags":{"id":["./@data-id"],"sizes":[{"target":".size","tags":{"size":["i"],"price":["./u"]}}]}}`, goods,
			`[{"id":"1","sizes":[{"size":"6 mm","price":"10"},{"size":"8 mm","price":"12"}]},{"id":"2"},{"id":"3"},{"id":"4"}]`},
		{"a relative list in an object", `{"target":".card","tags":{"sizes":[{"target":"./ul/li","tags":{"size":["./i"]}}]}}`, goods, `[{"sizes":[{"size":"6 mm"},{"size":"8 mm"}]}]`},
		{"the nearest object", `{"target":"div","tags":{"b":["b"]}}`, `<div><b>1</b><div><b>2</b></div><b>3</b></div>`, `[{"b":"1 3"},{"b":"2"}]`},
		{"attributesExclude", `{"target":".card","attributesExclude":{"data-id":"[13]"},"tags":{"id":["./@data-id"]}}`, goods, `[{"id":"2"},{"id":"4"}]`},
		{"two rules are one list", `[{"target":".goods > .card","tags":{"name":["h3"]}},{"target":".more > .card","join":"concat","tags":{"name":["h3"]}}]`, goods,
			`[{"name":"Rope 20 m"},{"name":"Anchor \"Bo\" & co"},{"name":"Buoy"}]`},
		{"the second rule, if the first finds nothing", `[{"target":".none","tags":{"name":["h3"]}},{"target":".more > .card","tags":{"name":["h3"]}}]`, goods, `[{"name":"Buoy"}]`},
		{"a default", `{"target":".none","tags":{"name":["h3"]},"default":"[]"}`, goods, `[]`},
		{"nothing", `{"target":".none","tags":{"name":["h3"]}}`, goods, ""},
		{"no object with a value", `{"target":".card","tags":{"name":["h5"]}}`, goods, ""},
		{"the type may be named", `{"target":".more > .card","type":"records","tags":{"name":["h3"]}}`, goods, `[{"name":"Buoy"}]`},
		{"rows of a table", `{"target":"table > tr","tags":{"a":["./td[1]"],"b":["./td[2]"]}}`, `<table><tr><td>1<td>x<tr><td>2<td>y</table>`, `[{"a":"1","b":"x"},{"a":"2","b":"y"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, problems := apply(t, c.rules, c.page, options())
			if got := r.First("x"); got != c.want || len(problems) > 0 || got != "" && !json.Valid([]byte(got)) {
				t.Errorf("got %s (%s), want %s", got, messages(problems), c.want)
			}
			if tag := r.Tag("x"); tag != nil && tag.Type != result.TypeRecords {
				t.Errorf("type %q", tag.Type)
			}
		})
	}
}

// Lists of objects may be in items, and relative targets begin at the container of an item.
func TestListsInItems(t *testing.T) {
	template := `{"container":".card","tags":{"id":["./@data-id"],"first":["string(.//i)"],"sizes":[{"target":".size","tags":{"size":["i"]}}]}}`
	want := `id=1 first=6 mm sizes=[{"size":"6 mm"},{"size":"8 mm"}] order_number=1; id=2 order_number=2; id=3 order_number=3; id=4 order_number=4`
	if got, problems := itemsOf(t, template, goods); got != want || len(problems) > 0 {
		t.Errorf("got %s (%s)", got, messages(problems))
	}
}

func TestFaultyLists(t *testing.T) {
	for name, c := range map[string]struct{ rules, message, want string }{
		"type and format":          {`{"target":".more > .card","type":"html","format":"3","tags":{"name":["h3"]}}`, `gives a list of objects; its "type", "format" and "postProcessing" have no effect`, `[{"name":"Buoy"}]`},
		"records without tags":     {`{"target":"h1","type":"records"}`, `"tags" is missing`, "Ship's chandler"},
		"a default that is a text": {`{"target":".none","default":"none","tags":{"name":["h3"]}}`, `expected a JSON list`, ""},
		"a field without a target": {`{"target":".more > .card","tags":{"name":["h3"],"price":["h3 >"]}}`, `template 1, tag "x.price", rule 1: "target": "h3 >" is neither XPath nor CSS`, `[{"name":"Buoy"}]`},
		"a list and a text":        {`[{"target":".more > .card","tags":{"name":["h3"]}},{"target":"h1","join":"concat"}]`, "", `[{"name":"Buoy"}]`},
	} {
		r, problems := apply(t, c.rules, goods, options())
		if got := r.First("x"); got != c.want || !strings.Contains(messages(problems), c.message) || (c.message == "") != (len(problems) == 0) {
			t.Errorf("%s: %s, %s", name, got, messages(problems))
		}
		if c.message != "" && Bits(problems) != errormask.Scraper {
			t.Errorf("%s: bits %v", name, Bits(problems).Names())
		}
	}
	for text, want := range map[string]string{
		`{"a":[{"target":"p","tags":{}}]}`: `tag "a", rule 1: "tags" is empty`,
		`{"a":[{"target":"p","tags":{"b":[{"target":"p","tags":{"c":[{"target":"p","tags":{"d":[{"target":"p","tags":{"e":[{"target":"p","tags":{"f":["p"]}}]}}]}}]}}]}}]}`: "is inside of 4 other lists",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The trace of a list has its fields: what each rule found, and why objects were dropped.
func TestTraceOfLists(t *testing.T) {
	o := options()
	o.Trace = &Trace{}
	apply(t, `{"target":".card","tags":{"name":[{"target":"h3","mandatory":1}],"id":["./@data-id"],"price":[".cost"]}}`, goods, o)
	rule := o.Trace.Tags[0].Rules[0]
	if rule.Type != "records" || rule.Matches != 4 || rule.Outcome != "used" || len(rule.Fields) != 3 {
		t.Fatalf("%+v", rule)
	}
	name, price := rule.Fields[0].Rules[0], rule.Fields[2].Rules[0]
	if name.Matches != 3 || name.Outcome != "used in the objects" || price.Outcome != "no value" || !strings.Contains(price.Remark, "matches nothing") {
		t.Errorf("%+v, %+v", name, price)
	}
	if !strings.Contains(strings.Join(o.Trace.Notes, ";"), "item 3 of the page is dropped: it has no x.name, which is mandatory") {
		t.Errorf("notes %q", o.Trace.Notes)
	}
}

func TestListsAreBounded(t *testing.T) {
	page := "<ul>" + strings.Repeat("<li><b>x</b></li>", maxItems+7) + "</ul>"
	r, problems := apply(t, `{"target":"li","tags":{"b":["./b"],"c":["b"]}}`, page, options())
	var list []map[string]string
	if err := json.Unmarshal([]byte(r.First("x")), &list); err != nil || len(list) != maxItems || Bits(problems) != errormask.MaxItems {
		t.Errorf("%d objects, %v, %s", len(list), err, messages(problems))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := set(t, `{"x":{"target":"li","tags":{"b":["./b"]}}}`)
	if r, problems := s.Templates[0].Apply(ctx, parsed(t, goods), options()); len(r.Tags) > 0 || Bits(problems) != errormask.Scraper {
		t.Errorf("%+v, %s", r.Tags, messages(problems))
	}
}
