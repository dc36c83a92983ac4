package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSameInputGivesSameBytes makes the models of a small folder twice.
func TestSameInputGivesSameBytes(t *testing.T) {
	folder := filepath.Join("testdata", "pages")
	var list [2][]byte
	for i := range list {
		out := filepath.Join(t.TempDir(), "model.bin")
		if err := runCommand([]string{"make", "-out", out, folder}); err != nil {
			t.Fatal(err)
		}
		var err error
		if list[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if len(list[0]) < 1000 || !bytes.Equal(list[0], list[1]) {
		t.Errorf("two runs wrote %d and %d bytes that differ", len(list[0]), len(list[1]))
	}
}

func TestEvalRuns(t *testing.T) {
	if err := runCommand([]string{"eval", "-wrong", filepath.Join(t.TempDir(), "wrong.tsv"), filepath.Join("testdata", "pages")}); err != nil {
		t.Fatal(err)
	}
}

func TestLabelLines(t *testing.T) {
	lines := [][]string{wordsOf("Start"), wordsOf("The ferry leaves at seven in the morning."), wordsOf("Seven"), wordsOf("A ticket is sold on board, and only there."), wordsOf("Start")}
	got := labelLines(lines, "The ferry leaves at seven in the morning. Seven. A ticket is sold on board, and only there.")
	if want := []bool{false, true, true, true, false}; !slices.Equal(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
}

func TestJudge(t *testing.T) {
	page := `<body><nav><p>Menu</p></nav><main><h1>Ropes</h1><p>A rope of <a href="/x">hemp</a> is strong.</p><ul><li>first of all<ul><li>inner item</li></ul></li></ul>` +
		`<table><tr><th>Length</th><th>Price</th></tr><tr><td>8 m</td><td>12</td></tr></table><pre>pull --hard</pre><a class="mark">#</a></main></body>`
	for _, c := range []struct {
		name, markdown string
		kept           map[string]float64
	}{
		{"all", "# Ropes\n\nA rope of [hemp](http://a/x) is strong.\n\n- first of all\n  - inner item\n\n| Length | Price |\n|---|---|\n| 8 m | 12 |\n\n```\npull --hard\n```",
			map[string]float64{"heading": 1, "paragraph": 1, "item": 2, "row": 2, "code": 1, "all": 7}},
		{"glued cells", "# Ropes\n\nLengthPrice\n\n8 m12", map[string]float64{"heading": 1, "all": 1}},
		{"nothing", "", map[string]float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := judgePage([]byte(page), "main", "a.mark", c.markdown)
			if j == nil {
				t.Fatal("no main element")
			}
			for _, k := range []string{"heading", "paragraph", "item", "row", "code", "all"} {
				if j.kept[k] != c.kept[k] {
					t.Errorf("%s: kept %v of %v, want %v", k, j.kept[k], j.whole[k], c.kept[k])
				}
			}
		})
	}
}

func TestGeneratorOf(t *testing.T) {
	for _, c := range []struct{ page, want string }{
		{`<div class="wy-nav-content"><div role="main">`, "sphinx/rtd"},
		{`<meta name="generator" content="DocBook XSL Stylesheets"><div class="navheader">`, "docbook/xsl"},
		{`<p>a page</p>`, ""},
	} {
		got := ""
		if g := generatorOf([]byte(c.page)); g != nil {
			got = g.name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.page, got, c.want)
		}
	}
}
