package htmltree

import (
	"bytes"
	"html"
	"unicode/utf8"
	"unsafe"
)

// Node is an element or a text. Nodes stand in document order; Doc.Nodes[i+1:n.End] are inside of Doc.Nodes[i].
type Node struct {
	Tag    Tag
	Flags  uint8
	Parent int32
	End    int32
	A, B   int32 // a text: its bytes; an element: its attributes
	name   int32 // an element: where its name stands in Doc.src; 0: it was not written
}

// Flags of a node.
const (
	flagDecoded = 1 << iota // A and B are in Doc.dec
	FlagBlank               // a text of white space only
	// For the builder.
	flagOpen      // on the stack
	flagListed    // in the list of formatting elements
	flagSVG       // an element of SVG; its Tag is TagOther or TagSVG
	flagMath      // an element of MathML; its Tag is TagOther or TagMath
	flagHTMLPoint // HTML may stand in it
	flagTextPoint // text and HTML may stand in it; with flagHTMLPoint: only a scope

	flagForeign = flagSVG | flagMath
)

// Attr is an attribute. The value is in Doc.src, or in Doc.dec if Decoded.
type Attr struct {
	Key     Key
	Decoded bool
	A, B    int32
}

// Doc is a parsed page: one array of nodes, one of attributes, and the page itself. It can be used again.
type Doc struct {
	Nodes []Node
	Attrs []Attr
	// Strict follows the standard without scripts. Otherwise the content of a title, textarea and so on without an end
	// tag is mark-up, though browsers hide the rest of the page; noscript in the head is not read, and in the body ends
	// at its end tag, as in a browser with scripts.
	Strict bool

	src []byte
	dec []byte // texts and values with entities, decoded
	builder
}

// Parse builds the tree of a page, which is UTF-8. The Doc refers to src.
func (d *Doc) Parse(src []byte) {
	if len(src) >= 3 && src[0] == 0xEF && src[1] == 0xBB && src[2] == 0xBF {
		src = src[3:]
	}
	if bytes.IndexByte(src, '\r') >= 0 {
		src = withoutCR(src)
	}
	d.src, d.dec = src, d.dec[:0]
	d.Nodes, d.Attrs = d.Nodes[:0], d.Attrs[:0]
	d.start()
	d.run()
	d.finish()
}

// withoutCR returns a copy with LF for CR and CR LF.
func withoutCR(src []byte) []byte {
	dst := make([]byte, 0, len(src))
	for {
		i := bytes.IndexByte(src, '\r')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(append(dst, src[:i]...), '\n')
		src = src[i+1:]
		if len(src) > 0 && src[0] == '\n' {
			src = src[1:]
		}
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// run reads the tokens.
func (d *Doc) run() {
	src, n := d.src, len(d.src)
	d.pos = 0
	for d.pos < n {
		pos := d.pos
		lt := pos
		// the text up to the next tag
		for {
			i := bytes.IndexByte(src[lt:], '<')
			if i < 0 {
				d.text(pos, n)
				return
			}
			lt += i
			if lt+1 >= n {
				d.text(pos, n)
				return
			}
			c := src[lt+1]
			if isLetter(c) || c == '!' || c == '?' || c == '/' && lt+2 < n {
				break
			}
			lt++ // a lone <: part of the text
		}
		if lt > pos {
			d.text(pos, lt)
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
				d.pos = comment(src, lt+4)
			case len(src)-lt >= 9 && equalFold(src[lt+2:lt+9], "doctype"):
				d.pos = skipTo(src, lt+9, '>')
				end := d.pos
				if src[end-1] == '>' {
					end--
				}
				d.doctype(src[lt+9:end], end < d.pos)
			case d.inForeign() && bytes.HasPrefix(src[lt:], []byte("<![CDATA[")):
				end := n
				d.pos = n
				if j := bytes.Index(src[lt+9:], []byte("]]>")); j >= 0 {
					end, d.pos = lt+9+j, lt+9+j+3
				}
				if end > lt+9 {
					d.characters(lt+9, end, true)
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

// comment returns the position behind a comment.
func comment(src []byte, pos int) int {
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

func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// text adds the text src[a:b], with entities.
func (d *Doc) text(a, b int) { d.characters(a, b, false) }

// appendDecoded appends s with its character references decoded.
func AppendDecoded(dst, s []byte, attr bool) []byte {
	for {
		i := bytes.IndexByte(s, '&')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		// The common ones; all others by the library.
		switch {
		case HasPrefix(s, "&amp;"):
			dst, s = append(dst, '&'), s[5:]
		case HasPrefix(s, "&lt;"):
			dst, s = append(dst, '<'), s[4:]
		case HasPrefix(s, "&gt;"):
			dst, s = append(dst, '>'), s[4:]
		case HasPrefix(s, "&quot;"):
			dst, s = append(dst, '"'), s[6:]
		case HasPrefix(s, "&nbsp;"):
			dst, s = append(dst, 0xC2, 0xA0), s[6:]
		case HasPrefix(s, "&#"):
			j, v := 2, rune(0)
			if len(s) > 3 && s[2]|0x20 == 'x' && hexValue(s[3]) >= 0 {
				for j = 3; j < len(s); j++ {
					h := hexValue(s[j])
					if h < 0 {
						break
					}
					v = min(v<<4|rune(h), utf8.MaxRune+1)
				}
			} else {
				for ; j < len(s) && s[j] >= '0' && s[j] <= '9'; j++ {
					v = min(v*10+rune(s[j]-'0'), utf8.MaxRune+1)
				}
				if j == 2 {
					dst, s = append(dst, s[:2]...), s[2:]
					continue
				}
			}
			if j < len(s) && s[j] == ';' {
				j++
			}
			switch {
			case v >= 0x80 && v < 0xA0:
				dst = utf8.AppendRune(dst, windows1252[v-0x80])
			case v == 0 || v > utf8.MaxRune || v >= 0xD800 && v < 0xE000:
				dst = append(dst, "\uFFFD"...)
			default:
				dst = utf8.AppendRune(dst, v)
			}
			s = s[j:]
		default:
			j := 1
			for j < len(s) && j < 34 && (s[j] >= '0' && s[j] <= '9' || isLetter(s[j])) {
				j++
			}
			closed := j < len(s) && s[j] == ';'
			if closed {
				j++
			}
			if attr && (!closed && j < len(s) && s[j] == '=' || j == 1) {
				dst, s = append(dst, s[:j]...), s[j:] // such as &copy= in an address
				continue
			}
			name := string(s[:j])
			text := html.UnescapeString(name)
			switch name { // the two that the library leaves out: they are longer than their names
			case "&nGt;":
				text = "\u226B\u20D2"
			case "&nLt;":
				text = "\u226A\u20D2"
			}
			if attr && j > 1 && len(text) > 0 && text[len(text)-1] == s[j-1] && html.UnescapeString(name[:j-1])+name[j-1:] == text {
				text = name // only its beginning is a name, such as &notit
			}
			dst, s = append(dst, text...), s[j:]
		}
	}
}

var windows1252 = [32]rune{0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D, 0x8F,
	0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D, 0x017E, 0x0178}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func HasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// nameEnd are the bytes that end the name of a tag; attrEnd those that end the name of an attribute.
var nameEnd, attrEnd [256]bool

func init() {
	for _, c := range []byte(" \t\n\r\f/>") {
		nameEnd[c] = true
		attrEnd[c] = true
	}
	attrEnd['='] = true
}

// attribute reads the attribute at pos, or the end of the tag. name is nil at the end of the tag; next is -1 at the
// end of the page.
func attribute(src []byte, pos int) (name []byte, va, vb, next int, selfClosing bool) {
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
		name, va, vb, next, closed := attribute(src, pos)
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
		name, _, _, next, _ := attribute(src, pos)
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
					name, _, _, n, _ := attribute(src, p)
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

// Attr returns the value of an attribute of an element; nil without it.
func (d *Doc) Attr(n *Node, key Key) []byte {
	if n.Tag == TagText {
		return nil
	}
	for i := n.A; i < n.B; i++ {
		if a := &d.Attrs[i]; a.Key == key {
			return d.Value(a)
		}
	}
	return nil
}

func (d *Doc) Has(n *Node, key Key) bool {
	for i := n.A; i < n.B; i++ {
		if d.Attrs[i].Key == key {
			return true
		}
	}
	return false
}

func (d *Doc) Value(a *Attr) []byte {
	if a.Decoded {
		return d.dec[a.A:a.B:a.B]
	}
	return d.src[a.A:a.B:a.B]
}

// Text returns the bytes of a text.
func (d *Doc) Text(n *Node) []byte {
	if n.Flags&flagDecoded != 0 {
		return d.dec[n.A:n.B]
	}
	return d.src[n.A:n.B]
}

// Name returns the name of an element as it was written; nil if it was not.
func (d *Doc) Name(n *Node) []byte {
	if n.name == 0 {
		return nil
	}
	i := int(n.name)
	for i < len(d.src) && !nameEnd[d.src[i]] {
		i++
	}
	return d.src[n.name:i]
}

// str is b as a string without a copy. It lives as long as the page.
func String(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
