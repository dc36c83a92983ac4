package htmltree

import (
	"bytes"
)

// readTokens reads the tokens.
func (d *Doc) readTokens() {
	src, n := d.src, len(d.src)
	d.pos = 0
	for d.pos < n {
		pos := d.pos
		lt := pos
		// the text up to the next tag
		for {
			i := bytes.IndexByte(src[lt:], '<')
			if i < 0 {
				d.addText(pos, n)
				return
			}
			lt += i
			if lt+1 >= n {
				d.addText(pos, n)
				return
			}
			c := src[lt+1]
			if isLetter(c) || c == '!' || c == '?' || c == '/' && lt+2 < n {
				break
			}
			lt++ // a lone <: part of the text
		}
		if lt > pos {
			d.addText(pos, lt)
		}
		switch c := src[lt+1]; {
		case c == '/':
			if isLetter(src[lt+2]) {
				d.readEndTag(lt + 2)
			} else {
				d.pos = skipTo(src, lt+2, '>')
			}
		case c == '!' || c == '?':
			switch {
			case bytes.HasPrefix(src[lt:], []byte("<!--")):
				d.pos = skipComment(src, lt+4)
			case len(src)-lt >= 9 && equalFold(src[lt+2:lt+9], "doctype"):
				d.pos = skipTo(src, lt+9, '>')
				end := d.pos
				if src[end-1] == '>' {
					end--
				}
				d.readDoctype(src[lt+9:end], end < d.pos)
			case d.inForeign() && bytes.HasPrefix(src[lt:], []byte("<![CDATA[")):
				end := n
				d.pos = n
				if j := bytes.Index(src[lt+9:], []byte("]]>")); j >= 0 {
					end, d.pos = lt+9+j, lt+9+j+3
				}
				if end > lt+9 {
					d.addCharacters(lt+9, end, true)
				}
			default:
				d.pos = skipTo(src, lt+2, '>')
			}
		default:
			d.readStartTag(lt + 1)
		}
	}
}

func skipTo(src []byte, pos int, c byte) int {
	if pos > len(src) {
		return len(src)
	}
	j := bytes.IndexByte(src[pos:], c)
	if j < 0 {
		return len(src)
	}
	return pos + j + 1
}

// skipComment returns the position behind a comment.
func skipComment(src []byte, pos int) int {
	if bytes.HasPrefix(src[pos:], []byte(">")) {
		return pos + 1
	}
	if bytes.HasPrefix(src[pos:], []byte("->")) {
		return pos + 2
	}
	for pos < len(src) {
		j := bytes.Index(src[pos:], []byte("--"))
		if j < 0 {
			return len(src)
		}
		pos += j + 2
		for pos < len(src) && src[pos] == '-' {
			pos++
		}
		if pos < len(src) && src[pos] == '>' {
			return pos + 1
		}
		if pos+1 < len(src) && src[pos] == '!' && src[pos+1] == '>' {
			return pos + 2
		}
	}
	return len(src)
}

// nameEnd are the bytes that end the name of a tag; attrEnd those that end the name of an attribute.
var nameEnd, attrEnd [256]bool

func init() {
	for _, c := range []byte(" \t\n\r\f/>") {
		nameEnd[c] = true
		attrEnd[c] = true
	}
	attrEnd['='] = true
}

// readAttribute reads the attribute at pos, or the end of the tag. name is nil at the end of the tag; next is -1 at the
// end of the page.
func readAttribute(src []byte, pos int) (name []byte, va, vb, next int, selfClosing bool) {
	n := len(src)
	for pos < n && (IsSpace(src[pos]) || src[pos] == '/') {
		selfClosing = src[pos] == '/'
		pos++
	}
	if pos >= n {
		return nil, 0, 0, -1, false // an unfinished tag is no tag
	}
	if src[pos] == '>' {
		return nil, 0, 0, pos + 1, selfClosing
	}
	a := pos
	pos++ // a name may begin with =
	for pos < n && !attrEnd[src[pos]] {
		pos++
	}
	name = src[a:pos]
	for pos < n && IsSpace(src[pos]) {
		pos++
	}
	va, vb = pos, pos
	if pos < n && src[pos] == '=' {
		pos++
		for pos < n && IsSpace(src[pos]) {
			pos++
		}
		if pos < n && (src[pos] == '"' || src[pos] == '\'') {
			q := src[pos]
			pos++
			j := bytes.IndexByte(src[pos:], q)
			if j < 0 {
				return nil, 0, 0, -1, false
			}
			return name, pos, pos + j, pos + j + 1, false
		}
		va = pos
		for pos < n && !IsSpace(src[pos]) && src[pos] != '>' {
			pos++
		}
		vb = pos
	}
	return name, va, vb, pos, false
}

