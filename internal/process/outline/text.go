package outline

import (
	"hce/dc/internal/web/htmltree"
)

// appendText appends the text of a block with single spaces.
func (o *Outline) AppendText(dst []byte, b *Line) []byte {
	from := len(dst)
	space := false
	nodes := o.Doc.Nodes
	for i := b.First; i <= b.Last; i++ {
		n := &nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag == htmltree.TagMath {
				dst, space = AppendWords(dst, o.MathText(n), space, from)
			}
			if n.Tag > htmltree.TagOther && (n.Tag.IsSilent() || n.A < n.B && o.IsHidden(n)) {
				i = n.End - 1
			}
			if (n.Tag == htmltree.TagSup || n.Tag == htmltree.TagSub) && !space && len(dst) > from && o.power(i, dst[len(dst)-1]) {
				if n.Tag == htmltree.TagSup {
					dst = append(dst, '^')
				} else {
					dst = append(dst, '_')
				}
			}
			continue
		}
		dst, space = AppendWords(dst, o.Doc.Text(n), space, from)
	}
	return dst
}

// power reports whether the content of a sup or sub is a number, and would be read as part of the number before it.
func (o *Outline) power(i int32, before byte) bool {
	if !IsDigit(before) && before != ')' {
		return false
	}
	for end := o.Doc.Nodes[i].End; i < end; i++ {
		if t := &o.Doc.Nodes[i]; t.Tag == htmltree.TagText {
			s := o.Doc.Text(t)
			return len(s) > 0 && (IsDigit(s[0]) || s[0] == '-' || s[0] == '+' || len(s) > 2 && s[0] == 0xE2 && s[1] == 0x88 && s[2] == 0x92)
		}
	}
	return false
}

// math returns the words for a formula.
func (o *Outline) MathText(n *htmltree.Node) []byte {
	if t := o.Doc.Attr(n, htmltree.KeyAlttext); len(t) > 0 {
		return t
	}
	return nil
}

// skipped reports whether an inline element inside of a block is hidden.
func (o *Outline) IsHidden(n *htmltree.Node) bool {
	_, _, hidden := o.Look(n)
	return hidden
}

// appendWords appends a text with single spaces. A space before the first word is written only if something stands
// before it, behind from.
func AppendWords(dst, s []byte, space bool, from int) ([]byte, bool) {
	for i := 0; i < len(s); {
		c := s[i]
		k := ClassOf[c]
		if k == Blank {
			space = true
			i++
			continue
		}
		if k == Multibyte {
			if w := BlankAt(s, i); w > 0 {
				space = true
				i += w
				continue
			}
		}
		j := i + 1
		for j < len(s) {
			if k := ClassOf[s[j]]; k == Blank || k == Multibyte && BlankAt(s, j) > 0 {
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

// appendPre appends the text of a listing, whose line breaks stay.
func (o *Outline) AppendListing(dst []byte, b *Line) []byte {
	from := len(dst)
	space := false
	nodes := o.Doc.Nodes
	for i := b.First; i <= b.Last; i++ {
		n := &nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag > htmltree.TagOther && n.Tag.IsSilent() {
				i = n.End - 1
			}
			if n.Tag == htmltree.TagBr && len(dst) > from {
				dst, space = append(dst, '\n'), false
				from = len(dst)
			}
			continue
		}
		s := o.Doc.Text(n)
		for len(s) > 0 {
			j := 0
			for j < len(s) && s[j] != '\n' {
				j++
			}
			dst, space = AppendWords(dst, s[:j], space, from)
			if j < len(s) {
				if len(dst) > from && dst[len(dst)-1] != '\n' {
					dst = append(dst, '\n')
				}
				space = false
				from = len(dst)
				j++
			}
			s = s[j:]
		}
	}
	for len(dst) > 0 && dst[len(dst)-1] == '\n' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// digit reports whether a byte is an ASCII digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }
