package choice

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// chosenText returns the chosen lines of a page, one a line.
func chosenText(page string) string {
	var d htmltree.Doc
	var o outline.Outline
	var h metadata.Head
	var c Chooser
	d.Parse([]byte(page))
	h.Read(&d, "")
	o.Read(&d)
	h.FindTitle(&o)
	c.Choose(&o, &h, "", Balanced)
	var b strings.Builder
	for i := range o.Lines {
		if c.Chosen[i] {
			b.Write(o.AppendText(nil, &o.Lines[i]))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// TestSumRowsIsSum compares the two ways to read a forest.
func TestSumRowsIsSum(t *testing.T) {
	const stride, n = 170, 131
	rng := rand.New(rand.NewSource(1))
	rows := make([]float32, n*stride+maxFeatures)
	for i := range rows {
		rows[i] = float32(rng.NormFloat64() * 5)
	}
	sums := make([]float32, n)
	for k, m := range models().forestPlaces() {
		(*m).SumRows(sums, rows, stride)
		for i := range sums {
			if want := (*m).Sum(rows[i*stride:]); sums[i] != want {
				t.Fatalf("forest %d, row %d: %v, want %v", k, i, sums[i], want)
			}
		}
	}
}

// TestModelFitsFeatures finds a model.bin that was made for other features.
func TestModelFitsFeatures(t *testing.T) {
	var trial Trial
	n := trial.Read([]byte("<p>One line of a page.<p>Another line of it."), "")
	trial.Context(make([]float32, n), nil)
	page, line := len(trial.Page(nil)), len(trial.Features(0, nil))
	for k, m := range models().forestPlaces() {
		most := line + contextFeatures
		switch {
		case k < pageKinds:
			most = page
		case k == pageKinds:
			most = line
		}
		for _, f := range (*m).Feature {
			if int(f) >= most {
				t.Fatalf("forest %d asks for feature %d of %d", k, f, most)
			}
		}
	}
	if got := len(trial.Context(make([]float32, n), nil)[0]); got != contextFeatures {
		t.Errorf("context appends %d features, contextFeatures is %d", got, contextFeatures)
	}
}

// TestSectionsNamedLikeFurniture has sections whose ids and classes are made of words that also name parts around an article.
func TestSectionsNamedLikeFurniture(t *testing.T) {
	const first = "The keeper of the lock writes down each boat that passes, with its length and its flag. "
	const last = "Numbers are written without a unit, and a value that is not known is left empty. "
	for _, id := range []string{"comments", "tags", "navigation", "navbar", "menu", "cookies", "footer", "related-work", "toc", "copyright", "pagination", "replies", "share", "sidebar", "social", "see-also"} {
		for _, element := range []string{"section", "div"} {
			t.Run(element+" "+id, func(t *testing.T) {
				page := fmt.Sprintf(`<!DOCTYPE html><html lang=en><title>The lock book</title><main><h1>The lock book</h1><section id=overview><h2>Overview</h2><p>%s</p></section>`+
					`<%[2]s id="%[3]s"><h2>A heading</h2><p>Begin each such line with a hash sign, and end it with a full stop for the reader.</p></%[2]s>`+
					`<section id=values><h2>Values</h2><p>%[4]s</p></section></main>`, strings.Repeat(first, 2), element, id, strings.Repeat(last, 2))
				if got := chosenText(page); !strings.Contains(got, "hash sign") || !strings.Contains(got, "A heading") {
					t.Errorf("the section is lost: %q", got)
				}
			})
		}
	}
}