// readStartTag reads a start tag at its name.
func (d *Doc) readStartTag(pos int) {
	src, n := d.src, len(d.src)
	start := pos
	for pos < n && !nameEnd[src[pos]] {
		pos++
	}
	first := int32(len(d.Attrs))
	t := token{tag: lookupTag(src[start:pos]), start: int32(start), end: int32(pos), a: first}
	for {
		if pos < n && src[pos] == '>' { // the common end
			pos++
			break
		}
		name, va, vb, next, closed := readAttribute(src, pos)
		if next < 0 {
			d.Attrs = d.Attrs[:first]
			d.pos = n
			return
		}
		pos = next
		if name == nil {
			t.selfClosing = closed
			break
		}
		if key := lookupKey(name); key != keyNone {
			d.addAttr(first, key, va, vb)
		}
	}
	t.b = int32(len(d.Attrs))
	d.pos = pos
	d.startTag(&t)
}

func (d *Doc) addAttr(first int32, key Key, a, b int) {
	for _, x := range d.Attrs[first:] {
		if x.Key == key {
			return
		}
	}
	if bytes.IndexByte(d.src[a:b], '&') >= 0 {
		from := len(d.dec)
		d.dec = AppendDecoded(d.dec, d.src[a:b], true)
		d.Attrs = append(d.Attrs, Attr{key, true, int32(from), int32(len(d.dec))})
		return
	}
	d.Attrs = append(d.Attrs, Attr{key, false, int32(a), int32(b)})
}

// readEndTag reads an end tag at its name.
func (d *Doc) readEndTag(pos int) {
	src, n := d.src, len(d.src)
	start := pos
	for pos < n && !nameEnd[src[pos]] {
		pos++
	}
	t := token{tag: lookupTag(src[start:pos]), start: int32(start), end: int32(pos)}
	for {
		if pos < n && src[pos] == '>' {
			pos++
			break
		}
		name, _, _, next, _ := readAttribute(src, pos)
		if next < 0 {
			d.pos = n
			return
		}
		pos = next
		if name == nil {
			break
		}
	}
	d.pos = pos
	d.endTag(&t)
}

// rawEnd finds the end tag of an element whose content is no mark-up: end is where its content ends, next is behind
// the end tag.
func (d *Doc) rawEnd(tag Tag, pos int) (end, next int, found bool) {
	src := d.src
	if d.noEnd[tag] {
		return len(src), len(src), false
	}
	const (
		plain = iota
		escaped
		double // in a script in a comment in a script
	)
	state := plain
	dash := 0 // where the -- of the comment may begin
	for i := pos; ; {
		j := bytes.IndexByte(src[i:], '<')
		if j < 0 || i+j+1 >= len(src) {
			break
		}
		if state != plain {
			if k := commentEnd(src, dash, i+j); k >= 0 {
				state = plain
			}
			dash = max(dash, i+j)
		}
		i += j
		if src[i+1] == '/' {
			if b := sameName(src, i+2, tag); b > 0 {
				if state == double {
					state = escaped
					i = b
					continue
				}
				next := len(src)
				for p := b; ; {
					name, _, _, n, _ := readAttribute(src, p)
					if n < 0 {
						break
					}
					if p = n; name == nil {
						next = p
						break
					}
				}
				return i, next, true
			}
		} else if tag == TagScript {
			if state == plain && HasPrefix(src[i:], "<!--") {
				state = escaped
				dash = i + 2
			} else if state == escaped && sameName(src, i+1, TagScript) > 0 {
				state = double
			}
		}
		i++
	}
	if tag != TagScript {
		d.noEnd[tag] = true
	}
	return len(src), len(src), false
}

// commentEnd finds --> in src[from:to].
func commentEnd(src []byte, from, to int) int {
	if from >= to {
		return -1
	}
	return bytes.Index(src[from:to], []byte("-->"))
}

// sameName returns the end of the name at pos if it is this one; 0 otherwise.
func sameName(src []byte, pos int, tag Tag) int {
	b := pos
	for b < len(src) && !nameEnd[src[b]] && b-pos < 12 {
		b++
	}
	if b < len(src) && nameEnd[src[b]] && lookupTag(src[pos:b]) == tag {
		return b
	}
	return 0
}

// token is a tag.
type token struct {
	tag         Tag
	selfClosing bool
	start, end  int32 // the name in Doc.src
	a, b        int32 // the attributes
}
