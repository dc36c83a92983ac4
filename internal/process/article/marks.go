package article

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Engines copy and rename elements, move texts between them and join words. So they only
// choose: in their copy of the page, the longest text of each block begins with a mark, and
// the marks in a result tell which blocks the engine chose. Text and Markdown come from the
// page.

// digits are the characters of marks: without meaning in HTML, and ASCII, because
// go-trafilatura takes much longer for other texts.
const digits = "\x01\x02\x03\x04\x05\x06\x07\x08\x0E\x0F\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F"

// isDigit reports whether r may be part of a mark.
func isDigit(r rune) bool { return r > 0 && r < ' ' && (r < '\t' || r > '\r') }

// marks are the marks of an outline. Each has width bytes.
type marks struct {
	number map[*html.Node]int // of the block, by its longest text
	width  int
	bytes  int // of the texts of all blocks, without marks
}

func newMarks(o *outline) marks {
	m := marks{number: make(map[*html.Node]int, len(o.blocks)), width: 1, bytes: o.sizes[len(o.blocks)]}
	for n := len(digits); n < len(o.blocks); n *= len(digits) {
		m.width++
	}
	for i := range o.blocks {
		m.number[o.blocks[i].longest] = i
	}
	return m
}

// write returns the mark of a block.
func (m marks) write(i int) string {
	mark := make([]byte, m.width)
	for k := range mark {
		mark[k] = digits[i%len(digits)]
		i /= len(digits)
	}
	return string(mark)
}

// copyOf returns a copy of n for an engine, with marks and without what no engine reads. It is
// nil if nothing of n is left. It recurses: the parser limits the depth.
func (m marks) copyOf(n *html.Node) *html.Node {
	switch n.Type {
	case html.CommentNode, html.RawNode:
		return nil
	case html.ElementNode:
		if unread(n) {
			return nil
		}
	}
	to := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace, Attr: attributes(n)}
	if i, marked := m.number[n]; marked {
		to.Data = m.write(i) + n.Data
	}
	if (n.DataAtom == atom.Pre || n.DataAtom == atom.Code) && shallow(n) {
		// Engines would move emphasised words out of listings. The attribute makes
		// go-trafilatura keep a listing unchanged.
		to.AppendChild(&html.Node{Type: html.TextNode, Data: m.listing(n)})
		if n.DataAtom == atom.Pre && attr(n, "lang") == "" {
			to.Attr = append(to.Attr, html.Attribute{Key: "lang", Val: "code"})
		}
		return to
	}
	for c := range n.ChildNodes() {
		if kept := m.copyOf(c); kept != nil {
			to.AppendChild(kept)
		}
	}
	return to
}

// listing returns the text of a listing with its marks.
func (m marks) listing(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
			if i, marked := m.number[c]; marked {
				b.WriteString(m.write(i))
			}
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// unread reports whether no engine reads an element.
func unread(n *html.Node) bool {
	switch n.DataAtom {
	case atom.Head, atom.Title:
		return n.Namespace != ""
	case atom.Script:
		return !isJSONLD(n)
	}
	return silent[n.DataAtom] || hidden(n)
}

// attributes returns a copy of the attributes that engines read.
func attributes(n *html.Node) []html.Attribute {
	if len(n.Attr) == 0 {
		return nil
	}
	list := make([]html.Attribute, 0, len(n.Attr)+1)
	for _, a := range n.Attr {
		if readAttributes[a.Key] {
			list = append(list, a)
		}
	}
	return list
}

var readAttributes = wordSet(`id class role itemprop itemtype itemscope rel name property content href src lang type datetime
	pubdate title alt http-equiv charset aria-hidden data-component data-utime value cite start colspan rowspan target`)

// chosen returns the blocks whose marks are below result, or nil without any mark.
func (m marks) chosen(result *html.Node) choice {
	var c choice
	for n := range result.Descendants() {
		if n.Type == html.TextNode {
			c = m.read(c, n.Data)
		}
	}
	return c
}

// read adds the blocks whose marks are in text.
func (m marks) read(c choice, text string) choice {
	for {
		at := strings.IndexFunc(text, isDigit)
		if at < 0 {
			return c
		}
		text = text[at:]
		number, unit, k := 0, 1, 0
		for ; k < len(text) && k < m.width && isDigit(rune(text[k])); k++ {
			number += unit * strings.IndexByte(digits, text[k])
			unit *= len(digits)
		}
		text = text[k:]
		if number < len(m.number) {
			if c == nil {
				c = make(choice, len(m.number))
			}
			c[number] = true
		}
	}
}

// withoutMarks removes marks from a text of an engine.
func withoutMarks(text string) string {
	if !strings.ContainsFunc(text, isDigit) {
		return text
	}
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return -1
		}
		return r
	}, text)
}

