package outline

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/web/htmltree"
)

const maxTitle = 400 // bytes of the longest title that is looked for

// lowerWords appends the text in lower case, with single spaces.
func lowerWords(dst, s []byte) []byte {
	space := false
	for i := 0; i < len(s); {
		c := s[i]
		if c < 0x80 {
			i++
			if c <= ' ' {
				space = true
				continue
			}
			if space && len(dst) > 0 {
				dst = append(dst, ' ')
			}
			space = false
			if c >= 'A' && c <= 'Z' {
				c |= 0x20
			}
			dst = append(dst, c)
			continue
		}
		if w := BlankAt(s, i); c >= 0xC2 && w > 0 {
			space = true
			i += w
			continue
		}
		r, w := utf8.DecodeRune(s[i:])
		i += w
		if space && len(dst) > 0 {
			dst = append(dst, ' ')
		}
		space = false
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}

// appendBlock appends the text of a block in lower case.
func (o *Outline) appendBlock(dst []byte, b *Line) []byte {
	space := false
	for i := b.First; i <= b.Last; {
		n := &o.Doc.Nodes[i]
		if n.Tag != htmltree.TagText {
			if n.Tag.IsSilent() {
				i = n.End
				continue
			}
			i++
			continue
		}
		s := o.Doc.Text(n)
		if len(s) > 0 && space {
			dst = append(dst, ' ')
		}
		before := len(dst)
		if len(s) > 0 && htmltree.IsSpace(s[0]) && before > 0 && dst[before-1] != ' ' {
			dst = append(dst, ' ')
		}
		part := lowerWords(o.scratch2(), s)
		dst = append(dst, part...)
		space = len(s) > 0 && htmltree.IsSpace(s[len(s)-1])
		i++
	}
	return bytes.TrimSpace(dst)
}

func (o *Outline) scratch2() []byte {
	if cap(o.lowered) < 512 {
		o.lowered = make([]byte, 0, 4096)
	}
	return o.lowered[:0]
}

// findTitle finds the block with the title of the page.
func (o *Outline) FindTitle(titles ...[]byte) {
	var lower [][]byte
	for _, t := range titles {
		if len(t) > 0 && len(t) <= 2*maxTitle {
			lower = append(lower, lowerWords(nil, t))
		}
	}
	best, h1 := 0, 0
	var buf [maxTitle + 64]byte
	for i := range o.Lines {
		b := &o.Lines[i]
		if b.Size > maxTitle || b.Size < 2 {
			continue
		}
		heading := b.Kind == KindHeading
		if !heading && best >= 4 {
			continue
		}
		rank := 0
		if o.Boxes[b.Box].Tag == htmltree.TagH1 {
			rank = 1
			h1++
		}
		if len(lower) > 0 {
			text := o.appendBlock(buf[:0], b)
			if isTitle(text, lower) {
				b.Title = true
				rank += 2
				if heading {
					rank += 2
				}
			}
		}
		if rank > best {
			best, o.Title = rank, int32(i)
		}
	}
	if best == 1 && h1 > 1 {
		o.Title = -1 // several h1, none is the title
	}
}

var separators = []byte("|·•«»:_-–—｜")

// isTitle reports whether a text is one of the titles, or a title without the name of the site.
func isTitle(text []byte, titles [][]byte) bool {
	if len(text) == 0 {
		return false
	}
	for _, t := range titles {
		if bytes.Equal(text, t) {
			return true
		}
		if len(text) >= len(t) || len(text) < 8 {
			continue
		}
		half := 2*len(text) > len(t) && len(text) >= 12
		if bytes.HasPrefix(t, text) {
			rest := bytes.TrimLeft(t[len(text):], " ")
			r, _ := utf8.DecodeRune(rest)
			if half || bytes.ContainsRune(separators, r) {
				return true
			}
		}
		if bytes.HasSuffix(t, text) {
			rest := bytes.TrimRight(t[:len(t)-len(text)], " ")
			r, _ := utf8.DecodeLastRune(rest)
			if half || bytes.ContainsRune(separators, r) {
				return true
			}
		}
	}
	return false
}
