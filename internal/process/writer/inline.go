package writer

import (
	"bytes"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/web/htmltree"
)

// inline is the state of the words and spans of a line.
type inline struct {
	open   []span
	spaced bool // a blank before the next word
	begun  bool // the line has a word
	last   byte // of the words written
	active [spanKinds]int
}

func (s *inline) resetSpans() {
	s.open, s.spaced, s.begun, s.last = s.open[:0], false, false, 0
	s.active = [spanKinds]int{}
}

// maxAround is the most elements around the first text of a line that are read.
const maxAround = 16

// writeLine writes the words, spans, formulas and images of a line.
func (w *Writer) writeLine(i int) {
	o := w.outline
	nodes := o.Doc.Nodes
	b := &o.Lines[i]
	w.enterAround(b)
	for k := b.First; k <= b.Last; k++ {
		for n := len(w.inline.open); n > 0 && k >= w.inline.open[n-1].end; n-- {
			w.closeSpan()
		}
		x := &nodes[k]
		switch {
		case x.Tag == htmltree.TagText:
			w.writeText(o.Doc.Text(x))
		case x.Tag == htmltree.TagEnd:
			if htmltree.Tag(x.A) == htmltree.TagA {
				w.leaveLink()
			}
		case o.IsSkipped(k):
			w.writeFormula(k)
			k = x.End - 1
		case x.Tag == htmltree.TagImg:
			w.writeImage(k, false)
		case x.Tag == htmltree.TagBr:
			w.inline.spaced = true
		default:
			w.enterSpan(k, b)
		}
	}
	for len(w.inline.open) > 0 {
		w.closeSpan()
	}
}

// enterAround opens the inline elements around the first text of a line. A link may be around its box.
func (w *Writer) enterAround(b *outline.Line) {
	nodes := w.outline.Doc.Nodes
	var around [maxAround]int32
	n := 0
	box := w.outline.Boxes[b.Box].Node
	for steps, p := 0, nodes[b.First].Parent; p > 0 && steps < maxAround; steps, p = steps+1, nodes[p].Parent {
		if p > box || nodes[p].Tag == htmltree.TagA && b.Linked == b.Size {
			around[n] = p
			n++
		}
		if p <= box && b.Linked < b.Size {
			break
		}
	}
	for n--; n >= 0; n-- {
		w.enterSpan(around[n], b)
	}
}

var spanTags = map[htmltree.Tag]uint8{
	htmltree.TagEm: spanEm, htmltree.TagI: spanEm, htmltree.TagCite: spanEm, htmltree.TagDfn: spanEm, htmltree.TagVar: spanEm,
	htmltree.TagStrong: spanStrong, htmltree.TagB: spanStrong,
	htmltree.TagCode: spanCode, htmltree.TagTt: spanCode, htmltree.TagKbd: spanCode, htmltree.TagSamp: spanCode,
	htmltree.TagDel: spanDel, htmltree.TagS: spanDel, htmltree.TagStrike: spanDel,
	htmltree.TagSup: spanSup, htmltree.TagSub: spanSub, htmltree.TagQ: spanMarks, htmltree.TagRt: spanMarks, htmltree.TagA: spanLink,
}

// spanOf is spanTags as an array: the kind and 1, or 0.
var spanOf = func() (kinds [htmltree.TagCount]uint8) {
	for tag, kind := range spanTags {
		kinds[tag] = kind + 1
	}
	return kinds
}()

// enterSpan opens an inline element of a line.
func (w *Writer) enterSpan(i int32, b *outline.Line) {
	n := &w.outline.Doc.Nodes[i]
	kind := spanOf[n.Tag]
	if kind == 0 {
		return
	}
	kind--
	if kind == spanMarks {
		w.enterMarks(i, n.End)
		return
	}
	if w.inline.active[kind] > 0 || w.inline.active[spanCode] > 0 {
		return
	}
	s := span{kind: kind, end: n.End}
	switch kind {
	case spanLink:
		if s.href = w.outline.Doc.Attr(n, htmltree.KeyHref); !isFollowed(s.href) {
			return
		}
	case spanCode:
		s.ticks = w.longestTicks(max(i, b.First), min(b.Last, n.End-1))
	case spanSup, spanSub:
		if !w.isShort(i, n.End) {
			w.enterMarks(i, n.End)
			return
		}
	}
	w.inline.active[kind]++
	w.inline.open = append(w.inline.open, s)
}

// enterMarks opens an element that has marks around its text: quotes, ruby, long exponents.
func (w *Writer) enterMarks(i, end int32) {
	var before []byte
	if w.inline.last != 0 {
		before = []byte{w.inline.last}
	}
	mark, after := w.outline.Marks(i, before, w.inline.spaced)
	if mark == "" && after == "" || w.inline.active[spanCode] > 0 {
		return
	}
	if w.openSpans([]byte(mark)) {
		w.sink.writeMark(" ")
	}
	w.sink.writeMark(mark)
	w.inline.last = '('
	w.inline.active[spanMarks]++
	w.inline.open = append(w.inline.open, span{kind: spanMarks, end: end, written: true, after: after})
}

// isFollowed reports whether a link has an address that can be followed, and is no script or data. Browsers skip white
// space in the name of a scheme.
func isFollowed(href []byte) bool {
	var scheme [16]byte
	n := 0
	for _, c := range href {
		switch {
		case c <= ' ':
			continue
		case c == ':':
			return !isScript(scheme[:n])
		case c == '/' || c == '?' || c == '#' || n == len(scheme):
			return true
		}
		scheme[n] = c
		n++
	}
	return n > 0
}

