package extractor

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"hce/dc/internal/process/article"
	"hce/dc/internal/wire/result"
)

const news = `<!DOCTYPE html><html lang="en"><head><title>The mill | The Post</title>
<meta property="og:title" content="The mill is sold"><meta name="description" content="A mill is sold.">
<meta name="DC.date" content="2021-03-04"><meta property="og:image" content="/img/mill.jpg"><link rel="canonical" href="/mill">
<script type="application/ld+json">{"@type":"NewsArticle","author":{"name":"Ann Bell"},"datePublished":"2021-03-05T08:00:00+01:00","keywords":"mill, bread"}</script>
</head><body><nav><a href="/">Home</a></nav><div class="story"><h1>The mill is sold</h1><p class="lead">Lead of it.</p>
<div class="text">` + prose + `<p class="ad">Buy flour now, it is cheap.</p></div><img src="pic.png"></div></body></html>`

// dynamic runs extractors on news.
func dynamic(t *testing.T, names []string, o Options) []result.Result {
	t.Helper()
	set, err := New(names, o)
	if err != nil {
		t.Fatal(err)
	}
	results, err := set.Dynamic(context.Background(), article.NewPage([]byte(news), pageURL, ""))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(names)+1 {
		t.Fatalf("%d results of %d extractors", len(results), len(names))
	}
	return results
}

// Extractions at the same time have the results of one alone. The engines share what they parsed once.
func TestConcurrentUse(t *testing.T) {
	wanted := dynamic(t, All(), Options{})
	markdown, err := article.Extract([]byte(news), pageURL)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			set, err := New(All(), Options{})
			if err != nil {
				t.Error(err)
				return
			}
			got, err := set.Dynamic(context.Background(), article.NewPage([]byte(news), pageURL, ""))
			for i := range got {
				if !reflect.DeepEqual(got[i].Tags, wanted[i].Tags) {
					t.Errorf("other results: %+v", got[i].Tags)
				}
			}
			if err != nil || len(got) != len(wanted) {
				t.Errorf("%d results: %v", len(got), err)
			}
			if got, err := article.Extract([]byte(news), pageURL); err != nil || got.Markdown != markdown.Markdown || got.Text != markdown.Text {
				t.Errorf("another article: %v", err)
			}
		})
	}
	all.Wait()
}

// docs/spec/processing.md 1.4 regular, 2.3.
func TestRegularListFillsAllTags(t *testing.T) {
	lists, err := ParseLists("")
	if err != nil {
		t.Fatal(err)
	}
	names, err := lists.Names("")
	if err != nil {
		t.Fatal(err)
	}
	merged := dynamic(t, names, Options{})[0]
	for name, want := range map[string]string{
		"title": "The mill is sold", "author": "Ann Bell", "pubdate": "2021-03-05T08:00:00+01:00", "dc_date": "2021-03-04",
		"description": "A mill is sold.", "media": "https://post.example/img/mill.jpg", "link": "https://post.example/mill",
		"keywords": "mill,bread", "html_lang": "en",
	} {
		if got := merged.First(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
		if tag := merged.Tag(name); tag != nil && tag.Extractor != Scrapy {
			t.Errorf("%s is of %s", name, tag.Extractor)
		}
	}
	if text := merged.First("content_encoded"); !strings.Contains(text, "Sentence four") {
		t.Errorf("text %q", text)
	}
}

// docs/spec/processing.md 2.2 #2, 2.3.
func TestFirstValueWins(t *testing.T) {
	results := dynamic(t, []string{Newspaper, ML, Goose}, Options{})
	if got := results[0].Tag("content_encoded").Extractor; got != Newspaper {
		t.Errorf("text of %s", got)
	}
	results = dynamic(t, []string{ML, Newspaper}, Options{})
	if got := results[0].Tag("content_encoded").Extractor; got != ML {
		t.Errorf("text of %s", got)
	}
	if got := results[0].Tag("title").Extractor; got != Newspaper {
		t.Errorf("title of %s", got)
	}
}

func TestDescriptionFallsBackToMeta(t *testing.T) {
	merged := dynamic(t, []string{ML}, Options{})[0]
	if tag := merged.Tag("description"); tag == nil || tag.First() != "A mill is sold." || tag.Extractor != result.Service {
		t.Errorf("description %+v", tag)
	}
}

// docs/spec/processing.md 1.5 SCRAPER_SCRAPY_PRECONFIGURED, 2.3.
func TestRules(t *testing.T) {
	for _, c := range []struct{ name, rules, tag, want, by string }{
		{"expression of the host", `{"post\\.example":{"title":["//h2","//h1"]}}`, "title", "The mill is sold", Scrapy},
		{"several patterns", `{"other mill post":{"title":["//p[@class='lead']"]}}`, "title", "Lead of it.", Scrapy},
		{"first matching key", `{"nothing":{"title":["//h1"]},"post":{"title":["//p[@class='lead']"]},"example":{"title":["//nav"]}}`, "title", "Lead of it.", Scrapy},
		{"key that is no pattern of the host", `{"other":{"title":["//p[@class='lead']"]}}`, "title", "The mill is sold", Scrapy},
		{"general key", `{"*":{"title":["//p[@class='lead']"]}}`, "title", "Lead of it.", Scrapy},
		{"general key comes last", `{"*":{"title":["//nav"]},"post":{"title":["//none","//p[@class='lead']"]}}`, "title", "Lead of it.", Scrapy},
		{"CSS", `{"*":{"title":[".lead"]}}`, "title", "Lead of it.", Scrapy},
		{"disabled lines", `{"*":{"title":["; //nav","#//nav","# .x",".lead"]}}`, "title", "Lead of it.", Scrapy},
		{"function", `{"*":{"title":["substring-after(//h1,'The ')"]}}`, "title", "mill is sold", Scrapy},
		{"attribute", `{"*":{"class":["//p/@class"]}}`, "class", "lead ad", Scrapy},
		{"replace", `{"*":{"title":{"xpath":["//h1"],"replace":{"THE (\\w+)":"A \\1"}}}}`, "title", "A mill is sold", Scrapy},
		{"exclude", `{"*":{"content_encoded":{"xpath":["//div[@class='story']"],"exclude":[{"h1":null},{"p":{"class":"ad"}},{"div":{"class":"/^te"}}]}}}`, "content_encoded", "Lead of it.", Scrapy},
		{"address", `{"*":{"media":["//img"]}}`, "media", "https://post.example/town/pic.png", Scrapy},
		{"metadata after rules without a value", `{"*":{"title":["//h6"]}}`, "title", "The mill is sold", Scrapy},
		{"stop in this extractor", `{"*":{"title":["none"]}}`, "title", "The mill is sold", Newspaper},
		{"stop for all", `{"*":{"title":["//h6",""]}}`, "title", "", ""},
		{"value before the stop", `{"*":{"title":[".lead",""]}}`, "title", "Lead of it.", Scrapy},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := ParsePreconfigured(`{"sets":[{"mine":` + c.rules + `}]}`)
			if err != nil {
				t.Fatal(err)
			}
			merged := dynamic(t, []string{Scrapy, Newspaper}, Options{Rules: rules})[0]
			tag := merged.Tag(c.tag)
			if c.want == "" {
				if tag != nil {
					t.Errorf("tag %+v", tag)
				}
				return
			}
			if tag == nil || tag.First() != c.want || tag.Extractor != c.by {
				t.Errorf("tag %+v, want %q of %s", tag, c.want, c.by)
			}
		})
	}
}

