package wire

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// docs/spec/storage.md 1.5 has each column of a URL with its JSON key.
func TestColumnsPage(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "spec", "storage.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n### 1.5 ")
	part, _, _ = strings.Cut(part, "\n### ")
	var got, want []string
	for line := range strings.Lines(part) {
		cells := strings.Split(line, "|")
		if len(cells) < 6 || strings.Contains(cells[1], "---") || strings.TrimSpace(cells[1]) == "Column" {
			continue
		}
		keys := strings.Split(cells[4], " / ")
		for i, name := range strings.Split(cells[1], " / ") {
			key, _, _ := strings.Cut(strings.TrimSpace(keys[i]), " (")
			got = append(got, strings.TrimSpace(name)+" "+key)
		}
	}
	for _, c := range URLColumns {
		want = append(want, c.Name+" "+c.JSON)
	}
	slices.Sort(got)
	slices.Sort(want)
	for _, c := range want {
		if !slices.Contains(got, c) {
			t.Errorf("the page has no column %s", c)
		}
	}
	for _, c := range got {
		if !slices.Contains(want, c) {
			t.Errorf("the page has column %s, which rows do not have", c)
		}
	}
}
