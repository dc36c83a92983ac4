package article

import (
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
