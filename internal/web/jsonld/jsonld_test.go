package jsonld

import (
	"slices"
	"strings"
	"testing"
)

func TestObjects(t *testing.T) {
	const graph = `{"@context":"https://schema.org","@graph":[{"@type":"WebSite","name":"Post"},{"@type":["Article","NewsArticle"],"headline":"A &amp; B","author":[{"@type":"Person","name":"Ann Bell"},"Cy Dor"],"datePublished":"2021-03-05","wordCount":12}]}`
	for _, c := range []struct {
		name, script, kind, key string
		want                    []string
	}{
		{"graph", graph, "NewsArticle", "headline", []string{"A & B"}},
		{"number", graph, "Article", "wordCount", []string{"12"}},
		{"list", `[{"@type":"Article","headline":"x"}]`, "Article", "headline", []string{"x"}},
		{"type as an address", `{"@type":"http://schema.org/Article","headline":"x"}`, "article", "headline", []string{"x"}},
		{"main entity", `{"@type":"WebPage","mainEntity":{"@type":"Recipe","headline":"x"}}`, "Recipe", "headline", []string{"x"}},
		{"value object", `{"@type":"Article","headline":{"@value":"x"}}`, "Article", "headline", []string{"x"}},
		{"trailing commas", `{"@type":"Article","headline":"x", "k":[1,2, /* end */ ],}`, "Article", "headline", []string{"x"}},
		{"comments", "{ // first\n\"@type\":\"Article\", /* second */ \"headline\":\"http://x\"}", "Article", "headline", []string{"http://x"}},
		{"html comment", "<!-- {\"@type\":\"Article\",\"headline\":\"x\"} -->", "Article", "headline", []string{"x"}},
		{"cdata", "//<![CDATA[\n{\"@type\":\"Article\",\"headline\":\"x\"}\n//]]>", "Article", "headline", nil},
		{"line break in a text", "{\"@type\":\"Article\",\"headline\":\"x\ny\tz\"}", "Article", "headline", []string{"x\ny z"}},
		{"unknown escape", `{"@type":"Article","headline":"it\'s",}`, "Article", "headline", []string{"it's"}},
		{"blank", `{"@type":"Article","headline":" "}`, "Article", "headline", nil},
		{"no object", `true`, "Article", "headline", nil},
		{"no JSON", `var x = 1`, "Article", "headline", nil},
		{"not closed", `{"@type":"Article","headline":"x`, "Article", "headline", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, o := range Objects(c.script) {
				if o.Is(c.kind) {
					got = o.Texts(c.key)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestNamesAndURLs(t *testing.T) {
	o := Objects(`{"author":[{"name":"Ann Bell"},"Cy Dor",{"x":1}],"image":[{"url":"a.png"},"b.png",{"@id":"c.png"}],"editor":{"name":["E F"]}}`)[0]
	if got := o.Names("author"); !slices.Equal(got, []string{"Ann Bell", "Cy Dor"}) {
		t.Errorf("names %q", got)
	}
	if got := o.URLs("image"); !slices.Equal(got, []string{"a.png", "b.png", "c.png"}) {
		t.Errorf("addresses %q", got)
	}
	if got := o.Names("editor"); !slices.Equal(got, []string{"E F"}) {
		t.Errorf("names %q", got)
	}
	if got := o.Text("missing"); got != "" {
		t.Errorf("missing key %q", got)
	}
}

func TestBounds(t *testing.T) {
	if got := Objects(`[` + strings.Repeat(`{},`, 1000) + `{}]`); len(got) != maxObjects {
		t.Errorf("%d objects", len(got))
	}
	if got := Objects(`{"k":"` + strings.Repeat("x", MaxText) + `"}`); got != nil {
		t.Errorf("%d objects of a large script", len(got))
	}
	if got := Objects(strings.Repeat(`{"@graph":`, 5000) + `1` + strings.Repeat(`}`, 5000)); len(got) > maxDepth {
		t.Errorf("%d nested objects", len(got))
	}
	o := Objects(`{"k":[` + strings.Repeat(`"x",`, 1000) + `"x"]}`)[0]
	if got := o.Texts("k"); len(got) > maxTexts {
		t.Errorf("%d texts", len(got))
	}
}

func FuzzObjects(f *testing.F) {
	for _, seed := range []string{`{"@type":"Article",}`, strings.Repeat("[", 9000), strings.Repeat("/*", 5000), `{"a":"\`, "{\"a\":\"\x00\xff\"}//", strings.Repeat(", ", 3000) + "}", `{,/**/,//` + "\n" + `}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		for _, o := range Objects(script) {
			o.Is("Article")
			for key := range o {
				_, _, _ = o.Texts(key), o.Names(key), o.URLs(key)
			}
		}
	})
}
