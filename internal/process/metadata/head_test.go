package metadata_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process/metadata"
)

// Broken JSON gives what could be read.
func TestJSONLD(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"object", `{"@type":"Article","headline":"A &amp; B"}`, "A & B"},
		{"list", `[{"@type":"Article","headline":"x"}]`, "x"},
		{"graph", `{"@graph":[{"@type":"WebSite","headline":"no","name":"s"},{"@type":["Thing","NewsArticle"],"headline":"x"}]}`, "x"},
		{"type as an address", `{"@type":"http://schema.org/Article","headline":"x"}`, "x"},
		{"main entity", `{"@type":"WebPage","mainEntity":{"@type":"Recipe","headline":"x"}}`, "x"},
		{"page of the article", `{"@type":"Article","headline":"x","mainEntityOfPage":{"@type":"WebPage","headline":"page"}}`, "x"},
		{"article behind the page", `[{"@type":"WebPage","headline":"page"},{"@type":"Article","headline":"x"}]`, "x"},
		{"nested in a video", `{"@type":"WebPage","video":{"@type":"Article","headline":"no"},"headline":"x"}`, "x"},
		{"trailing commas", `{"@type":"Article","k":[1,2, /* end */ ],"headline":"x",}`, "x"},
		{"comments", "{ // first\n\"@type\":\"Article\", /* second */ \"headline\":\"x\"}", "x"},
		{"html comment", `<!-- {"@type":"Article","headline":"x"} -->`, "x"},
		{"cdata", "//<![CDATA[\n{\"@type\":\"Article\",\"headline\":\"x\"}\n//]]>", "x"},
		{"line break in a text", "{\"@type\":\"Article\",\"headline\":\"x\ny\tz\"}", "x y z"},
		{"unknown escape", `{"@type":"Article","headline":"it\'s"}`, "it's"},
		{"escapes", `{"@type":"Article","headline":"\u00e4 \ud83e\udd14 \"b\""}`, `ä 🤔 "b"`},
		{"quotes without escapes", `{"@type":"Article","description":"He said "yes" to it","headline":"x"}`, "x"},
		{"comma missing", `{"@type":"Article" "headline":"x"}`, "x"},
		{"list without an end", `{"@type":"Article","k":[1,2}, "headline":"x"}`, ""},
		{"not closed", `{"@type":"Article","headline":"x"`, "x"},
		{"two values", `{"@type":"WebSite"};{"@type":"Article","headline":"x"}`, "x"},
		{"number and null", `{"@type":"Article","wordCount":12,"k":null,"headline":"x"}`, "x"},
		{"too deep", strings.Repeat(`{"@graph":`, 5000) + `{"@type":"Article","headline":"no"}` + strings.Repeat("}", 5000), ""},
		{"no JSON", `var x = 1`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := read(`<script type="application/ld+json">`+c.script+`</script>`, pageURL)
			if got := p.head.StatedTitle(); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestHead(t *testing.T) {
	p := read(`<html lang=en-GB><title>T</title><meta name=description content=" A
		description "><meta property=og:type content=article><meta property=og:locale content=en_GB><meta http-equiv=Content-Language content=en>
		<meta name=keywords content="sea, quay;sea"><meta property=article:tag content=boats><meta name=robots content="noindex, nofollow"><meta name=ExampleBot content=none>
		<meta name=viewport content="width=device-width"><link rel="shortlink canonical" href=/c><link rel=canonical href=/d><meta name=DC.date content=2024-05-06>
		<script type="application/ld+json">{"@type":"Article","keywords":["other"],"inLanguage":"en-US","articleBody":"Words"}</script>`, pageURL)
	h := &p.head
	if got := h.StatedDescription(); got != "A description" {
		t.Errorf("description %q", got)
	}
	if got := h.StatedKeywords(); !slices.Equal(got, []string{"sea", "quay", "boats"}) {
		t.Errorf("keywords %q", got)
	}
	if got := h.Languages(); got != [4]string{"en-GB", "en", "en-US", "en_GB"} {
		t.Errorf("languages %q", got)
	}
	if len(h.Robots) != 2 || string(h.Robots[0].Content) != "noindex, nofollow" || string(h.Robots[1].Agent) != "ExampleBot" {
		t.Errorf("robots %q", h.Robots)
	}
	if string(h.Canonical) != "/c" || h.OGType != metadata.OGArticle || h.DublinDate() != "2024-05-06" || !h.StatesDate() || !h.HasBody() {
		t.Errorf("canonical %q, type %d, date %q", h.Canonical, h.OGType, h.DublinDate())
	}
}

// A page of any number of elements has small lists and takes linear time.
func TestHeadIsBounded(t *testing.T) {
	for _, unit := range []string{
		"<meta name=author content=x>", "<meta name=date content=2024-05-06>", "<meta name=keywords content=x>", "<meta name=robots content=none>", "<time datetime=2024-05-06>x</time>",
		"<a href=/>Harbour</a>", "<p itemprop=datePublished>2024-05-06</p>", "<div itemprop=datePublished>", "<h1>x</h1>", "<div class=author>Ann Bell</div>",
		`<script type="application/ld+json">{"@type":"Article","author":"A","datePublished":"2024-05-06","keywords":["a","b"],"@id":"x","name":"y"}</script>`,
		`<script type="application/ld+json">[[[[{"a":</script>`, `<script type="application/ld+json">"/*"{"/*`,
	} {
		start := time.Now()
		p := read("<title>T</title>"+strings.Repeat(unit, 1<<20/len(unit)), pageURL)
		p.head.PageTitle(&p.outline)
		p.head.Author(&p.outline)
		p.head.DateCandidates(&p.outline, nil, pageURL)
		if spent := time.Since(start); spent > 20*time.Second {
			t.Errorf("a megabyte of %s took %v", unit, spent)
		}
		for v, i := reflect.ValueOf(p.head), 0; i < v.NumField(); i++ {
			if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() != reflect.Uint8 && f.Len() > 200 {
				t.Errorf("%s has %d values of %s", v.Type().Field(i).Name, f.Len(), unit)
			}
		}
	}
}

func FuzzJSONLD(f *testing.F) {
	for _, seed := range []string{`{"@type":"Article",}`, strings.Repeat("[", 9000), strings.Repeat("/*", 5000), `{"a":"\`, "{\"a\":\"\x00\xff\"}//", strings.Repeat(", ", 3000) + "}",
		`{,/**/,//` + "\n" + `}`, `{"author":[{"name":`, `[CDATA[{"@graph":[[]}]`, `{"headline":"\ud83e"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, script string) {
		p := read(`<script type="application/ld+json">`+script, pageURL)
		p.head.PageTitle(&p.outline)
		p.head.Author(&p.outline)
		p.head.StatedKeywords()
		p.head.StatedDescription()
	})
}
