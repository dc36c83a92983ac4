package treesize

import (
	"fmt"
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	var tags, bodies strings.Builder
	for i := range 400 {
		fmt.Fprintf(&tags, "<b a%d>", i)
		fmt.Fprintf(&bodies, "<body a%d=%s>", i, strings.Repeat("x", 1000))
	}
	for name, c := range map[string]struct {
		text        string
		least, most int
	}{
		"empty":                  {"", 0, 0},
		"a page":                 {"<title>T</title><p>Some <b>bold</b> text.", 5, 30},
		"a long page":            {strings.Repeat("<p>Some <b>bold</b> text.", 1000), 4000, 12_000},
		"reopened elements":      {"<p>" + tags.String() + strings.Repeat("<p>x", 2000), 1_000_001, 1_002_000},
		"merged attributes":      {bodies.String(), 1_000_001, 1_050_000},
		"too many open elements": {tags.String() + strings.Repeat("<i b=%d>", 3) + strings.ReplaceAll(tags.String(), "<b", "<i"), 1_000_001, 1_000_001},
	} {
		if n := HTML([]byte(c.text), 1_000_000); n < c.least || n > c.most {
			t.Errorf("%s: %d, want %d to %d", name, n, c.least, c.most)
		}
	}
}
