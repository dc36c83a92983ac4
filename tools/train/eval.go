package main

import (
	"fmt"
	"sort"

	"hce/dc/internal/process/article"
	"hce/dc/internal/process/choice"
)

// figures are sums over pages.
type figures struct {
	pages             int
	f1                float64
	precision, recall float64 // of groups of four words
	markdown          float64
	kept, whole       map[string]float64
}

func (g *figures) addPage(p *page, text, markdown string) {
	g.pages++
	g.f1 += wordF1(text, p.Text)
	a, b := compareShingles(text, p.Text)
	g.precision, g.recall = g.precision+a, g.recall+b
	if !p.isMarked() {
		return
	}
	j := judgePage(p.html, p.Main, p.Drop, markdown)
	if j == nil {
		return
	}
	if g.kept == nil {
		g.kept, g.whole = map[string]float64{}, map[string]float64{}
	}
	g.markdown += j.f1
	for k, n := range j.whole {
		g.whole[k] += n
		g.kept[k] += j.kept[k]
	}
}

// report is figures by name.
type report map[string]*figures

func (r report) figuresOf(name string) *figures {
	if r[name] == nil {
		r[name] = &figures{}
	}
	return r[name]
}

// evaluatePages reads each page with the models of its fold, those of the product if they are nil, by the whole road of the product.
func evaluatePages(t *trainer, folds []*choice.Models) (kinds, generators report) {
	kinds, generators = report{}, report{}
	for f, m := range folds {
		if m != nil {
			choice.UseModels(m)
		}
		for _, p := range t.pagesInFold(f) {
			if p.shadow {
				continue
			}
			text, markdown := extractArticle(p)
			if p.isMarked() {
				generators.figuresOf(p.Generator).addPage(p, text, markdown)
				generators.figuresOf("~all").addPage(p, text, markdown)
				continue
			}
			kinds.figuresOf(p.Type).addPage(p, text, markdown)
			if p.Type != "taught" {
				kinds.figuresOf("~all").addPage(p, text, markdown)
			}
		}
	}
	return kinds, generators
}

func extractArticle(p *page) (text, markdown string) {
	page := article.NewPage(p.html, p.URL, "")
	defer page.Release()
	a, _ := page.Article(article.Default)
	return a.Text, a.Markdown
}

// printTable prints figures in the form of a table of Markdown.
func (r report) printTable(generators bool) {
	var names []string
	for name := range r {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		g := r[name]
		n := float64(g.pages)
		fmt.Printf("| %s | %d | %.3f |", name, g.pages, g.f1/n)
		if !generators {
			fmt.Printf(" %.3f | %.3f |\n", g.precision/n, g.recall/n)
			continue
		}
		fmt.Printf(" %.3f |", g.markdown/n)
		for _, k := range []string{"all", "heading", "paragraph", "item", "row", "code"} {
			fmt.Printf(" %.3f |", g.kept[k]/max(1, g.whole[k]))
		}
		fmt.Println()
	}
}
