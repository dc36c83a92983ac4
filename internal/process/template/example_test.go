package template

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hce/dc/internal/testkit/testgolden"
	"hce/dc/internal/web/xpath"
	"hce/dc/internal/wire/result"
)

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The two examples of docs/spec/processing.md 3.9 and 3.10 with pages of our own.
func TestExamples(t *testing.T) {
	for name, c := range map[string]struct {
		url     string
		extract func(*Template, context.Context, *xpath.Document, Options) ([]result.Result, []Problem)
	}{
		"article": {"http://news.example.org/2026/harbour", func(t *Template, ctx context.Context, doc *xpath.Document, o Options) ([]result.Result, []Problem) {
			r, problems := t.Apply(ctx, doc, o)
			return []result.Result{r}, problems
		}},
		"products": {"http://shop.example/goods/", (*Template).Items},
	} {
		t.Run(name, func(t *testing.T) {
			s := set(t, read(t, name+".json"))
			list, problems := s.For(func(string) (string, bool) { return c.url, true })
			if len(list) != 1 || len(problems) > 0 || list[0].OutputFormat == nil {
				t.Fatalf("%d templates, %s", len(list), messages(problems))
			}
			o := options()
			o.URL, o.Trace = c.url, &Trace{}
			results, problems := c.extract(list[0], context.Background(), parsed(t, read(t, name+".html")), o)
			tags := make([]map[string]string, len(results))
			for i, r := range results {
				tags[i] = map[string]string{}
				for _, tag := range r.Tags {
					tags[i][tag.Name] = strings.Join(tag.Data, "|")
				}
			}
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			e.SetIndent("", "  ")
			if err := e.Encode(map[string]any{"results": tags, "problems": problems, "trace": o.Trace}); err != nil {
				t.Fatal(err)
			}
			testgolden.Equal(t, filepath.Join("testdata", name+".golden"), b.String())
		})
	}
}

// A condition that does not hold removes the template.
func TestConditionOfTheExample(t *testing.T) {
	s := set(t, read(t, "article.json"))
	list, _ := s.For(func(string) (string, bool) { return "http://news.example.org/about", true })
	if len(list) != 0 {
		t.Error("3.1 condition: the template is kept")
	}
}
