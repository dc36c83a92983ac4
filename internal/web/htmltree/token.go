package htmltree

import (
	"bytes"
)

// parser reads the tags and texts of a page and has its tree built. It keeps its memory for the next page.
type parser struct {
	builder
	token token // of the tag
}

// startPage begins the page of a Doc. The parser works on a copy of the Doc, so that its nodes are no pointer away.
func (p *parser) startPage(d *Doc) {
	stack, list, templates, links, spare, path := p.stack[:0], p.list[:0], p.templates[:0], p.links[:0], p.spare[:0], p.path[:0]
	*p = parser{}
	p.stack, p.list, p.templates, p.links, p.spare, p.path = stack, list, templates, links, spare, path
	p.Doc = *d
	p.zeros = bytes.IndexByte(p.src, 0) >= 0
	p.Nodes = append(p.Nodes, Node{Tag: TagRoot, Parent: -1})
}

// readTokens reads the tokens.
func (p *parser) readTokens() {
	src, n := p.src, len(p.src)
	p.pos = 0
	for p.pos < n {
		pos := p.pos
		lt := pos
		// the text up to the next tag
		for {
			i := bytes.IndexByte(src[lt:], '<')
			if i < 0 {
				p.addText(pos, n)
				return
			}
			lt += i
			if lt+1 >= n {
				p.addText(pos, n)
				return
			}
			c := src[lt+1]
			if isLetter(c) || c == '!' || c == '?' || c == '/' && lt+2 < n {
				break
			}
			lt++ // a lone <: part of the text
		}
		if lt > pos {
			p.addText(pos, lt)
		}
		switch c := src[lt+1]; {
		case c == '/':
			if isLetter(src[lt+2]) {
				p.readEndTag(lt + 2)
			} else {
				p.pos = skipTo(src, lt+2, '>')
			}
		case c == '!' || c == '?':
			switch {
			case bytes.HasPrefix(src[lt:], []byte("<!--")):
				p.pos = skipComment(src, lt+4)
			case len(src)-lt >= 9 && equalFold(src[lt+2:lt+9], "doctype"):
				p.pos = skipTo(src, lt+9, '>')
				end := p.pos
				if src[end-1] == '>' {
					end--
				}
				p.readDoctype(src[lt+9:end], end < p.pos)
			case p.inForeign() && bytes.HasPrefix(src[lt:], []byte("<![CDATA[")):
				end := n
				p.pos = n
				if j := bytes.Index(src[lt+9:], []byte("]]>")); j >= 0 {
					end, p.pos = lt+9+j, lt+9+j+3
				}
				if end > lt+9 {
					p.addCharacters(lt+9, end, true)
				}
			default:
				p.pos = skipTo(src, lt+2, '>')
			}
		default:
			p.readStartTag(lt + 1)
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
func (p *parser) readStartTag(pos int) {
	src, n := p.src, len(p.src)
	start := pos
	for pos < n && !nameEnd[src[pos]] {
		pos++
	}
	first := int32(len(p.Attrs))
	t := &p.token
	*t = token{tag: lookupTag(src[start:pos]), start: int32(start), end: int32(pos), a: first}
	for {
		if pos < n && src[pos] == '>' { // the common end
			pos++
			break
		}
		name, va, vb, next, closed := readAttribute(src, pos)
		if next < 0 {
			p.Attrs = p.Attrs[:first]
			p.pos = n
			return
		}
		pos = next
		if name == nil {
			t.selfClosing = closed
			break
		}
		if key := lookupKey(name); key != keyNone {
			p.addAttr(first, key, va, vb)
		}
	}
	t.b = int32(len(p.Attrs))
	p.pos = pos
	p.startTag(t)
}

// readEndTag reads an end tag at its name.
func (p *parser) readEndTag(pos int) {
	src, n := p.src, len(p.src)
	start := pos
	for pos < n && !nameEnd[src[pos]] {
		pos++
	}
	p.token = token{tag: lookupTag(src[start:pos]), start: int32(start), end: int32(pos)}
	for {
		if pos < n && src[pos] == '>' {
			pos++
			break
		}
		name, _, _, next, _ := readAttribute(src, pos)
		if next < 0 {
			p.pos = n
			return
		}
		pos = next
		if name == nil {
			break
		}
	}
	p.pos = pos
	p.endTag(&p.token)
}

// token is a tag.
type token struct {
	tag         Tag
	selfClosing bool
	start, end  int32 // the name in Doc.src
	a, b        int32 // the attributes
}
