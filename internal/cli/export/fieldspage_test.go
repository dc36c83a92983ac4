package export

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
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
