package template

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples of docs/templates.md can be followed, and have no unknown keys.
func TestExamplesOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, m := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		text := m[1]
		if text[0] == '"' { // tags alone
			text = "{" + text + "}"
		}
		examples = append(examples, text)
	}
	// The last cell of a row of the tables of rules and types is an example.
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*\\| (`.*`) \\|$").FindAllStringSubmatch(string(page), -1) {
		for example := range strings.SplitSeq(strings.Trim(m[2], "`"), "`, `") {
			switch {
			case strings.HasPrefix(example, `{"target"`):
				examples = append(examples, `{"tags":{"x":[`+example+`]}}`)
			case strings.Contains("target type format default join mandatory delimiter delimiter_sub_items postProcessing attributesExclude canonicalizeURLs", m[1]):
				rule := `{"` + m[1] + `":` + example
				if m[1] != "target" {
					rule += `,"target":"//p"`
				}
				examples = append(examples, `{"tags":{"x":[`+rule+`}]}}`)
			case strings.Contains("name tags priority state mandatory condition output_format container", m[1]):
				examples = append(examples, `{"templates":[{"`+m[1]+`":`+example+`}]}`)
			case strings.HasPrefix(m[1], "SCRAPER_") || m[1] == "CLOSE_VOID":
				if _, err := ParseText(`{"` + m[1] + `":` + example + `}`); err != nil {
					t.Errorf("%s: %v", m[0], err)
				}
			}
		}
	}
	for _, text := range examples {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if len(s.Unknown) > 0 || len(s.Problems()) > 0 {
			t.Errorf("%s: unknown %q, problems %s", text, s.Unknown, messages(s.Problems()))
		}
	}
	if len(examples) < 25 {
		t.Errorf("only %d examples were found", len(examples))
	}
}
