package main

import (
	"hce/dc/internal/process/choice"
)

// Sizes of the forests. The product pays for each tree of First and Last on each line.
var (
	kindForest  = settings{trees: 60, depth: 4, rate: 0.12, sample: 0.8}
	firstForest = settings{trees: 48, depth: 5, rate: 0.15, sample: 0.3, seed: 11}
	lastForest  = settings{trees: 64, depth: 5, rate: 0.15, sample: 0.3, seed: 12}
)

const (
	linesOfPage  = 150  // of a long page only about so many lines are used
	wordsOfLine  = 80   // words of a line count up to here
	leastExpert  = 0.05 // least weight of a page for an expert
	taughtWeight = 0.7
	docsWeight   = 0.5
	shadowWeight = 0.4 // times that of the page
)

// trainer holds what is learnt from.
type trainer struct {
	pages []*page
	folds int
}

// setWeights gives each page its fold and weight.
func (t *trainer) setWeights() {
	for _, p := range t.pages {
		p.fold = int(hashOf(p.group)>>3) % t.folds
		switch {
		case p.isMarked():
			p.weight = docsWeight
		case p.Type == "taught":
			p.weight = taughtWeight
		}
		if p.shadow {
			p.weight *= shadowWeight
		}
	}
}

// pagesOutsideFold returns the pages that are not in fold f; all if f is negative.
func (t *trainer) pagesOutsideFold(f int) (list []*page) {
	for _, p := range t.pages {
		if p.fold != f {
			list = append(list, p)
		}
	}
	return list
}

// pagesInFold returns the pages of fold f.
func (t *trainer) pagesInFold(f int) (list []*page) {
	for _, p := range t.pages {
		if p.fold == f {
			list = append(list, p)
		}
	}
	return list
}

// trainModels trains models for each fold, from the pages of the others, and from all pages. What a model sees of another
// model's answers on training pages are answers of models that did not see these pages.
func (t *trainer) trainModels(final bool) (folds []*choice.Models, all *choice.Models) {
	all = &choice.Models{}
	for range t.folds {
		folds = append(folds, &choice.Models{})
	}
	t.trainStep(folds, all, final, func(m *choice.Models, pages []*page) { t.trainKinds(m, pages) }, func(m *choice.Models, p *page) {
		p.kinds = p.kinds[:0]
		for _, f := range m.Kinds {
			p.kinds = append(p.kinds, f.Predict(p.pageRow))
		}
	})
	runParallel(len(t.pages), func(i int) { t.pages[i].readFeatures() })
	t.trainStep(folds, all, final, func(m *choice.Models, pages []*page) {
		r, _ := rowsOf(pages)
		m.First = trainForest(r, firstForest)
	}, func(m *choice.Models, p *page) {
		p.first = make([]float32, len(p.x))
		for i := range p.x {
			p.first[i] = m.First.Predict(p.x[i])
		}
	})
	runParallel(len(t.pages), func(i int) { t.pages[i].readContext() })
	t.trainStep(folds, all, final, func(m *choice.Models, pages []*page) {
		r, lines := rowsOf(pages)
		for k := range m.Last {
			s := lastForest
			s.seed += int64(k)
			for i, l := range lines {
				r.w[i] = l.weight * max(choice.Shares(l.kinds)[k], leastExpert)
			}
			m.Last[k] = trainForest(r, s)
		}
	}, func(*choice.Models, *page) {})
	return folds, all
}

// trainStep trains one step: a model for each fold, which predicts the pages of the fold, and one of all pages.
func (t *trainer) trainStep(folds []*choice.Models, all *choice.Models, final bool, train func(*choice.Models, []*page), predict func(*choice.Models, *page)) {
	for f, m := range folds {
		train(m, t.pagesOutsideFold(f))
		pages := t.pagesInFold(f)
		runParallel(len(pages), func(i int) { predict(m, pages[i]) })
	}
	if final {
		train(all, t.pages)
	}
}

// isKind reports whether a page is of the kind with the name.
func (p *page) isKind(name string) bool {
	switch p.Type {
	case "listing", "collection", "category":
		return name == "list"
	case "taught":
		return name == "article"
	}
	return name == p.Type
}

// trainKinds trains what tells the kind of a page.
func (t *trainer) trainKinds(m *choice.Models, pages []*page) {
	for k, name := range choice.KindNames {
		var xs [][]float32
		var y, w []float32
		for _, p := range pages {
			label := float32(0)
			if p.isKind(name) {
				label = 1
			}
			xs, y, w = append(xs, p.pageRow), append(y, label), append(w, p.kindWeight())
		}
		s := kindForest
		s.seed = int64(k)
		m.Kinds[k] = trainForest(newRows(xs, y, w), s)
	}
}

// kindWeight is the weight of a page for its kind. Pages with a known kind count most, so that the other sets do not
// change how frequent a kind seems to be.
func (p *page) kindWeight() float32 {
	switch {
	case p.shadow:
		return 0.02
	case p.isMarked():
		return 0.15
	case p.Type == "taught":
		return 0.25
	}
	return 1
}

// readFeatures reads the features of the lines.
func (p *page) readFeatures() {
	p.trial.SetTypes(p.kinds)
	for i := range p.lines {
		p.x = append(p.x, p.trial.Features(i, nil))
	}
}

// readContext adds the features that need the answers of the first model.
func (p *page) readContext() {
	for i, row := range p.trial.Context(p.first, nil) {
		p.x[i] = append(p.x[i], row...)
	}
}

// lineWeight is the weight of a line: its part of the words of the page.
func (p *page) lineWeight(i int) float32 {
	if i == p.title {
		return 0.01
	}
	if p.total == 0 {
		for _, w := range p.words {
			p.total += float32(min(len(w), wordsOfLine)) + 1
		}
	}
	return (float32(min(len(p.words[i]), wordsOfLine)) + 1) / p.total * 100 * p.weight * p.sure[i]
}

// line is what a row was made of.
type line struct {
	*page
	weight float32
}

// rowsOf returns the rows of some lines of pages. Of a long page each k-th line is taken, with k times its weight.
func rowsOf(pages []*page) (*rows, []line) {
	var xs [][]float32
	var y, w []float32
	var lines []line
	for _, p := range pages {
		step := 1 + len(p.x)/linesOfPage
		for i := int(hashOf(p.ID)>>1) % step; i < len(p.x); i += step {
			weight := p.lineWeight(i) * float32(step)
			if weight <= 0 || p.lines[i] == "" {
				continue
			}
			label := float32(0)
			if p.labels[i] {
				label = 1
			}
			xs, y, w, lines = append(xs, p.x[i]), append(y, label), append(w, weight), append(lines, line{p, weight})
		}
	}
	return newRows(xs, y, w), lines
}
