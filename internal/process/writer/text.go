package writer

import "hce/dc/internal/process/outline"

// AppendText appends the chosen lines as plain text, one line of the page a line. The cells of a row of data are on one
// line, with a blank between them. Code keeps its lines and indents. skip is a line that is left out; -1: none.
func (w *Writer) AppendText(dst []byte, skip int) []byte {
	o := w.outline
	last := place{}
	for i := 0; i < len(o.Lines); i++ {
		if !w.isWritten(i) || i == skip {
			continue
		}
		p := w.places[o.Lines[i].Box]
		if len(dst) > 0 {
			if p.row != 0 && p.row == last.row && p.cell != last.cell {
				dst = append(dst, ' ')
			} else {
				dst = append(dst, '\n')
			}
		}
		last = p
		if p.leaf == 0 || !o.IsListing(p.leaf) {
			dst = o.AppendText(dst, &o.Lines[i])
			continue
		}
		dst = o.AppendCode(dst, o.Boxes[p.leaf].Node)
		for i+1 < len(o.Lines) && w.places[o.Lines[i+1].Box].leaf == p.leaf {
			i++
		}
	}
	return dst
}

// AppendComments appends the comments of readers that are not chosen, one line of the page a line.
func (w *Writer) AppendComments(dst []byte) []byte {
	o := w.outline
	for i := range o.Lines {
		if w.chosen[i] || !w.isComment(i) {
			continue
		}
		if len(dst) > 0 {
			dst = append(dst, '\n')
		}
		dst = o.AppendText(dst, &o.Lines[i])
	}
	return dst
}

// isComment reports whether a line is a sentence in a box of comments, and not part of a form, a list of links or the
// names around a comment.
func (w *Writer) isComment(i int) bool {
	o := w.outline
	b := &o.Lines[i]
	x := &o.Boxes[b.Box]
	const around = outline.InForm | outline.InNav | outline.InButton
	if b.Size == 0 || b.IsLinked() || x.In&around != 0 || b.Kind == outline.KindHeading || x.Near[outline.HintComment] > 12 {
		return false
	}
	return b.Words >= 3 && (b.IsSentence() || b.Words >= 8 || b.Kind == outline.KindParagraph)
}
