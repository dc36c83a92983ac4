package outline

import "hce/dc/internal/web/htmltree"

// afterword is a mark that is written behind an element.
type afterword struct {
	end  int32
	mark string
}

// maxAround is the most inline elements around the first text of a line that are read.
const maxAround = 16

// AppendText appends the text of a line with single blanks. Exponents and indices that would change a number get a ^ or
// _, the reading of ruby and numbers of footnotes get brackets, quotes their marks.
func (o *Outline) AppendText(dst []byte, b *Line) []byte {
	from := len(dst)
	space := false
	nodes := o.Doc.Nodes
	o.after = o.after[:0]
	for n, p := 0, nodes[b.First].Parent; n < maxAround && p > o.Boxes[b.Box].Node; n, p = n+1, nodes[p].Parent {
		if nodes[p].Tag == htmltree.TagQ {
			dst = append(dst, "“"...)
			from = len(dst)
			o.after = append(o.after, afterword{nodes[p].End, "”"})
			break
		}
	}
	for i := b.First; i <= b.Last; i++ {
		for k := len(o.after) - 1; k >= 0 && i >= o.after[k].end; k-- {
			dst = append(dst, o.after[k].mark...)
			o.after = o.after[:k]
		}
		n := &nodes[i]
		switch {
		case n.Tag == htmltree.TagText:
			dst, space = AppendWords(dst, o.Doc.Text(n), space, from)
		case n.Tag == htmltree.TagEnd:
		case o.IsSkipped(i):
			dst, space = AppendWords(dst, o.Formula(i).Text, space, from)
			i = n.End - 1
		case n.Tag == htmltree.TagImg:
			dst, space = AppendWords(dst, o.Formula(i).Text, space, from)
		case n.Tag == htmltree.TagSup || n.Tag == htmltree.TagSub || n.Tag == htmltree.TagQ || n.Tag == htmltree.TagRt:
			before, after := o.Marks(i, dst[from:], space)
			if before == "“" && space && len(dst) > from {
				dst, space = append(dst, ' '), false
			}
			dst = append(dst, before...)
			if after != "" {
				o.after = append(o.after, afterword{n.End, after})
			}
		}
	}
	for k := len(o.after) - 1; k >= 0; k-- {
		dst = append(dst, o.after[k].mark...)
	}
	return dst
}

// Marks returns what stands before and behind the text of a sup, sub, q or rt element, so that it is not glued to the
// text before. space: a blank stands between them.
func (o *Outline) Marks(i int32, before []byte, space bool) (string, string) {
	switch o.Doc.Nodes[i].Tag {
	case htmltree.TagQ:
		return "“", "”"
	case htmltree.TagRt:
		return "(", ")"
	case htmltree.TagSup:
		if space || len(before) == 0 {
			return "", ""
		}
		if o.isFootnote(i) {
			return "[", "]"
		}
		if o.isPower(i, before[len(before)-1]) {
			return "^", ""
		}
	case htmltree.TagSub:
		if !space && len(before) > 0 && o.isIndex(i, before[len(before)-1]) {
			return "_", ""
		}
	}
	return "", ""
}

// firstText returns the first text in an element, and whether it is in a link of the page to itself.
func (o *Outline) firstText(i int32) (text []byte, link bool) {
	end := min(o.Doc.Nodes[i].End, i+maxAround)
	for i++; i < end; i++ {
		n := &o.Doc.Nodes[i]
		switch {
		case n.Tag == htmltree.TagText && n.Flags&htmltree.FlagBlank == 0:
			return o.Doc.Text(n), link
		case n.Tag == htmltree.TagA:
			href := o.Doc.Attr(n, htmltree.KeyHref)
			link = len(href) > 0 && href[0] == '#'
		}
	}
	return nil, link
}

// isFootnote reports whether a sup is the number of a footnote without brackets.
func (o *Outline) isFootnote(i int32) bool {
	s, link := o.firstText(i)
	return link && len(s) > 0 && len(s) <= 4 && (IsDigit(s[0]) || len(s) == 1 && s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// isPower reports whether a sup is an exponent, which changes the number or the name before it: 1st has no exponent.
func (o *Outline) isPower(i int32, before byte) bool {
	if !IsDigit(before) && before != ')' && !isLetter(before) {
		return false
	}
	s, _ := o.firstText(i)
	if startsNumber(s) {
		return true
	}
	if len(s) != 1 || !IsDigit(before) && before != ')' {
		return false
	}
	switch s[0] {
	case 'n', 'm', 'k', 'x', 'y', 'z', 'i', 'j', 'N', 'M', 'K', 'X':
		return true // 1a and 2o are numerals of other languages
	}
	return false
}

// isIndex reports whether a sub is a number behind a number.
func (o *Outline) isIndex(i int32, before byte) bool {
	s, _ := o.firstText(i)
	return (IsDigit(before) || before == ')') && startsNumber(s)
}

func startsNumber(s []byte) bool {
	return len(s) > 0 && (IsDigit(s[0]) || s[0] == '-' || s[0] == '+' || len(s) > 2 && s[0] == 0xE2 && s[1] == 0x88 && s[2] == 0x92)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// AppendWords appends a text with single spaces. A space before the first word is written only if something stands
// before it, behind from.
func AppendWords(dst, s []byte, space bool, from int) ([]byte, bool) {
	for i := 0; i < len(s); {
		w, blank := GapAt(s, i)
		if w > 0 {
			space = space || blank
			i += w
			continue
		}
		j := i + 1
		for j < len(s) {
			if w, _ := GapAt(s, j); w > 0 {
				break
			}
			j++
		}
		if space && len(dst) > from {
			dst = append(dst, ' ')
		}
		space = false
		dst = append(dst, s[i:j]...)
		i = j
	}
	return dst, space
}

// GapAt returns the bytes of the character at s[i] if it is a blank or shows nothing; 0 for another character.
func GapAt(s []byte, i int) (bytes int, blank bool) {
	switch ClassOf[s[i]] {
	case Blank:
		return 1, true
	case Multibyte:
		if w := BlankAt(s, i); w > 0 {
			return w, true
		}
		return InvisibleAt(s, i), false
	}
	return 0, false
}

// IsDigit reports whether a byte is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }
