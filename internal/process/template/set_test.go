package template

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// describe shows the parsed templates: label, priority, state, mandatory, tags.
func describe(s *Set) string {
	var list []string
	for _, t := range s.Templates {
		text := t.label
		if t.priority != nil {
			text += fmt.Sprintf(" priority %d", *t.priority)
		}
		if t.disabled {
			text += " off"
		}
		if t.Mandatory {
			text += " mandatory"
		}
		if t.OutputFormat != nil {
			text += " " + string(t.OutputFormat)
		}
		list = append(list, text+" "+strings.Join(t.Names(), ","))
	}
	return s.Select + ": " + strings.Join(list, "; ")
}

// docs/spec/processing.md 3.1 tags, name, output_format, mandatory, 1.5 template.
func TestParse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"3.1 new form":                 {`{"templates":[{"name":"a","priority":5,"state":1,"mandatory":0,"tags":{"b":[],"title":[{"target":"//h1"}],"a":["//p"]}}],"select":"first_good"}`, `first_good: "a" priority 5 title,a`},
		"3.1 old form":                 {`{"title":[{"target":"//h1"}],"name":[{"target":"//b"}]}`, `first_nonempty: 1 priority 100 mandatory title,name`},
		"3.1 old form, output format":  {`{"title":[{"target":"//h1"}],"output_format":{"name":"json"}}`, `first_nonempty: 1 priority 100 mandatory {"name":"json"} title`},
		"3.1 a tag named templates":    {`{"templates":[{"target":"//h1"}]}`, `first_nonempty: 1 priority 100 mandatory templates`},
		"3.1 a tag named tags":         {`{"tags":[{"target":"//h1"}]}`, `first_nonempty: 1 priority 100 mandatory tags`},
		"3.1 empty":                    {"", `first_nonempty: 1 `},
		"3.1 empty object":             {"{}", `first_nonempty: 1 `},
		"3.1 null":                     {"null", `first_nonempty: 1 `},
		"3.1 JSON in a text":           {`"{\"templates\":[{\"tags\":{\"t\":[{\"target\":\"//h1\"}]}}]}"`, `first_nonempty: 1 t`},
		"3.1 one T":                    {`{"name":"x","tags":{"t":["//h1"]}}`, `first_nonempty: "x" t`},
		"3.1 list of T":                {`[{"tags":{"t":["//h1"]}},{"name":"b","tags":{}}]`, `first_nonempty: 1 t; "b" `},
		"3.1 no templates":             {`{"templates":[]}`, `first_nonempty: `},
		"3.1 priority in digits":       {`{"templates":[{"priority":"10","tags":{"t":["//h1"]}}]}`, `first_nonempty: 1 priority 10 t`},
		"3.1 state and mandatory text": {`{"templates":[{"state":"0","mandatory":"1","tags":{"t":["//h1"]}}]}`, `first_nonempty: 1 off mandatory t`},
		"3.1 without tags":             {`{"templates":[{"output_format":{"name":"text"}}]}`, `first_nonempty: 1 {"name":"text"} `},
		"3.1 tags as an empty list":    {`{"templates":[{"tags":[],"name":"x"}]}`, `first_nonempty: "x" `},
		"3.1 nulls":                    {`{"templates":[{"tags":{"t":["//h1"],"u":null},"priority":null,"condition":null,"output_format":null,"name":null}],"select":null}`, `first_nonempty: 1 t`},
		"the last of two equal tags":   {`{"a":["//p"],"b":["//p"],"a":["//q"]}`, `first_nonempty: 1 priority 100 mandatory a,b`},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := describe(s); got != c.want || len(s.Problems()) > 0 {
			t.Errorf("%s: got %q (%s), want %q", name, got, messages(s.Problems()), c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"templates":[{"name":"story","tags":{"title":["//p",{"target":"//h1","mandatory":"maybe"}]}}]}`: `template "story": "tags" tag "title", rule 2: "mandatory" has "maybe"; expected 0 or 1`,
		`{"templates":[{"tags":{"title":[{"target":["//h1"]}]}}]}`:                                        `template 1: "tags" tag "title", rule 1: "target" has ["//h1"]; expected a text`,
		`{"templates":[{"tags":{"title":[{"format":{}}]}}]}`:                                              `template 1: "tags" tag "title", rule 1: "format" has {}; expected a text`,
		`{"templates":[{"tags":{"title":[7]}}]}`:                                                          `template 1: "tags" tag "title", rule 1: is not a JSON object`,
		`{"templates":[{"tags":{"title":[{"attributesExclude":"x"}]}}]}`:                                  `template 1: "tags" tag "title", rule 1: "attributesExclude" is not valid JSON: invalid character 'x' looking for beginning of value at byte 1`,
		`{"templates":[{"tags":[1]}]}`:                                                                    `template 1: "tags" is [1]; expected an object`,
		`{"templates":[{"tags":"x"}]}`:                                                                    `template 1: "tags" is "x"; expected an object`,
		`{"templates":[{"tags":{},"priority":"high"}]}`:                                                   `template 1: "priority" has "high"; expected a whole number`,
		`{"templates":[{"tags":{},"condition":[]}]}`:                                                      `template 1: "condition" is not a JSON object`,
		`{"templates":[{"tags":{},"condition":{"field":[]}}]}`:                                            `template 1: "condition" "field" has []; expected a text`,
		`{"templates":[{"tags":{}},5]}`:                                                                   `template 2 is 5; expected an object`,
		`{"templates":[{"tags":{}}],"select":[]}`:                                                         `"select" has []; expected a text`,
		`{"title":5}`:  `tag "title", rule 1: is not a JSON object`,
		`{"title":[`:   `is not valid JSON: it ends too early`,
		`[1]`:          `template 1 is 1; expected an object`,
		`true`:         `is not a JSON object`,
		`{"a":["x"]}}`: `has more behind its JSON value`,
	} {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
	if _, err := Parse(strings.Repeat(" ", MaxText) + `{"a":["` + strings.Repeat("x", MaxText) + `"]}`); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("no limit: %.100v", err)
	}
	if _, err := Parse(`{"a":[` + strings.Repeat(`"x",`, maxRules) + `"x"]}`); err == nil || err.Error() != `has more than 10000 rules` {
		t.Errorf("no limit of rules: %v", err)
	}
}

func TestUnknownKeys(t *testing.T) {
	s := set(t, `{"templates":[{"name":"a","tgas":1,"tags":{"t":[{"target":"//p","xpath":"//q","begin":1}]},"condition":{"url":"x"}}],"sort":1}`)
	want := []string{`template "a": key "tgas"`, `template "a", tag "t", rule 1: key "xpath"`, `template "a", condition: key "url"`, `key "sort"`}
	if !slices.Equal(s.Unknown, want) {
		t.Errorf("got %q", s.Unknown)
	}
}

// urlFields are the fields of a URL in the tests.
func urlFields(name string) (string, bool) {
	v, ok := map[string]string{"url": "http://site.example/news/1", "contentType": "text/html", "parentMd5": "", "depth": "2"}[name]
	return v, ok
}

func TestFor(t *testing.T) {
	one := func(rest string) string { return `{"tags":{"t":["//p"]},` + rest + `}` }
	for name, c := range map[string]struct {
		templates, want, problem string
	}{
		"3.1 condition url":                          {one(`"name":"a","condition":{"type":0,"field":"url","pattern":"https?://site\\.example/news/"}`), `"a"`, ""},
		"3.1 condition from the start":               {one(`"name":"a","condition":{"type":"0","field":"url","pattern":"site"}`), "", ""},
		"3.1 condition depth":                        {one(`"name":"a","condition":{"field":"depth","pattern":"[0-2]$"}`), `"a"`, ""},
		"3.1 condition parentMd5":                    {one(`"name":"a","condition":{"field":"parentMd5","pattern":"^$"}`), `"a"`, ""},
		"3.1 condition contentType":                  {one(`"name":"a","condition":{"field":"contentType","pattern":"image/"}`), "", ""},
		"3.1 condition empty pattern":                {one(`"name":"a","condition":{"field":"none","pattern":""}`), `"a"`, ""},
		"3.1 condition unknown field":                {one(`"name":"a","condition":{"field":"host","pattern":"x"}`), "", `template "a": the condition names the field "host", which a URL does not have`},
		"3.1 condition invalid pattern":              {one(`"name":"a","condition":{"field":"url","pattern":"("}`), "", `template "a": the condition has an invalid pattern "("`},
		"3.1 condition type":                         {one(`"name":"a","condition":{"type":1,"field":"url","pattern":"x"}`), "", `template "a": the condition has the type 1; expected 0`},
		"3.1 state":                                  {one(`"name":"a","state":0`) + "," + one(`"name":"b","state":"1"`), `"b"`, ""},
		"3.1 priority":                               {one(`"name":"a","priority":5`) + "," + one(`"name":"b","priority":20`) + "," + one(`"name":"c","priority":5`), `"b","a","c"`, ""},
		"3.1 priority not of all":                    {one(`"name":"a","priority":5`) + "," + one(`"name":"b","priority":20`) + "," + one(`"name":"c"`), `"a","b","c"`, ""},
		"6.2 #14 priorities are compared as numbers": {one(`"name":"a","priority":"9"`) + "," + one(`"name":"b","priority":"10"`), `"b","a"`, ""},
	} {
		s := set(t, `{"templates":[`+c.templates+`]}`)
		list, problems := s.For(urlFields)
		var labels []string
		for _, t := range list {
			labels = append(labels, t.Label())
		}
		if got := strings.Join(labels, ","); got != c.want || !strings.Contains(messages(problems), c.problem) || (c.problem == "") != (len(problems) == 0) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got, messages(problems), c.want, c.problem)
		}
	}
}

func TestChoose(t *testing.T) {
	type tags map[string]string // "=value" is a default
	for name, c := range map[string]struct {
		choice  string
		list    []tags
		must    int // index of the mandatory template
		want    int
		problem string
	}{
		"3.6 first_nonempty":                            {"first_nonempty", []tags{{}, {"a": "x"}, {"a": "long text", "b": "y"}}, -1, 1, ""},
		"6.2 #14 first_nonempty means first":            {"first_nonempty", []tags{{"a": "x"}, {"a": "x", "b": "y"}}, -1, 0, ""},
		"3.6 most filled tags, ties to the earlier":     {"most_filled", []tags{{"a": "x"}, {"a": "x", "b": "y"}, {"a": "z", "b": "long"}}, -1, 1, ""},
		"3.6 longest content":                           {"first_good", []tags{{"a": "x", "b": "y"}, {"a": "longer"}, {"b": "length"}}, -1, 1, ""},
		"3.6 all empty":                                 {"first_nonempty", []tags{{}, {}}, -1, 0, ""},
		"3.6 no templates":                              {"first_nonempty", nil, -1, -1, ""},
		"3.6 mandatory and empty":                       {"first_nonempty", []tags{{}, {}, {"a": "x"}}, 1, 1, "it is mandatory, and found nothing"},
		"3.6 mandatory and empty ends the choice":       {"longest", []tags{{"a": "x"}, {}, {"a": "xyz"}}, 1, 1, "it is mandatory, and found nothing"},
		"3.6 mandatory and filled":                      {"first_nonempty", []tags{{}, {"a": "x"}}, 1, 1, ""},
		"3.6 before a mandatory empty one":              {"first_nonempty", []tags{{"a": "x"}, {}}, 1, 0, ""},
		"6.2 #13 source_url does not count":             {"first_nonempty", []tags{{"source_url": "http://x/"}}, 0, 0, "it is mandatory"},
		"6.2 #13 a service pubdate does not count":      {"first_nonempty", []tags{{"pubdate": "2026-01-01"}}, 0, 0, "it is mandatory"},
		"6.2 #13 a default does not count":              {"first_nonempty", []tags{{"a": "=d", "source_url": "u"}}, 0, 0, "it is mandatory"},
		"6.2 #13 a default does not count as content":   {"longest", []tags{{"a": "=a long default"}, {"a": "x"}}, -1, 1, ""},
		"6.2 #13 characters are counted, not the bytes": {"longest", []tags{{"a": "дом"}, {"a": "home"}}, -1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Set{Select: c.choice}
			var results []result.Result
			for i, tt := range c.list {
				one := set(t, `{"tags":{"a":["//p"],"b":["//q"]}}`).Templates[0]
				one.Mandatory = i == c.must
				s.Templates = append(s.Templates, one)
				var r result.Result
				for name, value := range tt {
					value, isDefault := strings.CutPrefix(value, "=")
					r.Add(result.Tag{Name: name, Data: []string{value}, Default: isDefault})
				}
				results = append(results, r)
			}
			got, problems := s.Choose(s.Templates, results)
			if got != c.want || !strings.Contains(messages(problems), c.problem) || (c.problem != "") != (Bits(problems) == errormask.MandatoryTemplate) {
				t.Errorf("got %d (%s), want %d (%s)", got, messages(problems), c.want, c.problem)
			}
		})
	}
}

// The output format is not touched: package render reads it.
func TestOutputFormatIsRaw(t *testing.T) {
	s := set(t, `{"templates":[{"tags":{"t":["//p"]},"output_format":{"name":"json","item":"{\"a\":\"%t%\"}"}}]}`)
	if want := json.RawMessage(`{"name":"json","item":"{\"a\":\"%t%\"}"}`); string(s.Templates[0].OutputFormat) != string(want) {
		t.Errorf("got %s", s.Templates[0].OutputFormat)
	}
}