// choice tells for each block of a page whether it is part of the article. nil: none is.
type choice []bool

// size returns the bytes of the chosen blocks.
func (c choice) size(o *outline) (n int) {
	for i, yes := range c {
		if yes {
			n += o.blocks[i].size
		}
	}
	return n
}

// span returns the first chosen block and the one after the last.
func (c choice) span() (start, end int) {
	start = slices.Index(c, true)
	if start < 0 {
		return 0, 0
	}
	for end = len(c); !c[end-1]; end-- {
	}
	return start, end
}

// dropped returns the texts that were not chosen.
func (c choice) dropped(o *outline) map[*html.Node]bool {
	drop := make(map[*html.Node]bool)
	for i := range o.blocks {
		if !c[i] {
			for _, n := range o.blocks[i].texts {
				drop[n] = true
			}
		}
	}
	return drop
}

// copyChosen returns a copy of n without the texts in drop and without elements that are
// empty then, or nil.
func copyChosen(n *html.Node, drop map[*html.Node]bool) *html.Node {
	to, _ := copyKept(n, drop)
	return to
}

// copyKept is copyChosen. It also reports whether the copy has text.
func copyKept(n *html.Node, drop map[*html.Node]bool) (to *html.Node, text bool) {
	switch n.Type {
	case html.TextNode:
		if drop[n] {
			return nil, false
		}
		return &html.Node{Type: html.TextNode, Data: n.Data}, strings.TrimFunc(n.Data, blank) != ""
	case html.CommentNode, html.DoctypeNode, html.RawNode:
		return nil, false
	case html.ElementNode:
		if silent[n.DataAtom] || hidden(n) {
			return nil, false
		}
	}
	if (n.DataAtom == atom.Pre || n.DataAtom == atom.Code) && shallow(n) {
		listing := keptListing(n, drop)
		to = emptyCopy(n)
		to.AppendChild(&html.Node{Type: html.TextNode, Data: listing})
		return to, strings.TrimFunc(listing, blank) != ""
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		kept, has := copyKept(c, drop)
		text = text || has
		if kept != nil {
			if to == nil {
				to = emptyCopy(n)
			}
			to.AppendChild(kept)
		}
	}
	switch {
	case !text && !holds[n.DataAtom]:
		return nil, false
	case to == nil:
		to = emptyCopy(n)
	}
	return to, text
}

// emptyCopy returns a copy of n without children, and with attributes only where Markdown
// needs them.
func emptyCopy(n *html.Node) *html.Node {
	to := &html.Node{Type: n.Type, DataAtom: n.DataAtom, Data: n.Data, Namespace: n.Namespace}
	switch n.DataAtom {
	case atom.A, atom.Img, atom.Code, atom.Pre, atom.Ol, atom.Li, atom.Td, atom.Th, atom.Input:
		to.Attr = slices.Clone(n.Attr)
	}
	return to
}

// holds are elements that have a meaning without text, if something around them is left.
var holds = map[atom.Atom]bool{atom.Br: true, atom.Hr: true, atom.Wbr: true, atom.Td: true, atom.Th: true}
