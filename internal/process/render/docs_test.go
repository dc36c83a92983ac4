package render

import (
	"os"
	"regexp"
	"testing"
	"time"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

const formatsPage = "../../../docs/output-formats.md"

var (
	aMacroRow = regexp.MustCompile("(?m)^\\| `%.* \\| `(\\{.*\\})` \\| `(\\{.*\\})` \\|$")
	aValueRow = regexp.MustCompile("(?m)^\\| `(\\{.*\\})` \\| `(.*)` \\| `(\\{.*\\})` \\|$")
)

// The examples of docs/output-formats.md give the texts that the page says.
func TestExamplesOfThePage(t *testing.T) {
	page, err := os.ReadFile(formatsPage)
	if err != nil {
		t.Fatal(err)
	}
	tea := result.Result{Time: 12300 * time.Microsecond, Metrics: map[string]float64{"TAGS_NUMBER": 1}, Tags: []result.Tag{
		{Name: "title", Data: []string{`Tea "Black"`}, XPath: "//h1", Extractor: "ScrapyExtractor", Lang: "en", LangSuffix: "_language"},
	}}
	values := Values{CrawlingTime: 1250 * time.Millisecond, Errors: errormask.Timeout, Defaults: map[string]string{"price": "0"}}
	check := func(item, want string, r *result.Result) {
		f := &Format{name: "json", escape: escapeJSON}
		f.readItem(item)
		if got, err := f.Render(r, values); err != nil || got != want {
			t.Errorf("%s gives %s, %v; the page says %s", item, got, err, want)
		}
	}
	macros := aMacroRow.FindAllStringSubmatch(string(page), -1)
	for _, row := range macros {
		check(row[1], row[2], &tea)
	}
	prices := aValueRow.FindAllStringSubmatch(string(page), -1)
	for _, row := range prices {
		check(row[1], row[3], &result.Result{Tags: []result.Tag{{Name: "price", Data: []string{row[2]}}}})
	}
	if len(macros) != 10 || len(prices) != 3 {
		t.Errorf("%d examples of macros, %d of values", len(macros), len(prices))
	}
}
