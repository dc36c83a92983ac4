package fields_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/process/fields"
)

const shop = `<!doctype html><html><head><base href="/shop/">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[{"@type":"WebPage","name":"Cups"},
{"@type":"Product","name":"Cup","sku":"C-7","offers":[{"price":12.50,"priceCurrency":"EUR"},{"price":"9"}],"tags":["red","blue"],"inStock":true}]}</script>
<script type="application/ld+json">{ broken</script></head><body>
<h1> Cups &amp;  <b>plates</b><script>ignored()</script></h1>
<p class=note>In 1 234 shops, 120 pages</p>
<ul><li class=item><a href="cup.html">Cup</a><span class=price>1.234,50 €</span><i>new</i></li>
<li class=item><a href="/plate">Plate</a><span class=price>$1,299</span></li><li class=item></li></ul>
</body></html>`

func read(t *testing.T, set *fields.Set, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	values, problems := set.Read(t.Context(), []byte(shop), "https://site.example/a/b")
	if problems != nil {
		t.Errorf("problems %q", problems)
	}
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFields(t *testing.T) {
	for definition, want := range map[string]string{
		`{"title":{"css":"h1"}}`:                                                                `{"title":"Cups \u0026 plates"}`,
		`{"title":{"xpath":"//h1"}}`:                                                            `{"title":"Cups \u0026 plates"}`,
		`{"n":{"xpath":"count(//li)","type":"integer"}}`:                                        `{"n":3}`,
		`{"prices":{"css":".price","type":"number","list":true}}`:                               `{"prices":[1234.5,1299]}`,
		`{"links":{"css":"li a::attr(href)","type":"url","list":true}}`:                         `{"links":["https://site.example/shop/cup.html","https://site.example/plate"]}`,
		`{"link":{"xpath":"//li/a/@href"}}`:                                                     `{"link":"cup.html"}`,
		`{"shops":{"css":".note","pattern":"In ([\\d ]+) shops","type":"integer"}}`:             `{"shops":1234}`,
		`{"pages":{"pattern":"(\\d+) pages","type":"number"}}`:                                  `{"pages":120}`,
		`{"price":{"jsonld":"offers.price","type":"number"}}`:                                   `{"price":12.5}`,
		`{"price":{"jsonld":"offers.price","list":true}}`:                                       `{"price":["12.50","9"]}`,
		`{"name":{"jsonld":"sku"},"tags":{"jsonld":"tags","list":true}}`:                        `{"name":"C-7","tags":["red","blue"]}`,
		`{"stock":{"jsonld":"inStock","type":"boolean"},"none":{"jsonld":"offers.x"}}`:          `{"stock":true}`,
		`{"none":{"css":".absent"},"text":{"css":"i","type":"number"}}`:                         `{}`,
		`{"items":{"css":".item","list":true,"fields":{"name":{"css":"a"},"new":{"css":"i"}}}}`: `{"items":[{"name":"Cup","new":"new"},{"name":"Plate"}]}`,
		`{"items":{"xpath":"//li","list":true,"fields":{"name":{"xpath":"a"},"url":{"xpath":"a/@href","type":"url"},"price":{"css":".price","type":"number"}}}}`: `{"items":[` +
			`{"name":"Cup","price":1234.5,"url":"https://site.example/shop/cup.html"},{"name":"Plate","price":1299,"url":"https://site.example/plate"}]}`,
	} {
		set, err := fields.Parse([]byte(definition))
		if got := read(t, set, err); got != want {
			t.Errorf("%s:\n%s, want\n%s", definition, got, want)
		}
	}
}

func TestRefusedFields(t *testing.T) {
	deep := `{"css":"a"}`
	for range 6 {
		deep = `{"css":"a","fields":{"x":` + deep + `}}`
	}
	many := map[string]fields.Field{}
	for i := range 201 {
		many[fmt.Sprint(i)] = fields.Field{CSS: "a"}
	}
	text, _ := json.Marshal(many)
	for definition, want := range map[string]string{
		`{"a":{"css":"a","xpath":"//a"}}`: `field "a": give one of`,
		`{"a":{}}`:                        `field "a": give one of`,
		`{"a":{"css":"a","fields":{"b":{"css":"[["}}}}`:       `field "a.b": `,
		`{"a":{"xpath":"//["}}`:                               `field "a": `,
		`{"a":{"css":"a","type":"date"}}`:                     `type "date" is not one of text, number`,
		`{"a":{"css":"a","pattern":"("}}`:                     `field "a": `,
		`{"a":{"csss":"a"}}`:                                  `unknown field "csss"`,
		`{"a":{"jsonld":"a","fields":{"b":{"css":"b"}}}}`:     "a record needs css or xpath",
		`{"a":` + deep + `}`:                                  "nested deeper than 5",
		`{"a":{"css":"` + strings.Repeat("a", 70_000) + `"}}`: "more than 65536 bytes",
		string(text): "more than 200 fields",
		`[]`:         "fields: ",
	} {
		if _, err := fields.Parse([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", definition, err, want)
		}
	}
}

// A schema finds values where its properties say, by their names in JSON-LD, and in what is known of the page.
func TestSchema(t *testing.T) {
	set, err := fields.FromSchema([]byte(`{"type":"object","properties":{"sku":{"type":"string"},"price":{"type":["number","null"],"jsonld":"offers.price"},
		"title":{"type":"string"},"shops":{"type":"integer","css":".note","match":"In ([\\d ]+) shops"},
		"links":{"type":"array","items":{"type":"string","format":"uri","css":"li a::attr(href)"}},
		"items":{"type":"array","css":".item","items":{"type":"object","properties":{"name":{"css":"a"}}}}},"required":["sku"]}`))
	if err != nil {
		t.Fatal(err)
	}
	values, problems := set.Read(t.Context(), []byte(shop), "https://site.example/a/b")
	set.Missing(values, func(name string) string { return map[string]string{"title": "Of the page", "sku": "wrong"}[name] })
	text, _ := json.Marshal(values)
	want := `{"items":[{"name":"Cup"},{"name":"Plate"}],"links":["https://site.example/shop/cup.html","https://site.example/plate"],` +
		`"price":12.5,"shops":1234,"sku":"C-7","title":"Of the page"}`
	if string(text) != want || problems != nil {
		t.Errorf("%s %q", text, problems)
	}
	for _, bad := range []string{`{}`, `[]`, `{"properties":{"a":{"css":"[["}}}`} {
		if _, err := fields.FromSchema([]byte(bad)); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"12": "12", "$1,234.50": "1234.5", "1.234,50 €": "1234.5", "12 500 km": "12500", "1,234": "1234", "1,5": "1.5", "1.5": "1.5",
		"1.234": "1.234", "1.234.567": "1234567", "1,234,567": "1234567", "-3 °C": "-3", "−3": "-3", "-$5": "-5", "about 7.": "7", "1'000": "1000",
		"4-5": "4", "2e3": "2000", "1.5e-3": "0.0015", "3em": "3", "12 500 30": "12500", "1234 567": "1234567",
	} {
		set, err := fields.Compile(map[string]fields.Field{"n": {CSS: "p", Type: "number"}})
		if err != nil {
			t.Fatal(err)
		}
		values, _ := set.Read(t.Context(), []byte("<p>"+text), "")
		if got := fmt.Sprint(values["n"]); got != want && fmt.Sprintf("%.0f", values["n"]) != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A page that costs too much ends the reading of fields, not the reader.
func TestCostlyPage(t *testing.T) {
	set, err := fields.Parse([]byte(`{"a":{"xpath":"//div[count(preceding::div) > count(following::div)]","list":true},"b":{"css":"h1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	values, problems := set.Read(t.Context(), []byte("<h1>x</h1>"+strings.Repeat("<div>x</div>", 20_000)), "")
	if len(problems) == 0 || !strings.Contains(problems[0], `field "a"`) {
		t.Errorf("%d values, problems %q", len(values), problems)
	}
}
