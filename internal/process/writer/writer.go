package writer

import (
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// Writer writes the chosen lines of a page. It holds the memory for one page after the other. Not safe for concurrent
// use.
type Writer struct {
	outline *outline.Outline
	base    *Base
	chosen  []bool

	places  []place
	tables  []table // by the order of their boxes
	chain   []container
	stack   []container // the open containers
	prev    int         // the line before; -1: none
	code    []byte
	rows    []int // for each column: rows that a cell above covers
	noSpans bool  // spans of cells do not count
	inline  inline

	sink     sink
	markdown markdown
	html     htmlSink
}

// Begin prepares the lines of a page. chosen has an entry for each line; Begin completes it: a listing or a row of a
// table is chosen as a whole.
func (w *Writer) Begin(o *outline.Outline, base *Base, chosen []bool) {
	w.outline, w.base, w.chosen = o, base, chosen
	w.findPlaces()
	w.completeChoice()
}

// completeChoice chooses all lines of listings and rows that have a chosen line.
func (w *Writer) completeChoice() {
	for i := 0; i < len(w.chosen); {
		unit := w.unitOf(i)
		if unit == 0 {
			i++
			continue
		}
		from, any := i, false
		for ; i < len(w.chosen) && w.unitOf(i) == unit; i++ {
			any = any || w.chosen[i]
		}
		for k := from; k < i && any; k++ {
			w.chosen[k] = true
		}
	}
}

// unitOf returns the box of the listing or row that a line is in, or 0.
func (w *Writer) unitOf(i int) int32 {
	p := &w.places[w.outline.Lines[i].Box]
	if p.leaf != 0 && w.outline.IsListing(p.leaf) {
		return p.leaf
	}
	return p.row
}

// maxLabel is the most bytes of a label that is written as one.
const maxLabel = 200

// writeLines tells the sink the chosen lines.
func (w *Writer) writeLines(s sink) {
	o := w.outline
	w.sink, w.prev, w.stack = s, -1, w.stack[:0]
	for i := 0; i < len(o.Lines); {
		if !w.isWritten(i) {
			i++
			continue
		}
		p := &w.places[o.Lines[i].Box]
		w.enterLine(i)
		switch {
		case p.table != 0:
			i = w.writeTable(p.table, i)
		case p.leaf != 0 && o.IsListing(p.leaf):
			i = w.writeListing(p.leaf, i)
		case p.leaf != 0 && o.Boxes[p.leaf].Tag.IsHeading():
			i = w.writeHeading(p.leaf, i)
		default:
			i = w.writeParagraph(i, block{label: p.leaf != 0 && o.Lines[i].Size <= maxLabel})
		}
		w.prev = i - 1
	}
	for len(w.stack) > 0 {
		w.closeContainer()
	}
}

// isWritten reports whether a line is chosen and has a text.
func (w *Writer) isWritten(i int) bool { return w.chosen[i] && w.outline.Lines[i].Size > 0 }

// enterLine closes and opens the containers between the line before and line i, and writes the rule between them.
func (w *Writer) enterLine(i int) {
	box := w.outline.Lines[i].Box
	if t := w.places[box].table; t != 0 {
		box = t
	}
	w.chainOf(box)
	same := 0
	for same < len(w.chain) && same < len(w.stack) && w.chain[same].box == w.stack[same].box {
		same++
	}
	for len(w.stack) > same {
		w.closeContainer()
	}
	w.writeBetween(i)
	for _, c := range w.chain[same:] {
		w.stack = append(w.stack, c)
		w.sink.openContainer(&w.stack[len(w.stack)-1])
	}
}

func (w *Writer) closeContainer() {
	w.sink.closeContainer(&w.stack[len(w.stack)-1])
	w.stack = w.stack[:len(w.stack)-1]
}

// writeBetween writes the rule and the images between a line and the chosen line right before it.
func (w *Writer) writeBetween(i int) {
	if w.prev < 0 || w.prev != i-1 {
		return
	}
	nodes := w.outline.Doc.Nodes
	inList := len(w.stack) > 0 && w.stack[len(w.stack)-1].kind == list
	rule := false
	for k := w.outline.Lines[w.prev].Last + 1; k < w.outline.Lines[i].First; k++ {
		switch n := &nodes[k]; {
		case n.Tag == htmltree.TagText || n.Tag == htmltree.TagEnd:
		case w.outline.IsSkipped(k):
			k = n.End - 1
		case inList:
		case n.Tag == htmltree.TagHr && !rule:
			rule = true
			w.sink.writeRule()
		case n.Tag == htmltree.TagImg:
			w.writeImage(k, true)
		}
	}
}

// writeHeading writes the lines of a heading as one, and returns the line behind it.
func (w *Writer) writeHeading(leaf int32, i int) int {
	b := block{level: int(w.outline.Boxes[leaf].Tag-htmltree.TagH1) + 1}
	w.sink.openBlock(b)
	w.inline.resetSpans()
	for first := i; i < len(w.outline.Lines) && w.places[w.outline.Lines[i].Box].leaf == leaf; i++ {
		if !w.isWritten(i) {
			continue
		}
		w.inline.spaced = i > first
		w.writeLine(i)
	}
	w.sink.closeBlock(b)
	return i
}

// writeParagraph writes a line and those that only a br separates from it, and returns the line behind them.
func (w *Writer) writeParagraph(i int, b block) int {
	w.sink.openBlock(b)
	w.inline.resetSpans()
	w.writeLine(i)
	for i++; i < len(w.outline.Lines) && w.isWritten(i) && w.continuesLine(i); i++ {
		w.sink.lineBreak()
		w.inline.resetSpans()
		w.writeLine(i)
	}
	w.sink.closeBlock(b)
	return i
}

// continuesLine reports whether exactly one br separates a line from the one before it.
func (w *Writer) continuesLine(i int) bool {
	a, b := &w.outline.Lines[i-1], &w.outline.Lines[i]
	if a.Box != b.Box {
		return false
	}
	n := 0
	for k := a.Last + 1; k < b.First && n < 2; k++ {
		switch w.outline.Doc.Nodes[k].Tag {
		case htmltree.TagBr:
			n++
		case htmltree.TagHr:
			return false
		}
	}
	return n == 1
}

// writeListing writes the lines of a listing, and returns the line behind it.
func (w *Writer) writeListing(leaf int32, i int) int {
	o := w.outline
	last := i
	for last+1 < int(o.Boxes[leaf].End) && w.places[o.Lines[last+1].Box].leaf == leaf {
		last++
	}
	node := o.Boxes[leaf].Node
	if w.code = o.AppendCode(w.code[:0], node); len(w.code) > 0 {
		w.sink.writeListing(languageOf(o.Doc, node), w.code)
	}
	return last + 1
}
