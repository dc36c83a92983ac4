package writer

import (
	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

const (
	// maxDepth is the most containers around a line. Lines in deeper ones are paragraphs of the deepest.
	maxDepth = 16
	// maxQuotes is the most quotes around a line: Markdown repeats their marks on each line.
	maxQuotes = 6
)

// place says where a box is among the elements that the writer knows.
type place struct {
	in     int32 // the innermost container that the box is or is in; 0: none
	outer  int32 // of a container: the one around it
	leaf   int32 // the heading, listing or label that the box is or is in; 0: none
	table  int32 // the data table that the box is in; 0: none, or its caption
	row    int32 // the row of a data table that the box is in; 0: none
	cell   int32 // the cell of a data table that the box is in; 0: none
	number int32 // of an item; of a list: items that were seen
	last   int32 // of a list: the last item that was seen
	depth  uint8
	quotes uint8
}

// findPlaces fills places, one for each box. Parents come before their children.
func (w *Writer) findPlaces() {
	o := w.outline
	w.places = append(w.places[:0], place{})
	w.findTables()
	for i := 1; i < len(o.Boxes); i++ {
		w.places = append(w.places, w.placeOf(int32(i)))
	}
}

func (w *Writer) placeOf(x int32) place {
	b := &w.outline.Boxes[x]
	p := w.places[b.Parent]
	p.number, p.last, p.outer = 0, 0, 0
	if p.leaf != 0 {
		return p
	}
	if p.table != 0 {
		return w.placeInTable(x, p)
	}
	if w.isLeaf(x) {
		p.leaf = x
		return p
	}
	switch b.Tag {
	case htmltree.TagTable:
		if w.isDataTable(x) {
			p.table = x
		}
	case htmltree.TagBlockquote:
		if p.depth < maxDepth && p.quotes < maxQuotes {
			p.outer, p.in = p.in, x
			p.depth++
			p.quotes++
		}
	case htmltree.TagUl, htmltree.TagOl, htmltree.TagMenu, htmltree.TagDir:
		p.number = w.firstNumber(b.Node)
		if parent := &w.places[b.Parent]; isList(w.outline.Boxes[b.Parent].Tag) && parent.last != 0 {
			last := &w.places[parent.last] // a list in a list belongs to the item before it
			p.in, p.depth = last.in, last.depth
		}
	case htmltree.TagLi:
		w.placeItem(x, &p)
	}
	return p
}

// placeItem places an item. Its list is the box around it.
func (w *Writer) placeItem(x int32, p *place) {
	parent := w.outline.Boxes[x].Parent
	l := &w.places[parent]
	p.number = max(1, l.number)
	l.number = p.number + 1
	l.last = x
	if p.depth < maxDepth {
		p.outer, p.in = p.in, x
		p.depth++
	}
}

func (w *Writer) placeInTable(x int32, p place) place {
	if w.outline.IsListing(x) {
		p.leaf = x
		return p
	}
	switch w.outline.Boxes[x].Tag {
	case htmltree.TagCaption:
		if w.outline.Boxes[x].Parent == p.table {
			p.table = 0
		}
	case htmltree.TagTr:
		p.row = x
	case htmltree.TagTd, htmltree.TagTh:
		p.cell = x
	}
	return p
}

func isList(t htmltree.Tag) bool {
	return t == htmltree.TagUl || t == htmltree.TagOl || t == htmltree.TagMenu || t == htmltree.TagDir
}

// isLeaf reports whether a box holds no other blocks.
func (w *Writer) isLeaf(x int32) bool {
	return w.outline.Boxes[x].Tag.IsHeading() || w.outline.IsListing(x) || w.outline.IsLabel(x)
}

// firstNumber returns the number of the first item of a list.
func (w *Writer) firstNumber(list int32) int32 {
	n := int32(0)
	for i, c := range w.outline.Doc.Attr(&w.outline.Doc.Nodes[list], htmltree.KeyStart) {
		if !outline.IsDigit(c) || i > 7 {
			break
		}
		n = n*10 + int32(c-'0')
	}
	return max(1, n)
}

// chainOf sets chain to the containers around a box, outermost first.
func (w *Writer) chainOf(box int32) {
	w.chain = w.chain[:0]
	for x := w.places[box].in; x != 0; x = w.places[x].outer {
		b := &w.outline.Boxes[x]
		if b.Tag == htmltree.TagBlockquote {
			w.chain = append(w.chain, container{kind: quote, box: x})
			continue
		}
		ordered, number := w.outline.Boxes[b.Parent].Tag == htmltree.TagOl, int(w.places[x].number)
		w.chain = append(w.chain, container{kind: item, box: x, ordered: ordered, number: number},
			container{kind: list, box: -b.Parent - 1, ordered: ordered, number: number})
	}
	for l, r := 0, len(w.chain)-1; l < r; l, r = l+1, r-1 {
		w.chain[l], w.chain[r] = w.chain[r], w.chain[l]
	}
}