func TestHostsOfRules(t *testing.T) {
	rules, err := ParseRules(`{"^a\\.example$":{"title":["//a"]},"b.example":{"title":["//b"]},"*":{"link":["//c"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		hosts []string
		want  string
	}{
		{"pattern", []string{"https://www.a.example:8080/x"}, "//a"},
		{"user in the URL", []string{"https://me@A.example/x"}, "//a"},
		{"parent domain", []string{"http://news.b.example/"}, "//b"},
		{"second host", []string{"http://c.example/", "b.example"}, "//b"},
		{"no host", []string{"http://c.example/"}, ""},
		{"no URL", []string{"http://[", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tags := rules.forHosts(c.hosts)
			got := ""
			if rule := tags["title"]; rule != nil {
				got = rule.steps[0].text
			}
			if got != c.want || tags["link"] == nil {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestWrongSettings(t *testing.T) {
	parse := map[string]func(string) error{
		"lists":     func(s string) error { _, err := ParseLists(s); return err },
		"rules":     func(s string) error { _, err := ParsePreconfigured(s); return err },
		"validator": func(s string) error { _, err := ParseValidator(s); return err },
	}
	for _, c := range []struct{ what, text, names string }{
		{"lists", `{"mine":["ScrapyExtractor","BoilerpipeExtractor","Diff"]}`, `"BoilerpipeExtractor", "DiffExtractor"`},
		{"lists", `[]`, "JSON array"},
		{"rules", `{}`, "no rules"},
		{"rules", `{"sets":[{"old":"/etc/passwd"}]}`, `file "/etc/passwd"`},
		{"rules", `{"sets":[{"x":{"(":{"title":["//a"]}}}]}`, "host pattern"},
		{"rules", `{"sets":[{"x":{"a":{"title":["//a["]}}}]}`, `tag "title"`},
		{"rules", `{"sets":[{"x":{"a":{"title":{"xpath":["//a"],"replace":{"(":""}}}}}]}`, "replace"},
		{"rules", `{"sets":[{"x":{"a":{"title":{"xpath":["//a"],"exclude":[{"p":"x"}]}}}}]}`, `exclude of "p"`},
		{"rules", `{"sets":[{"x":{"a":[]}}]}`, "object of tags"},
		{"validator", `{"Scrapy":{"title":{"type":"only","RE":"x"}}}`, `"only"`},
		{"validator", `{"Scrapy":{"title":{"type":"include","RE":"("}}}`, "wrong RE"},
		{"validator", `{"Nobody":{}}`, "NobodyExtractor"},
	} {
		t.Run(c.text, func(t *testing.T) {
			if err := parse[c.what](c.text); err == nil || !strings.Contains(err.Error(), c.names) {
				t.Errorf("error %v, want one with %q", err, c.names)
			}
		})
	}
	if _, err := New([]string{Scrapy, "TheirsExtractor"}, Options{}); err == nil || !strings.Contains(err.Error(), "TheirsExtractor") {
		t.Errorf("error %v", err)
	}
}

// docs/spec/processing.md 1.4 regular, concurrency, SCRAPY, GOOSE, NEWSPAPER, ML, prediction, training, feed_parser, metric_based, modules, 1.5 modules.
func TestLists(t *testing.T) {
	lists, err := ParseLists(`{"mine":["Goose","ScrapyExtractor"],"ml":"Newspaper"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		algorithm string
		want      []string
	}{
		{"", []string{Scrapy, Goose, Newspaper, ML}},
		{"regular", []string{Scrapy, Goose, Newspaper, ML}},
		{"concurrency", []string{Newspaper, Scrapy, Goose}},
		{"prediction", []string{ML}},
		{"mine", []string{Goose, Scrapy}},
		{"ml", []string{Newspaper}},
		{"Goose", []string{Goose}},
		{"scrapy", []string{Scrapy}},
		{"NEWSPAPER", []string{Newspaper}},
		{"training", []string{Scrapy}},
		{"metric_based", nil},
		{"feed_parser", nil},
	} {
		t.Run(c.algorithm, func(t *testing.T) {
			got, err := lists.Names(c.algorithm)
			if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
				t.Errorf("%q, %v, want %q", got, err, c.want)
			}
		})
	}
	builtIn, err := ParseLists("")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := builtIn.Names("ML"); !slices.Equal(got, []string{ML}) || err != nil {
		t.Errorf("ML: %q, %v", got, err)
	}
}

