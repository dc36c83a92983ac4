package choice

import (
	"math"
	"slices"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// Chooser chooses the lines of a page. It holds the memory for one page after the other.
type Chooser struct {
	view   view
	sums   contextSums
	p1, p2 []float32
	expert []float32
	vec    vector
	Kinds  [pageKinds]float32 // how much the page is of each kind, by KindNames
	Chosen []bool
}

// Mode says what to do with doubtful lines.
type Mode int

const (
	Balanced Mode = iota // the best expected F1
	Precise              // leave them out
	Complete             // choose them
)

// thresholds are the probabilities from which on a line is chosen.
var thresholds = [...]float32{Balanced: 0.55, Precise: 0.75, Complete: 0.3}

// Choose sets Chosen for each line of a page, and returns how sure the choice is, 0 to 1.
func (x *Chooser) Choose(page *outline.Outline, h *metadata.Head, pageURL string, mode Mode) float32 {
	x.view = view{page}
	o := x.view
	s := o.findCores()
	x.p1, x.p2 = x.p1[:0], x.p2[:0]
	x.Chosen = x.Chosen[:0]
	if cap(x.vec.f) == 0 {
		x.vec.f = make([]float32, 0, 256)
	}
	x.vec.f = x.vec.f[:0]
	o.pageFeatures(&x.vec, &s, h, pageURL)
	for k, m := range models().Kinds {
		s.types[k] = sigmoid(m.Sum(x.vec.f))
	}
	x.Kinds = s.types
	x.weighLines(&s)
	sure, weight := float32(0), float32(0)
	for i, p := range x.p2 {
		w := float32(o.Lines[i].Words) + 0.5
		weight += w
		sure += w * max(p, 1-p)
	}
	cut := Cut(x.p2, func(i int) float32 {
		if int32(i) == o.Title {
			return 0
		}
		return float32(o.Lines[i].Words)
	}, thresholds[mode], s.types[:])
	if mode == Precise {
		cut = thresholds[mode]
	}
	for _, p := range x.p2 {
		x.Chosen = append(x.Chosen, p > cut)
	}
	x.refineChoice()
	if weight == 0 {
		return 0
	}
	return sure / weight
}

// maxRows is the most lines whose features are in memory: about a kilobyte each.
const maxRows = 4096

// weighLines sets p1 and p2 of all lines. The features of a page with more than maxRows lines are read twice.
func (x *Chooser) weighLines(s *pageStats) {
	n := len(x.view.Lines)
	x.p1, x.p2 = slices.Grow(x.p1, n)[:n], slices.Grow(x.p2, n)[:n]
	var r rows
	for from := 0; from < n; from += maxRows {
		r = x.readRows(s, from, min(n, from+maxRows))
		r.predictRows(x.p1[r.from:r.to], models().First)
	}
	x.sums.p = x.p1
	x.view.sumContext(&x.sums)
	shares := Shares(s.types[:])
	for from := 0; from < n; from += maxRows {
		if n > maxRows {
			r = x.readRows(s, from, min(n, from+maxRows))
		}
		x.mixExperts(shares, r)
	}
}

// rows are the features of the lines from to to, stride for each line.
type rows struct {
	values   []float32
	from, to int
	stride   int
}

// readRows returns the features of some lines, with room for those of context.
func (x *Chooser) readRows(s *pageStats, from, to int) rows {
	r := rows{values: x.vec.f[:0], from: from, to: to}
	for i := from; i < to; i++ {
		start := len(r.values)
		x.vec.f = r.values
		x.view.addFeatures(&x.vec, i, s)
		r.values = append(x.vec.f, contextRoom[:]...)
		r.stride = len(r.values) - start
	}
	r.values = append(r.values, padding[:]...)
	x.vec.f = r.values
	return r
}

// predictRows sets p to the probabilities of the rows.
func (r rows) predictRows(p []float32, m *Forest) {
	m.SumRows(p, r.values, r.stride)
	for i, v := range p {
		p[i] = sigmoid(v)
	}
}

// mixExperts sets p2 of the rows to what the experts say, by their shares.
func (x *Chooser) mixExperts(shares [experts]float32, r rows) {
	for i := r.from; i < r.to; i++ {
		at := (i - r.from) * r.stride
		x.vec.f = r.values[at : at+r.stride-contextFeatures]
		x.view.addContext(&x.vec, i, &x.sums)
	}
	x.vec.f = r.values
	p2 := x.p2[r.from:r.to]
	clear(p2)
	x.expert = slices.Grow(x.expert[:0], len(p2))[:len(p2)]
	for k, share := range shares {
		if share == 0 {
			continue
		}
		r.predictRows(x.expert, models().Last[k])
		for i, p := range x.expert {
			p2[i] += share * p
		}
	}
}

// ChooseAll chooses all lines of a page.
func (x *Chooser) ChooseAll(page *outline.Outline) {
	x.Chosen = x.Chosen[:0]
	for range page.Lines {
		x.Chosen = append(x.Chosen, true)
	}
}

var (
	contextRoom [contextFeatures]float32
	padding     [maxFeatures]float32 // SumRows reads rows of this size
)

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// FillLeast is the least probability of a line that fill chooses.
var FillLeast = float32(0.4)

// fillElement chooses doubtful lines inside of the element that has almost all that is chosen: on pages of documentation
// declarations and tables of links look like menus.
func (x *Chooser) fillElement() {
	o := x.view
	sums := append(o.Sums[:0], 0)
	n := int32(0)
	for i := range o.Lines {
		if x.Chosen[i] {
			n += o.Lines[i].Words
		}
		sums = append(sums, n)
	}
	o.Sums = sums
	core := int32(0)
	for i := range o.Boxes {
		b := &o.Boxes[i]
		if i > 0 && b.Parent == core && b.End-b.Start >= 2 && 10*(sums[b.End]-sums[b.Start]) >= 9*n {
			core = int32(i)
		}
	}
	c := &o.Boxes[core]
	for i := c.Start; i < c.End; i++ {
		if x.Chosen[i] || x.p2[i] < FillLeast {
			continue
		}
		b := &o.Boxes[o.Lines[i].Box]
		up := b.Depth - c.Depth
		if b.In&^c.In&(outline.InNav|outline.InFooter|outline.InAside|outline.InForm|outline.InButton) != 0 || b.Near[outline.HintNav] < up || b.Near[outline.HintFooter] < up || b.Near[outline.HintSide] < up || b.Near[outline.HintHidden] < up {
			continue
		}
		x.Chosen[i] = true
	}
}

// IsList reports whether the page of the last Choose is a list of other pages rather than of another kind.
func (x *Chooser) IsList() bool {
	const list = pageKinds - 1 // the last of KindNames
	for _, k := range x.Kinds[:list] {
		if k >= x.Kinds[list] {
			return false
		}
	}
	return true
}

// ChooseMarked chooses what the page itself marks as its content; false: nothing.
func (x *Chooser) ChooseMarked() (any bool) {
	o := x.view
	for _, bit := range [...]uint32{outline.InArticle, outline.InMain} {
		for i := range o.Lines {
			if in := o.Boxes[o.Lines[i].Box].In; in&bit != 0 && in&(outline.InNav|outline.InFooter|outline.InAside) == 0 {
				x.Chosen[i] = true
				any = any || int32(i) != o.Title
			}
		}
		if any {
			return true
		}
	}
	return false
}

// HeadingLeast is the least probability of a heading above a chosen text.
var HeadingLeast = float32(0.15)

// refineChoice corrects the choice by rules that need no model.
func (x *Chooser) refineChoice() {
	o := x.view
	// a heading right above a chosen text
	below := -1
	for i := len(o.Lines) - 1; i >= 0; i-- {
		b := &o.Lines[i]
		if b.Kind != outline.KindHeading {
			if x.Chosen[i] && x.p2[i] > 0.6 {
				below = i
			} else if b.Size > 24 {
				below = -1 // short ones are marks, such as "source"
			}
			continue
		}
		if below >= 0 && below-i <= 3 && !x.Chosen[i] && x.p2[i] > HeadingLeast && !b.Title {
			if up, _ := o.boxDistance(o.Lines[below].Box, b.Box); up <= 4 {
				x.Chosen[i] = true
			}
		}
	}
	if x.Kinds[1] > 0.5 {
		x.fillElement()
		return // documentation has headings of its own, such as declarations
	}
	for i := range o.Lines {
		if x.Chosen[i] && o.isAround(i) {
			x.Chosen[i] = false
		}
	}
	// a heading without a text below it
	text := false
	level := 0
	for i := len(o.Lines) - 1; i >= 0; i-- {
		if !x.Chosen[i] {
			continue
		}
		b := &o.Lines[i]
		if b.Kind != outline.KindHeading {
			text = true
			continue
		}
		l := int(o.Boxes[b.Box].Tag-htmltree.TagH1) + 1
		if l < 1 || l > 6 {
			l = 6
		}
		if !text && (level == 0 || l >= level) {
			x.Chosen[i] = int32(i) == o.Title
			continue
		}
		text, level = false, l
	}
}

// isAround reports whether a short line says in two ways that it is not part of the text: the name of the author right below
// the title, or words such as "subscribe" in an element with such a name.
func (o view) isAround(i int) bool {
	b := &o.Lines[i]
	if b.Size > 60 || b.Kind > outline.KindParagraph {
		return false
	}
	if after := int32(i) - o.Title; o.Title >= 0 && after > 0 && after <= 2 && b.Says&(1<<outline.SaysBy) != 0 && b.Words <= 6 && !b.IsSentence() {
		return true
	}
	const asks = uint32(1<<outline.SaysShare | 1<<outline.SaysSubscribe | 1<<outline.SaysLogin | 1<<outline.SaysAd | 1<<outline.SaysCookie)
	near := &o.Boxes[b.Box].Near
	return b.Says&asks != 0 && min(near[outline.HintShare], near[outline.HintForm], near[outline.HintAd], near[outline.HintRelated]) <= 1
}