func isScript(scheme []byte) bool {
	for _, bad := range [...]string{"javascript", "data", "vbscript", "file", "about", "blob"} {
		if bytes.EqualFold(scheme, []byte(bad)) {
			return true
		}
	}
	return false
}

// longestTicks returns the longest run of backticks in the texts of nodes, as they are written: without what is
// invisible between them.
func (w *Writer) longestTicks(first, last int32) (most int) {
	run := 0
	for k := first; k <= last; k++ {
		c := &w.outline.Doc.Nodes[k]
		if c.Tag != htmltree.TagText {
			continue
		}
		s := w.outline.Doc.Text(c)
		if run == 0 && bytes.IndexByte(s, '`') < 0 {
			continue
		}
		for i := 0; i < len(s); i++ {
			if s[i] == '`' {
				run++
				most = max(most, run)
			} else if n, blank := outline.GapAt(s, i); n > 0 && !blank {
				i += n - 1
			} else {
				run = 0
			}
		}
	}
	return most
}

// longestRun returns the longest run of a byte.
func longestRun(s []byte, c byte) (most int) {
	for {
		i := bytes.IndexByte(s, c)
		if i < 0 {
			return most
		}
		n := 0
		for s = s[i:]; n < len(s) && s[n] == c; n++ {
		}
		most, s = max(most, n), s[n:]
	}
}

// isShort reports whether a sup or sub is an exponent or an index: a few characters without a link.
func (w *Writer) isShort(i, end int32) bool {
	if end-i > 8 {
		return false
	}
	for k := i + 1; k < end; k++ {
		c := &w.outline.Doc.Nodes[k]
		if c.Tag == htmltree.TagA || c.Tag == htmltree.TagText && c.B-c.A > 12 {
			return false
		}
	}
	return true
}

// closeSpan closes the innermost span.
func (w *Writer) closeSpan() {
	s := &w.inline.open[len(w.inline.open)-1]
	w.inline.active[s.kind]--
	switch {
	case s.kind == spanMarks:
		w.sink.writeMark(s.after)
	case s.written:
		w.sink.closeSpan(s)
	}
	w.inline.open = w.inline.open[:len(w.inline.open)-1]
}

// leaveLink closes the link and what is open in it.
func (w *Writer) leaveLink() {
	for k := range w.inline.open {
		if w.inline.open[k].kind == spanLink {
			for len(w.inline.open) > k {
				w.closeSpan()
			}
			return
		}
	}
}

// writeText writes the words of a text.
func (w *Writer) writeText(s []byte) {
	for i := 0; i < len(s); {
		n, blank := outline.GapAt(s, i)
		if n > 0 {
			w.inline.spaced = w.inline.spaced || blank
			i += n
			continue
		}
		j := i + 1
		for j < len(s) {
			if n, _ := outline.GapAt(s, j); n > 0 {
				break
			}
			j++
		}
		next := byte(0)
		if j < len(s) && outline.ClassOf[s[j]] == outline.Blank {
			next = ' '
		}
		w.sink.writeWord(s[i:j], next, w.openSpans(s[i:j]))
		w.inline.last = s[j-1]
		i = j
	}
}

// openSpans opens the spans that have no text yet and reports whether a blank is to be written before their next text.
func (w *Writer) openSpans(next []byte) bool {
	spaced := w.inline.spaced && w.inline.begun
	w.inline.spaced, w.inline.begun = false, true
	for k := range w.inline.open {
		s := &w.inline.open[k]
		if s.written {
			continue
		}
		s.written = true
		if spaced {
			w.sink.writeMark(" ")
			spaced = false
		}
		w.sink.openSpan(s, w.nextOf(k, next))
	}
	return spaced
}

// nextOf returns what follows the mark of span k: the mark of a span in it, or a text.
func (w *Writer) nextOf(k int, next []byte) []byte {
	for _, s := range w.inline.open[k+1:] {
		if !s.written && (s.kind >= spanCode || w.inline.open[k].kind == spanDel) {
			return punctuation
		}
	}
	return next
}

var punctuation = []byte{'['}

// writeFormula writes the formula at a node, if it is one.
func (w *Writer) writeFormula(i int32) {
	f := w.outline.Formula(i)
	if len(f.Text) == 0 {
		return
	}
	if w.inline.active[spanCode] > 0 || !f.TeX {
		w.writeText(f.Text)
		return
	}
	w.sink.writeFormula(f.Text, f.Display, w.openSpans(punctuation))
	w.inline.last = '$'
}

// writeImage writes an image, or the formula that it shows. alone: it is between two blocks.
func (w *Writer) writeImage(i int32, alone bool) {
	if !alone && len(w.outline.Formula(i).Text) > 0 {
		w.writeFormula(i)
		return
	}
	n := &w.outline.Doc.Nodes[i]
	src := w.outline.Doc.Attr(n, htmltree.KeySrc)
	if len(src) > 0 && (alone || w.inline.active[spanCode] == 0) && !htmltree.HasPrefix(src, "data:") {
		w.sink.writeImage(src, w.outline.Doc.Attr(n, htmltree.KeyAlt), alone)
	}
}
