package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

var fieldRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| .+ \\| ([\\w, ]*) \\|$")

// docs/hce.md has each field once, with the formats that have it without --fields.
func TestFieldsPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/hce.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "<!-- the tests of internal/cli/export read this table -->\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var names []string
	for _, m := range fieldRow.FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
		var formats []string
		for _, f := range Formats {
			if slices.Contains(f.Default, m[1]) {
				formats = append(formats, f.Name)
			}
		}
		if got := strings.Join(formats, ", "); got != m[2] {
			t.Errorf("%s is a default of %q, not of %q", m[1], got, m[2])
		}
	}
	if slices.Sort(names); !slices.Equal(names, FieldNames()) {
		t.Errorf("the page has\n%q, the fields are\n%q", names, FieldNames())
	}
}

// Each field that is read alone, without the other processed values, is the one of a page that is read as a whole.
func TestFieldsAlone(t *testing.T) {
	j, stores := job(t, "jsonl", 3)
	var whole []*pages.Page
	reader := pages.Reader{Service: stores, Site: j.Sites[0], Where: Fetched, Needs: pages.Processed | pages.Raw | pages.Headers}
	if err := reader.Read(t.Context(), "", func(p *pages.Page) error { whole = append(whole, p); return nil }, nil); err != nil || len(whole) != 3 {
		t.Fatal(len(whole), err)
	}
	for _, name := range append(FieldNames(), "tag:title", "tag:nothing", "tag:pubdate") {
		if name == referrersField {
			continue
		}
		for _, markdown := range []bool{false, true} {
			j.Settings = Settings{Fields: []string{name}, Markdown: markdown}
			var want strings.Builder
			w, err := newJSONL(Output{W: &want}, j.Settings)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range whole {
				if err := w.Page(p); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			if got := exported(t, j); got != want.String() {
				t.Errorf("%s (Markdown %t): %s, want %s", name, markdown, got, want.String())
			}
		}
	}
}

// A field that is read alone needs no second look at rows that have not changed.
func TestFieldsAreReadOnce(t *testing.T) {
	j, stores := job(t, "jsonl", 20)
	for _, fields := range []string{"url", "url,title"} {
		j.Settings.Fields = strings.Split(fields, ",")
		before := stores.Asked[wire.URLFetch]
		exported(t, j)
		if n := stores.Asked[wire.URLFetch] - before; n != 1 {
			t.Errorf("%s: %d URL_FETCH, want 1", fields, n)
		}
	}
}
