package outline

import (
	"bytes"

	"hce/dc/internal/web/htmltree"
)

// codeLine is an element that is a line of code.
type codeLine struct {
	end   int32
	from  int  // where its text begins
	empty bool // it is a line, although it has no text
}

// codeReader writes the text of code. Line breaks are those of the text, of br, and of elements that are lines.
type codeReader struct {
	o       *Outline
	dst     []byte
	from    int
	empty   bool // no line has a text
	pending bool // a line has ended without a line break
}

// AppendCode appends the text of the listing at a node. Line breaks, indents and blanks stay; empty lines at both ends,
// blanks at the end and numbers of lines do not.
func (o *Outline) AppendCode(dst []byte, root int32) []byte {
	r := codeReader{o: o, dst: dst, from: len(dst), empty: true}
	o.lineEnds = o.lineEnds[:0]
	for i, end := root+1, o.Doc.Nodes[root].End; i < end; i++ {
		for k := len(o.lineEnds) - 1; k >= 0 && i >= o.lineEnds[k].end; k-- {
			r.leaveLine()
		}
		i = r.readNode(i)
	}
	return r.dst[:r.from+len(bytes.TrimRight(r.dst[r.from:], " \t\n"))]
}

// isLine reports whether an element is a line of code, and whether it is one without a text, too.
func (r *codeReader) isLine(i int32) (line, empty bool) {
	n := &r.o.Doc.Nodes[i]
	if n.A < n.B {
		if v := r.o.Doc.Attr(n, htmltree.KeyClass); len(v) > 0 && r.o.hintsOf(v)&markLine != 0 {
			return true, true
		}
	}
	if n.Tag.IsInline() || n.Tag == htmltree.TagOther || n.Tag == htmltree.TagTd || n.Tag == htmltree.TagTh {
		return false, false
	}
	return true, n.Tag == htmltree.TagTr
}

func (r *codeReader) leaveLine() {
	k := len(r.o.lineEnds) - 1
	l := r.o.lineEnds[k]
	r.o.lineEnds = r.o.lineEnds[:k]
	if len(r.dst) == l.from {
		r.pending = r.pending || l.empty
		return
	}
	r.pending = r.dst[len(r.dst)-1] != '\n'
}

// readNode reads a node and returns the last one that is read.
func (r *codeReader) readNode(i int32) int32 {
	o := r.o
	n := &o.Doc.Nodes[i]
	switch {
	case n.Tag == htmltree.TagText:
		r.addText(o.Doc.Text(n))
	case n.Tag == htmltree.TagEnd:
	case n.Tag == htmltree.TagBr:
		r.addNewline()
	case o.IsSkipped(i):
		r.addText(o.Formula(i).Text)
		return n.End - 1
	case n.Tag == htmltree.TagTd || n.Tag == htmltree.TagTh:
		if len(r.dst) > r.from && r.dst[len(r.dst)-1] != '\n' && !r.pending {
			r.dst = append(r.dst, '\t')
		}
	default:
		r.enterNode(i, n.End)
	}
	return i
}

func (r *codeReader) enterNode(i, end int32) {
	line, empty := r.isLine(i)
	if !line {
		return
	}
	if r.pending || !empty && len(r.dst) > r.from && r.dst[len(r.dst)-1] != '\n' {
		r.pending = false
		r.addNewline()
	}
	r.o.lineEnds = append(r.o.lineEnds, codeLine{end, len(r.dst), empty})
}

func (r *codeReader) addNewline() {
	r.pending = false
	if r.empty {
		r.dst = r.dst[:r.from]
		return
	}
	r.dst = append(r.dst[:r.from+len(bytes.TrimRight(r.dst[r.from:], " \t"))], '\n')
}

// addText adds a text. The first line break behind a line that is an element ends that line.
func (r *codeReader) addText(s []byte) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\n':
			r.addNewline()
			continue
		case c < ' ' && c != '\t' || c == 0x7F:
			continue
		case ClassOf[c] == Multibyte:
			if w := BlankAt(s, i); w > 0 {
				i += w - 1
				c = ' '
			} else if w := InvisibleAt(s, i); w > 0 {
				i += w - 1
				continue
			}
		}
		if r.pending {
			r.addNewline()
		}
		r.empty = r.empty && (c == ' ' || c == '\t')
		r.dst = append(r.dst, c)
	}
}
