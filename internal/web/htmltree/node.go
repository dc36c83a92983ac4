package htmltree

import (
	"bytes"
	"slices"
	"unsafe"
)

// Node is an element or a text. Nodes are in document order; Doc.Nodes[i+1:n.End] are inside of Doc.Nodes[i].
type Node struct {
	Tag    Tag
	Flags  uint8
	sum    uint16 // a formatting element: a hash of its attributes
	Parent int32
	End    int32
	A, B   int32 // a text: its bytes; an element: its attributes
	name   int32 // an element: the position of its name in Doc.src; 0: the page has no tag for it
}

// Flags of a node.
const (
	flagDecoded = 1 << iota // A and B are in Doc.dec
	FlagBlank               // a text of white space only
	// For the builder.
	flagOpen      // on the stack
	flagListed    // in the list of formatting elements
	flagSVG       // an element of SVG; its Tag is TagOther or TagSVG
	flagMath      // an element of MathML; its Tag is TagOther or TagMath
	flagHTMLPoint // HTML may be in it
	flagTextPoint // text and HTML may be in it; with flagHTMLPoint: only a scope

	flagForeign = flagSVG | flagMath
)

// Attr is an attribute. The value is in Doc.src, or in Doc.dec if Decoded.
type Attr struct {
	Key     Key
	Decoded bool
	A, B    int32
}

// maxBytes is the largest page; the rest of a larger one is not read. Positions are 32 bits wide.
const maxBytes = 1 << 30

// Doc is a parsed page: one array of nodes, one of attributes, and the page itself. The zero value is ready, and Parse may be
// called again: memory is reused. Not safe for concurrent use.
type Doc struct {
	Nodes []Node
	Attrs []Attr
	// Strict follows the standard without scripts. Otherwise the content of a title, textarea and so on without an end
	// tag is mark-up, though browsers hide the rest of the page; noscript in the head is not read, and in the body ends
	// at its end tag, as in a browser with scripts.
	Strict bool

	src []byte
	dec []byte // texts and values with entities, decoded

	parser *parser // of the last page, for its memory
}

// bytesOfNode is a usual number of bytes of a page for a node.
const bytesOfNode = 24

// Parse builds the tree of a page, which is UTF-8. The Doc refers to src, which must not change while the tree is used. It never
// fails: every page has a tree, with at most 500 levels and a number of nodes that is linear in the size of the page.
func (d *Doc) Parse(src []byte) {
	if len(src) > maxBytes {
		src = src[:maxBytes]
	}
	if len(src) >= 3 && src[0] == 0xEF && src[1] == 0xBB && src[2] == 0xBF {
		src = src[3:]
	}
	if bytes.IndexByte(src, '\r') >= 0 {
		src = withoutCR(src)
	}
	d.src, d.dec = src, d.dec[:0]
	d.Nodes, d.Attrs = slices.Grow(d.Nodes[:0], len(src)/bytesOfNode), d.Attrs[:0]
	if d.parser == nil {
		d.parser = new(parser)
	}
	p := d.parser
	p.startPage(d)
	p.readTokens()
	p.finishPage()
	*d, p.Doc = p.Doc, Doc{}
}

// withoutCR returns a copy with LF for CR and CR LF.
func withoutCR(src []byte) []byte {
	dst := make([]byte, 0, len(src))
	for {
		i := bytes.IndexByte(src, '\r')
		if i < 0 {
			return append(dst, src...)
		}
		dst = append(append(dst, src[:i]...), '\n')
		src = src[i+1:]
		if len(src) > 0 && src[0] == '\n' {
			src = src[1:]
		}
	}
}

// Attr returns the value of an attribute of an element; nil without it.
func (d *Doc) Attr(n *Node, key Key) []byte {
	if n.Tag == TagText {
		return nil
	}
	for i := n.A; i < n.B; i++ {
		if a := &d.Attrs[i]; a.Key == key {
			return d.Value(a)
		}
	}
	return nil
}

func (d *Doc) Has(n *Node, key Key) bool {
	for i := n.A; i < n.B; i++ {
		if d.Attrs[i].Key == key {
			return true
		}
	}
	return false
}

func (d *Doc) Value(a *Attr) []byte {
	if a.Decoded {
		return d.dec[a.A:a.B:a.B]
	}
	return d.src[a.A:a.B:a.B]
}

// Text returns the bytes of a text.
func (d *Doc) Text(n *Node) []byte {
	if n.Flags&flagDecoded != 0 {
		return d.dec[n.A:n.B]
	}
	return d.src[n.A:n.B]
}

// Name returns the name of an element as it was written; nil if it was not.
func (d *Doc) Name(n *Node) []byte {
	if n.name == 0 {
		return nil
	}
	i := int(n.name)
	for i < len(d.src) && !nameEnd[d.src[i]] {
		i++
	}
	return d.src[n.name:i]
}

// str is b as a string without a copy. It lives as long as the page.
func String(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
