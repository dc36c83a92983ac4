package article

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// size determines the time that the engine needs for a page.
type size struct {
	elements int

	// joining is the number of paragraphs times the bytes of text: the engine appends
	// paragraphs one by one and copies the text each time.
	joining int
}

// maxJoining allows about a second: a megabyte of text in two thousand paragraphs.
const maxJoining = 2 << 30

// measure returns the size of a tree.
func measure(doc *html.Node) size {
	var s size
	paragraphs, bytes := 0, 0
	for n := range doc.Descendants() {
		switch n.Type {
		case html.ElementNode:
			s.elements++
			if n.DataAtom == atom.P {
				paragraphs++
			}
		case html.TextNode:
			bytes += len(n.Data)
		}
	}
	s.joining = paragraphs * bytes
	return s
}

// nesting returns the depth of nested quotes and lists in n.
func nesting(n *html.Node) int {
	deepest := 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		deepest = max(deepest, nesting(c))
	}
	switch n.DataAtom {
	case atom.Blockquote, atom.Ul, atom.Ol:
		deepest++
	}
	return deepest
}

// tableCells returns the number of cells in the tables below n, in Markdown: rows padded
// to the same length, spans expanded.
func tableCells(n *html.Node) int {
	total := 0
	for t := range n.Descendants() {
		if t.DataAtom != atom.Table {
			continue
		}
		rows, columns, taller := 0, 0, 0
		for r := range t.Descendants() {
			if r.DataAtom != atom.Tr {
				continue
			}
			rows++
			width := 0
			for c := range r.ChildNodes() {
				width += span(c, "colspan")
				taller = max(taller, span(c, "rowspan")-1)
			}
			columns = max(columns, width)
		}
		total += (rows + taller) * columns
	}
	return total
}

// span returns the value of a span attribute, at most 2^20. It returns 1 without the
// attribute, and 0 if cell is not an element.
func span(cell *html.Node, key string) int {
	if cell.Type != html.ElementNode {
		return 0
	}
	n, err := strconv.ParseUint(attr(cell, key), 10, 64)
	if err != nil {
		if attr(cell, key) != "" {
			return 1000 // invalid: assume the worst
		}
		return 1
	}
	return int(max(1, min(n, 1<<20)))
}
