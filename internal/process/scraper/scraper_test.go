package scraper_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hce/dc/internal/process/scraper"
	"hce/dc/internal/web/filter"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/result"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// request is a file testdata/*.json: what a site asks for, a page, and what is stored for it.
// Times of extraction are left out.
type request struct {
	Rule       string            `json:"rule"` // the row of the specification of processing
	Properties map[string]any    `json:"properties"`
	Filters    []filter.Rule     `json:"filters,omitempty"`
	URL        string            `json:"url"`
	Type       string            `json:"contentType"`
	Header     string            `json:"header,omitempty"`
	Entry      bool              `json:"entry,omitempty"`
	Fields     map[string]string `json:"fields,omitempty"`
	Text       string            `json:"text"`

	Templates []scraper.SourceTemplate `json:"templates,omitempty"`
	Resolved  map[string]string        `json:"resolved,omitempty"`
	Answer    json.RawMessage          `json:"answer"`
}

// Golden answers for output formats, modules, templates and properties (-update rewrites them).
func TestGoldenAnswers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d requests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r request
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(r.run(t), "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			var want any
			_ = json.Unmarshal(r.Answer, &want)
			expected, _ := json.MarshalIndent(want, "", "  ")
			if *update {
				r.Answer = got
				text, _ := json.MarshalIndent(r, "", "  ")
				if err := os.WriteFile(file, append(text, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if string(got) != string(expected) {
				t.Errorf("%s: got\n%s\nwant\n%s", r.Rule, got, expected)
			}
		})
	}
}

// run returns what is stored, as JSON values.
func (r *request) run(t *testing.T) map[string]any {
	t.Helper()
	texts := map[string]string{}
	for name, value := range r.Properties {
		text, is := value.(string)
		if !is {
			raw, _ := json.Marshal(value)
			text = string(raw)
		}
		texts[name] = text
	}
	rules, problems := scraper.Compile(&scraper.Source{Properties: texts, Filters: r.Filters})
	rules.Evaluate = func(expression string) (string, error) { // of the test: a longer text is a later date
		return fmt.Sprintf("2026-01-%02d 00:00:00", len(expression)), nil
	}
	row := wire.NewURL("s", r.URL)
	row.Status, row.HTTPCode = wire.StatusProcessing, 200
	out := scraper.Scrape(&scraper.Page{
		ID: row.URLMd5, URL: r.URL, Type: r.Type, Processor: strings.ToUpper(texts["PROCESSOR_NAME"]), Text: []byte(r.Text),
		Header: []byte(r.Header), Entry: r.Entry, Fields: r.Fields, CrawlingTime: 1500 * time.Millisecond,
		Now: time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC), Row: &row, Limits: &wire.Site{ID: "s"}, Room: -1,
		Templates: r.Templates, Resolved: r.Resolved,
	}, rules)
	answer := map[string]any{"tagsCount": out.Item.TagsCount, "tagsMask": out.Item.TagsMask}
	set := func(name string, value string) {
		if value != "" {
			answer[name] = value
		}
	}
	set("pDate", string(out.Item.Published))
	set("contentURLMd5", out.Item.Hash)
	set("errors", strings.Join(out.Bits.Names(), ","))
	set("message", out.Message)
	set("links", strings.Join(out.Links, " "))
	if out.Refused {
		answer["refused"] = true
	}
	for _, p := range problems {
		list, _ := answer["problems"].([]any)
		answer["problems"] = append(list, p.Text)
	}
	answer["content"] = withoutTime(out.Item.Content)
	for _, item := range out.Items {
		list, _ := answer["items"].([]any)
		answer["items"] = append(list, map[string]any{
			"url": item.Row.URL, "tagsCount": item.Row.TagsCount, "errorMask": item.Row.ErrorMask, "content": withoutTime(item.Content),
		})
	}
	raw, _ := json.Marshal(answer)
	var plain map[string]any
	_ = json.Unmarshal(raw, &plain)
	return plain
}

// withoutTime returns a stored content as a value, without times of extraction. A single internal
// result, which repeats the default, is left out.
func withoutTime(content []byte) any {
	text, _ := result.Expand(content) // nil is no JSON
	var value map[string]any
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	var clean func(any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "time")
			for _, inner := range v {
				clean(inner)
			}
		case []any:
			for _, inner := range v {
				clean(inner)
			}
		}
	}
	clean(value)
	if list, _ := value["internal"].([]any); len(list) == 1 {
		delete(value, "internal")
	}
	return value
}

// An unknown key has no effect, and is named.
func TestUnknownOption(t *testing.T) {
	_, problems := scraper.Compile(&scraper.Source{Properties: map[string]string{"PROCESSOR_PROPERTIES": `{"SCRAPER_TEXT_REDUCR":1,"CLOSE_VOID":1,"rank":2}`}})
	if len(problems) != 1 || problems[0].Bits != 0 || !strings.Contains(problems[0].Text, `unknown key "SCRAPER_TEXT_REDUCR"`) {
		t.Errorf("%v", problems)
	}
}