// docs/spec/processing.md 1.5 tagsValidator.
func TestValidator(t *testing.T) {
	v, err := ParseValidator(`{"ScrapyExtractor":{"title":{"type":"exclude","RE":"The mill"},"author":{"type":"include","RE":"Ann"}},"Newspaper":{"title":{"type":"include","RE":"mill"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	merged := dynamic(t, []string{Scrapy, Newspaper, Goose}, Options{Validator: v})[0]
	if tag := merged.Tag("title"); tag == nil || tag.Extractor != Goose {
		t.Errorf("title %+v", tag)
	}
	if tag := merged.Tag("author"); tag == nil || tag.Extractor != Scrapy {
		t.Errorf("author %+v", tag)
	}
}

// docs/spec/processing.md 2.2 #1, 2.3.
func TestAddresses(t *testing.T) {
	p := article.NewPage(nil, pageURL, "https://base.example/x/")
	for value, want := range map[string]string{
		"a.png b.png":            "https://base.example/x/a.png,https://base.example/x/b.png",
		"//cdn.example/c":        "https://cdn.example/c",
		"<img src=a>":            "<img src=a>",
		"data:image/png;base64,": "data:image/png;base64,",
		"mailto:a@b.example":     "mailto:a@b.example",
	} {
		tag := result.Tag{Name: "media", Data: []string{value}}
		if resolveTag(&tag, p); tag.Data[0] != want {
			t.Errorf("%q: %q, want %q", value, tag.Data[0], want)
		}
	}
}

func TestRulesAreBounded(t *testing.T) {
	for name, text := range map[string]string{
		"large":            `{"*":{"title":["` + strings.Repeat("x", maxRuleBytes) + `"]}}`,
		"many expressions": `{"*":{"title":["//a"` + strings.Repeat(`,"//a"`, maxSteps) + `]}}`,
	} {
		if _, err := ParseRules(text); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	rules, err := ParseRules(`{"*":{"links":["//a/@href"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	p := article.NewPage([]byte(strings.Repeat("<a href=x></a><a href=y></a>", maxMatches)), pageURL, "")
	found, err := newRuleExtractor(Options{Rules: rules}).Extract(context.Background(), p)
	if i := slices.IndexFunc(found.Tags, func(tag result.Tag) bool { return tag.Name == "links" }); err != nil || len(found.Tags[i].Data) != maxMatches {
		t.Errorf("%v, tags %.200v", err, found.Tags)
	}
}

func FuzzRules(f *testing.F) {
	for _, seed := range []string{
		`{"*":{"title":["//h1"]}}`, `{"*":{"title":{"xpath":"//h1","replace":{"(?i)a":"\\1"},"exclude":[{"p":{"class":"/("}}]}}}`,
		`{"(((":{}}`, `{"a":null,"*":{"x":[null,"","none","#","#a","."]}}`, `{"*":{"a":["//*[count(//*[count(//*)>0])>0]"]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules(text)
		if err != nil {
			return
		}
		_, _ = newRuleExtractor(Options{Rules: rules}).Extract(context.Background(), article.NewPage([]byte(news), pageURL, ""))
	})
}
