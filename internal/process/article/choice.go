package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// The engine copies and renames elements, moves texts between them and joins words. So it
// only chooses: the longest text of each block of the page begins with a mark, and the marks
// in the result tell which blocks the engine chose. Text and Markdown come from the page.

// digits are the characters of marks: without meaning in HTML, and ASCII, because the engine
// takes much longer for other texts.
const digits = "\x01\x02\x03\x04\x05\x06\x07\x08\x0E\x0F\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\x1B\x1C\x1D\x1E\x1F"

// isDigit reports whether r may be part of a mark.
func isDigit(r rune) bool { return r > 0 && r < ' ' && (r < '\t' || r > '\r') }

// choice is the blocks of a page, and which of them are part of the article. A block is the
// texts of one line of plain text. Its number is its mark.
type choice struct {
	blocks []block
	ended  bool                // the last block got all its texts
	bytes  int                 // of all texts
	width  int                 // bytes of a mark
	drop   map[*html.Node]bool // texts that were not chosen
}

type block struct {
	texts   []*html.Node
	longest *html.Node
	chosen  bool
}

// mark finds the visible texts of doc and marks them.
func (c *choice) mark(doc *html.Node) {
	c.ended = true
	c.find(doc)
	c.width = 1
	for n := len(digits); n < len(c.blocks); n *= len(digits) {
		c.width++
	}
	mark := make([]byte, c.width)
	for i, b := range c.blocks {
		for k := range mark {
			mark[k] = digits[i%len(digits)]
			i /= len(digits)
		}
		b.longest.Data = string(mark) + b.longest.Data
	}
}

// find adds the visible texts below n. It recurses: the parser limits the depth.
func (c *choice) find(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		if strings.TrimFunc(n.Data, blank) != "" {
			c.add(n)
		}
		return
	case html.CommentNode, html.DoctypeNode, html.RawNode:
		return
	}
	if n.Type == html.ElementNode && (silent[n.DataAtom] || hidden(n)) {
		return
	}
	edge := n.Type == html.ElementNode && !inline[n.DataAtom]
	c.ended = c.ended || edge
	for child := range n.ChildNodes() {
		c.find(child)
	}
	c.ended = c.ended || edge
}

// add adds a text to the current block.
func (c *choice) add(n *html.Node) {
	if c.ended {
		c.blocks, c.ended = append(c.blocks, block{longest: n}), false
	}
	b := &c.blocks[len(c.blocks)-1]
	b.texts = append(b.texts, n)
	c.bytes += len(n.Data)
	if len(n.Data) > len(b.longest.Data) {
		b.longest = n
	}
}

// unmark removes the marks from the page.
func (c *choice) unmark() {
	for _, b := range c.blocks {
		b.longest.Data = b.longest.Data[c.width:]
	}
}

// choose finds the blocks whose marks are below result, and reports whether there are any.
func (c *choice) choose(result *html.Node) (some bool) {
	for n := range result.Descendants() {
		if n.Type != html.TextNode {
			continue
		}
		for rest := n.Data; ; {
			at := strings.IndexFunc(rest, isDigit)
			if at < 0 {
				break
			}
			rest = rest[at:]
			number, unit, k := 0, 1, 0
			for ; k < len(rest) && k < c.width && isDigit(rune(rest[k])); k++ {
				number += unit * strings.IndexByte(digits, rest[k])
				unit *= len(digits)
			}
			rest = rest[k:]
			if number < len(c.blocks) {
				c.blocks[number].chosen, some = true, true
			}
		}
	}
	c.drop = make(map[*html.Node]bool)
	for _, b := range c.blocks {
		if !b.chosen {
			for _, n := range b.texts {
				c.drop[n] = true
			}
		}
	}
	return some
}

// text returns the text of the article.
func (c *choice) text(doc *html.Node) string {
	l := lines{drop: c.drop}
	l.node(doc, false)
	return l.b.String()
}

// prune removes everything below n that is not part of the article, and reports whether
// something is left.
func (c *choice) prune(n *html.Node) (left bool) {
	for child := n.FirstChild; child != nil; {
		this := child
		child = child.NextSibling
		keep := false
		switch this.Type {
		case html.TextNode:
			keep = !c.drop[this]
			left = left || keep && strings.TrimFunc(this.Data, blank) != ""
		case html.ElementNode:
			if !silent[this.DataAtom] && !hidden(this) {
				keep = c.prune(this)
				left = left || keep
				keep = keep || holds[this.DataAtom]
			}
		}
		if !keep {
			n.RemoveChild(this)
		}
	}
	return left
}

// holds are elements that have a meaning without text, if something around them is left.
var holds = map[atom.Atom]bool{atom.Br: true, atom.Hr: true, atom.Wbr: true, atom.Td: true, atom.Th: true}

// withoutMarks removes marks from a text of the engine.
func withoutMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return -1
		}
		return r
	}, text)
}
