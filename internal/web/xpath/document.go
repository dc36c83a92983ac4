package xpath

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"golang.org/x/net/html"

	"hce/dc/internal/web/treesize"
)

const (
	// MaxText bounds a document, in bytes.
	MaxText = 8 << 20

	// maxDepth bounds nested elements of XML. The HTML parser has the same limit.
	maxDepth = 512

	// maxNodes bounds the estimated nodes of a document.
	maxNodes = 2 << 20
)

// ErrCostly says that a document or an evaluation exceeds its bounds.
var ErrCostly = errors.New("too costly")

// Document is a parsed page. Its tree must not change, so goroutines may share it.
type Document struct {
	root   *html.Node
	number sync.Once
	order  map[*html.Node]int
}

// Of returns the document of a tree of package html, which must not change afterwards.
func Of(root *html.Node) *Document { return &Document{root: root} }

// Root returns the document node of the tree.
func (d *Document) Root() *html.Node { return d.root }

// placeOf returns the place of a node in document order.
func (d *Document) placeOf(n *html.Node) int {
	d.number.Do(func() {
		d.order = map[*html.Node]int{}
		for n := range d.root.Descendants() {
			d.order[n] = len(d.order)
		}
		d.order[d.root] = -1
	})
	return d.order[n]
}

// sortedIndexes returns the indexes of nodes in document order.
func (d *Document) sortedIndexes(nodes []*html.Node) []int {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.placeOf(nodes[a]), d.placeOf(nodes[b])) })
	return order
}

// HTML parses a UTF-8 page as in the HTML standard, with implied elements such as tbody.
// Scripting is off: the content of noscript is elements. It returns ErrCostly if the text exceeds MaxText, is nested too deep or needs too many
// nodes.
func HTML(text []byte) (doc *Document, err error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("parse HTML: %w: %d bytes", ErrCostly, len(text))
	}
	if treesize.HTML(text, maxNodes) > maxNodes {
		return nil, fmt.Errorf("parse HTML: %w: too many elements", ErrCostly)
	}
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, fmt.Errorf("parse HTML: %v", r)
		}
	}()
	root, err := html.ParseWithOptions(bytes.NewReader(withSmallDoctype(text)), html.ParseOptionEnableScripting(false))
	if err != nil {
		return nil, fmt.Errorf("parse HTML: %w: %w", ErrCostly, err)
	}
	return &Document{root: root}, nil
}

// withSmallDoctype returns a page whose doctype is in small letters: x/net/html v0.62.0 takes <!DOCTYPE HTML> for quirks mode, in
// which a table is inside of the paragraph before it (findings/x-net-html-doctype-in-capitals.sh).
func withSmallDoctype(text []byte) []byte {
	const doctype = "<!DOCTYPE HTML>"
	at := len(text) - len(bytes.TrimLeft(text, " \t\r\n\f\ufeff"))
	if len(text) < at+len(doctype) || !bytes.EqualFold(text[at:at+len(doctype)], []byte(doctype)) {
		return text
	}
	return append([]byte("<!doctype html>"), text[at+len(doctype):]...)
}

// XML parses a UTF-8 feed or another XML document, up to the first error that it cannot
// repair. It returns ErrCostly as HTML does.
func XML(text []byte) (*Document, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("parse XML: %w: %d bytes", ErrCostly, len(text))
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // already UTF-8
	root := &html.Node{Type: html.DocumentNode}
	at, depth := root, 0
	for nodes := 0; ; nodes++ {
		if nodes > maxNodes || depth > maxDepth {
			return nil, fmt.Errorf("parse XML: %w: too many elements, or nested too deep", ErrCostly)
		}
		token, err := d.RawToken()
		if err != nil {
			return &Document{root: root}, nil // the end, or an error
		}
		switch t := token.(type) {
		case xml.StartElement:
			n := &html.Node{Type: html.ElementNode, Data: t.Name.Local}
			for _, a := range t.Attr {
				nodes++
				n.Attr = append(n.Attr, html.Attribute{Key: a.Name.Local, Val: a.Value})
			}
			at.AppendChild(n)
			at, depth = n, depth+1
		case xml.EndElement:
			// An end tag closes the nearest element of its name, if there is one.
			for n, up := at, 1; n != root; n, up = n.Parent, up+1 {
				if n.Data == t.Name.Local {
					at, depth = n.Parent, depth-up
					break
				}
			}
		case xml.CharData:
			at.AppendChild(&html.Node{Type: html.TextNode, Data: string(t)})
		}
	}
}
