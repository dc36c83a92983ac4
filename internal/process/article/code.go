package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// flattenCode replaces the content of each pre and code element by one text node. The
// engine would move emphasised words out of listings. The lang attribute makes it keep a
// listing unchanged.
func flattenCode(doc *html.Node) {
	for _, n := range listings(doc, nil) {
		text := rawText(n)
		for n.FirstChild != nil {
			n.RemoveChild(n.FirstChild)
		}
		n.AppendChild(&html.Node{Type: html.TextNode, Data: text})
		if n.DataAtom == atom.Pre && attr(n, "lang") == "" {
			n.Attr = append(n.Attr, html.Attribute{Key: "lang", Val: "code"})
		}
	}
}

// listings appends the outermost pre and code elements below n to found.
func listings(n *html.Node, found []*html.Node) []*html.Node {
	for c := range n.ChildNodes() {
		if (c.DataAtom == atom.Pre || c.DataAtom == atom.Code) && c.Type == html.ElementNode && shallow(c) {
			found = append(found, c)
			continue
		}
		found = listings(c, found)
	}
	return found
}

// rawText returns the text below n unchanged, with a line break for each br.
func rawText(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		switch {
		case c.Type == html.TextNode:
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
