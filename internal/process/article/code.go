package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// keptListing returns the text below n without the texts in drop, with a line break for each
// br. Markdown has no emphasis in listings.
func keptListing(n *html.Node, drop map[*html.Node]bool) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode && !drop[c]:
			b.WriteString(c.Data)
		case c.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// shallow reports whether n has only text and inline elements. Some pages are one pre
// element with all content.
func shallow(n *html.Node) bool {
	for c := range n.Descendants() {
		if c.Type == html.ElementNode && !inline[c.DataAtom] && c.DataAtom != atom.Br {
			return false
		}
	}
	return true
}
