package template

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/errormask"
)

// Faults of the original service (docs/spec/processing.md 6.2) that concern templates and are
// not in another table: 13 and 14 are in TestChoose and TestFor, 16 in TestDue, TestBody and
// TestMerge, 28 in TestItems.
func TestFaultsOfTheOriginal(t *testing.T) {
	t.Run("6.2 #11 an error in a template does not end the item", func(t *testing.T) {
		s := set(t, `{"tags":{"bad":["//h2["],"worse":[{"target":"//h2","postProcessing":"("}],"good":["//h2"]}}`)
		r, problems := s.Templates[0].Apply(context.Background(), parsed(t, page), options())
		if r.First("good") != "Second & last" || r.First("worse") != "Second & last" || Bits(problems) != errormask.Scraper|errormask.Regexp {
			t.Errorf("%+v, %s", r.Tags, messages(problems))
		}
	})
	t.Run("6.2 #15 join first and no match uses the default", func(t *testing.T) {
		r, _ := apply(t, `[{"target":"//h6","join":"first","default":"d"}]`, page, options())
		if r.First("x") != "d" {
			t.Errorf("%+v", r.Tags)
		}
	})
	t.Run("6.2 #18 no macro is left", func(t *testing.T) {
		// Package render replaces macros; a tag without a value is absent, so that it does.
		r, _ := apply(t, `[{"target":"//h6"}]`, page, options())
		if len(r.Tags) != 0 {
			t.Errorf("%+v", r.Tags)
		}
	})
	t.Run("6.2 #25 rules after a hit are not evaluated", func(t *testing.T) {
		o := options()
		o.Trace = &Trace{}
		apply(t, `[{"target":"//h2"},{"target":"//p"},{"target":"//td","mandatory":1},{"target":"//h1","join":"concat"}]`, page, o)
		var got []string
		for _, r := range o.Trace.Tags[0].Rules {
			got = append(got, fmt.Sprintf("%d %s", r.Matches, r.Outcome))
		}
		want := "0 not needed: rule 3 has a value|0 not needed: rule 3 has a value|2 used|1 used"
		if strings.Join(got, "|") != want {
			t.Errorf("got %q", got)
		}
	})
}

func TestTraceReasons(t *testing.T) {
	for name, c := range map[string]struct{ rules, want string }{
		"default":           {`[{"target":"//h6","default":"d"}]`, "its default is used / the target matches nothing; it was read as XPath"},
		"no match":          {`[{"target":"//h6"}]`, "no value / the target matches nothing; it was read as XPath"},
		"no match as CSS":   {`[{"target":"h6 > b"}]`, "no value / the target matches nothing; it was read as CSS"},
		"no value":          {`[{"target":"//h2","type":"link"}]`, "no value / 1 matches without a value for type link"},
		"mandatory":         {`[{"target":"//h6","mandatory":1}]`, "mandatory rule without a value: the tag is left out / the target matches nothing; it was read as XPath"},
		"postProcessing":    {`[{"target":"//h2","postProcessing":"[0-9]"}]`, "no value / postProcessing found nothing in it"},
		"no date":           {`[{"target":"//h2","type":"datetime"}]`, "used / not a known form of a date; kept as text"},
		"tbody":             {`[{"target":"//table/tr/td"}]`, "used / found in a tbody that the target does not name"},
		"target":            {`[{"target":"//h2["}]`, "no value / the target was not evaluated"},
		"attributesExclude": {`[{"target":"//h1","attributesExclude":{"TYPE":"exclude","class":"head"}}]`, "no value / 1 matches without a value for type text"},
	} {
		o := options()
		o.Trace = &Trace{}
		apply(t, c.rules, page, o)
		r := o.Trace.Tags[0].Rules[0]
		if got := r.Outcome + " / " + r.Remark; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// large returns a page with about 20,000 nodes.
func large() string {
	var b strings.Builder
	for i := range 4_000 {
		fmt.Fprintf(&b, "<div class=c%d id=i%d><p>text %d <a href=/%d>x</a></p></div>", i%50, i, i, i)
	}
	return b.String()
}

// A template with 1,000 rules on a page with 20,000 nodes ends, completely or with a problem.
func TestManyRules(t *testing.T) {
	kinds := map[string]string{
		"XPath":   `"//div[@class='c%d']/p"`,
		"CSS":     `".c%d > p"`,
		"costly":  `"//div[count(//a[contains(@href, '%d')]) > 1]"`,
		"html":    `{"target":"//body","type":"html","default":"%d"}`,
		"regexp":  `{"target":"//p","postProcessing":"(?=(x+)+y)%d"}`,
		"nothing": `"//section[@id='s%d']"`,
	}
	doc := parsed(t, large())
	for name, rule := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tags []string
			for i := range 1000 {
				tags = append(tags, fmt.Sprintf(`"t%d":[%s]`, i, fmt.Sprintf(rule, i)))
			}
			s := set(t, `{"tags":{`+strings.Join(tags, ",")+`}}`)
			r, problems := s.Templates[0].Apply(context.Background(), doc, options())
			size := 0
			for _, tag := range r.Tags {
				size += len(tag.Data[0])
			}
			t.Logf("%d tags, %d bytes, %.200s", len(r.Tags), size, messages(problems))
			if size > maxValues || len(problems) > maxProblems {
				t.Errorf("%d bytes, %d problems", size, len(problems))
			}
		})
	}
}

func TestApplyEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := set(t, `{"tags":{"a":["//p"],"b":["//p"]}}`)
	r, problems := s.Templates[0].Apply(ctx, parsed(t, page), options())
	if len(r.Tags) > 0 || Bits(problems) != errormask.Scraper || !strings.Contains(messages(problems), "the other rules are not evaluated: context canceled") {
		t.Errorf("%+v, %s", r.Tags, messages(problems))
	}
}

const (
	hostilePage     = `<table><a href="mailto:%zz,%41"><p class="x" onclick=1>&lt;b&gt;<br/><svg><a xlink:href=x></svg><!-- x --><template><p>y</template>`
	hostileTemplate = `{"a":[{"target":"//*","type":"html","format":"NO_SCRIPT|ENTITIES_ENCODED","attributesExclude":{"*":"x"}}],"b":[{"target":"#x, .y::text"}]}`
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		hostileTemplate, `"\"\\\"{}\\\"\""`, `{"templates":[{"tags":{"a":[{"target":null,"type":{"name":[]}}]}}]}`, `[[],{}]`,
		`{"templates":{"tags":[]},"tags":{"tags":{}}}`, `{"a":[{"target":"//a","postProcessing":"(?P<x>(a+)+)(?P=x)","format":"-1,x"}]}`, `{"a":[null,""]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		for _, p := range s.Problems() {
			if p.Bits == 0 || p.Message == "" {
				t.Errorf("%+v", p)
			}
		}
		_, _ = ParseText(text)
		_, _ = ParseSources(text)
		if set(t, "").Merge("x", text) == nil && s.Templates[0] == nil {
			t.Error("merged nothing")
		}
	})
}

func FuzzApply(f *testing.F) {
	properties := `{"SCRAPER_TEXT_MARKUP":{"p":"<%ATTRIBUTES%>"},"SCRAPER_KEEP_ATTRIBUTES":{"*":["*"]},"CLOSE_VOID":2}`
	for _, seed := range []string{
		hostileTemplate, `{"a":[{"target":"//a","type":"link","format":"1,email-to"},{"target":"//@href","join":"concat","type":"image","canonicalizeURLs":1}]}`,
		`{"a":[{"target":"//p|//br|//table/tr","type":"datetime","format":"%","default":"@%s"}],"b":[{"target":"//a/text()","format":"1"}]}`,
		`{"templates":[{"container":"//p|//a","tags":{"a":["//text()"],"b":["string(//p)","//@*","//comment()"]}}]}`, `{"a":["/","//@class/..",".//*","count(//*)"]}`,
		`{"templates":[{"container":"*","tags":{"a":[{"target":"p","tags":{"b":[".","./@*","*"],"c":[{"target":".//a|//p","tags":{"d":["string(.)","a + p"]}}]}}]}}]}`,
	} {
		f.Add(seed, hostilePage, properties)
		f.Add(seed, page, "")
	}
	f.Fuzz(func(t *testing.T, text, page, properties string) {
		if len(page) > 2000 || len(text) > 2000 {
			return
		}
		s, err := Parse(text)
		o := options()
		o.Text, _ = ParseText(properties)
		if err != nil || o.Text == nil {
			return
		}
		doc, err := xpath.HTML(o.Text.Prepare([]byte(page)))
		if err != nil {
			if !errors.Is(err, xpath.ErrCostly) {
				t.Error(err)
			}
			return
		}
		for _, template := range s.Templates {
			o.Trace = &Trace{}
			r, _ := template.Apply(context.Background(), doc, o)
			for _, tag := range r.Tags {
				if len(tag.Data) != 1 || strings.TrimSpace(tag.Data[0]) == "" {
					t.Errorf("%+v", tag)
				}
			}
			if items, _ := template.Items(context.Background(), doc, o); len(items) == 0 {
				t.Error("no items")
			}
			template.PostProcess(&r, o)
		}
	})
}
