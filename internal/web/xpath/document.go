package xpath

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"

	"golang.org/x/net/html"

	"hce/dc/internal/web/treesize"
)

const (
	// MaxText is the longest document, in bytes.
	MaxText = 8 << 20

	// maxDepth is how deep elements may stand within each other; that of HTML is
	// the same, set by its parser.
	maxDepth = 512

	// maxNodes bounds the nodes of a document, as they are estimated.
	maxNodes = 2 << 20
)

// ErrCostly says that a document or an evaluation needs more than its bounds.
var ErrCostly = errors.New("too costly")

// Document is a parsed page. It does not change; goroutines may share it.
type Document struct{ root *html.Node }

// HTML parses a page, UTF-8, as the HTML standard does: elements left out, such
// as tbody, are there. It returns ErrCostly for a text longer than MaxText, nested
// too deep or made to grow when it is parsed.
func HTML(text []byte) (doc *Document, err error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("xpath.HTML: %w: %d bytes", ErrCostly, len(text))
	}
	if treesize.HTML(text, maxNodes) > maxNodes {
		return nil, fmt.Errorf("xpath.HTML: %w: too many elements", ErrCostly)
	}
	defer func() {
		if r := recover(); r != nil {
			doc, err = nil, fmt.Errorf("xpath.HTML: %v", r)
		}
	}()
	root, err := html.Parse(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("xpath.HTML: %w: %w", ErrCostly, err)
	}
	return &Document{root}, nil
}

// XML parses a feed or another XML document, UTF-8. Broken mark-up is read as far
// as it can be. It returns ErrCostly as HTML does.
func XML(text []byte) (*Document, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("xpath.XML: %w: %d bytes", ErrCostly, len(text))
	}
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it is UTF-8 by now
	root := &html.Node{Type: html.DocumentNode}
	at, depth := root, 0
	for nodes := 0; ; nodes++ {
		if nodes > maxNodes || depth > maxDepth {
			return nil, fmt.Errorf("xpath.XML: %w: too many elements, or nested too deep", ErrCostly)
		}
		token, err := d.RawToken()
		if err != nil {
			return &Document{root}, nil // the end, or the place that cannot be read
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
			// An end closes the nearest element of its name, and nothing without one.
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
