package article

import (
	"strconv"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// size is what the time of an engine depends on.
type size struct {
	elements int

	// joining is the bytes copied by an engine that joins the paragraphs of a
	// page one by one, as two of them do: paragraphs times bytes of text.
	joining int
}

// maxJoining allows what takes about a second: a book of a megabyte in two
// thousand paragraphs, but not in twenty thousand.
const maxJoining = 2 << 30

// measure walks the tree once.
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

// nesting returns how deep quotes and lists are nested below n.
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

// tableCells returns how many cells the tables below n have once their rows are
// filled up to the same length and spans are written out.
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

// span returns the number that a span attribute states, within what browsers
// allow; 0 for what is no element.
func span(cell *html.Node, key string) int {
	if cell.Type != html.ElementNode {
		return 0
	}
	n, err := strconv.ParseUint(attr(cell, key), 10, 64)
	if err != nil {
		if attr(cell, key) != "" {
			return 1000 // whatever the converter makes of it, it is not worth it
		}
		return 1
	}
	return int(max(1, min(n, 1<<20)))
}
