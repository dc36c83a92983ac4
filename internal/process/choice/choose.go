package choice

import (
	"math"

	"hce/dc/internal/process/metadata"
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// chooser chooses the lines of a page. It holds the memory for one page after the other.
type Chooser struct {
	view   view
	sums   contextSums
	p1, p2 []float32
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

// choose sets chosen for each line, and returns how sure the choice is, 0 to 1.
func (x *Chooser) Choose(page *outline.Outline, h *metadata.Head, pageURL string, mode Mode) float32 {
	x.view = view{page}
	o := x.view
	n := len(o.Lines)
	s := o.weigh()
	x.p1, x.p2 = x.p1[:0], x.p2[:0]
	x.Chosen = x.Chosen[:0]
	if cap(x.vec.f) == 0 {
		x.vec.f = make([]float32, 0, 256)
	}
	x.vec.f = x.vec.f[:0]
	o.pageFeatures(&x.vec, &s, h, pageURL)
	for k, m := range models.Kinds {
		s.types[k] = sigmoid(m.Sum(x.vec.f))
	}
	x.Kinds = s.types
	width := 0
	// features of all blocks, in one array
	x.vec.f = x.vec.f[:0]
	rows := x.vec.f
	for i := range n {
		from := len(rows)
		x.vec.f = rows
		o.features(&x.vec, i, &s)
		rows = x.vec.f
		x.p1 = append(x.p1, sigmoid(models.First.Sum(rows[from:])))
		width = len(rows) - from
		rows = append(rows, contextRoom[:]...)
	}
	x.sums.p = x.p1
	o.sum(&x.sums)
	stride := width + len(contextRoom)
	sure, weight := float32(0), float32(0)
	shares := Shares(s.types[:])
	for i := range n {
		x.vec.f = rows[i*stride : i*stride+width]
		o.context(&x.vec, i, &x.sums)
		p := float32(0)
		for k, share := range shares {
			if share > 0 {
				p += share * sigmoid(models.Last[k].Sum(x.vec.f))
			}
		}
		x.p2 = append(x.p2, p)
		w := float32(o.Lines[i].Words) + 0.5
		weight += w
		sure += w * max(p, 1-p)
	}
	x.vec.f = rows
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
	x.refine()
	if weight == 0 {
		return 0
	}
	return sure / weight
}

// ChooseAll chooses all lines of a page.
func (x *Chooser) ChooseAll(page *outline.Outline) {
	x.Chosen = x.Chosen[:0]
	for range page.Lines {
		x.Chosen = append(x.Chosen, true)
	}
}

var contextRoom [contextFeatures]float32

func sigmoid(x float32) float32 { return float32(1 / (1 + math.Exp(-float64(x)))) }

// FillLeast is the least probability of a line that fill chooses.
var FillLeast = float32(0.4)

// fill chooses doubtful lines inside of the element that has almost all that is chosen: on pages of documentation
// declarations and tables of links look like menus.
func (x *Chooser) fill() {
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

// marked chooses what the page itself marks as its content; false: nothing.
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

// refine corrects the choice by rules that need no model.
func (x *Chooser) refine() {
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
			if up, _ := o.distance(o.Lines[below].Box, b.Box); up <= 4 {
				x.Chosen[i] = true
			}
		}
	}
	if x.Kinds[1] > 0.5 {
		x.fill()
		return // documentation has headings of its own, such as declarations
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
