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

func (g *figures) add(p *page, text, markdown string) {
	g.pages++
	g.f1 += wordF1(text, p.Text)
	a, b := shingles(text, p.Text)
	g.precision, g.recall = g.precision+a, g.recall+b
	if !p.isMarked() {
		return
	}
	j := judge(p.html, p.Main, p.Drop, markdown)
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

func (r report) at(name string) *figures {
	if r[name] == nil {
		r[name] = &figures{}
	}
	return r[name]
}

// evaluate reads each page with the models of its fold, those of the product if they are nil, by the whole road of the product.
func evaluate(t *trainer, folds []*choice.Models) (kinds, generators report) {
	kinds, generators = report{}, report{}
	for f, m := range folds {
		if m != nil {
			choice.UseModels(m)
		}
		for _, p := range t.within(f) {
			if p.shadow {
				continue
			}
			text, markdown := extract(p)
			if p.isMarked() {
				generators.at(p.Generator).add(p, text, markdown)
				generators.at("~all").add(p, text, markdown)
				continue
			}
			kinds.at(p.Type).add(p, text, markdown)
			if p.Type != "taught" {
				kinds.at("~all").add(p, text, markdown)
			}
		}
	}
	return kinds, generators
}

func extract(p *page) (text, markdown string) {
	page := article.NewPage(p.html, p.URL, "")
	defer page.Release()
	a, _ := page.Article(article.Default)
	return a.Text, a.Markdown
}

// print prints figures in the form of a table of Markdown.
func (r report) print(generators bool) {
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
