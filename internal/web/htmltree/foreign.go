package htmltree

import (
	"bytes"
)

// inForeign reports whether the current node is in SVG or MathML.
func (d *Doc) inForeign() bool {
	return d.foreign > 0 && len(d.stack) > 0 && d.currentNode().Flags&flagForeign != 0
}

// Foreign content.

// insertForeign opens an element of SVG or MathML.
func (d *Doc) insertForeign(t *token, space uint8) {
	n := Node{Tag: TagOther, Flags: space, name: t.start}
	name := d.src[t.start:t.end]
	if space == flagSVG {
		switch {
		case t.tag == TagSVG:
			n.Tag = TagSVG
		case t.tag == TagTitle, equalName(name, "desc"), equalName(name, "foreignobject"):
			n.Flags |= flagHTMLPoint
		}
	} else {
		switch {
		case t.tag == TagMath:
			n.Tag, n.A, n.B = TagMath, t.a, t.b
		case equalName(name, "annotation"):
			n.A, n.B = t.a, t.b
		case equalName(name, "mi"), equalName(name, "mo"), equalName(name, "mn"), equalName(name, "ms"), equalName(name, "mtext"):
			n.Flags |= flagTextPoint
		case equalName(name, "annotation-xml"):
			n.Flags |= flagHTMLPoint | flagTextPoint
			if a, b, ok := d.rawAttr(&n, []byte("encoding")); ok {
				if v := d.src[a:b]; equalName(v, "text/html") || equalName(v, "application/xhtml+xml") {
					n.Flags &^= flagTextPoint
				}
			}
		}
	}
	if t.selfClosing {
		d.addNode(n)
		return
	}
	if len(d.stack) >= maxDepth {
		d.popNode()
	}
	d.pushNode(d.addNode(n))
}

// foreignStart handles a start tag in SVG or MathML; false: it is one of HTML.
func (d *Doc) foreignStart(t *token) bool {
	out := build[t.tag]&breaksOut != 0 && !equalName(d.src[t.start:t.end], "image")
	if t.tag == TagFont {
		n := Node{name: t.start}
		for _, key := range []string{"color", "face", "size"} {
			if _, _, ok := d.rawAttr(&n, []byte(key)); ok {
				out = true
			}
		}
	}
	if out {
		d.leaveForeign()
		return false
	}
	d.insertForeign(t, d.currentNode().Flags&flagForeign)
	return true
}

// leaveForeign closes elements up to where HTML may stand.
func (d *Doc) leaveForeign() {
	for len(d.stack) > 1 {
		n := d.currentNode()
		if p := n.Flags & (flagHTMLPoint | flagTextPoint); n.Flags&flagForeign == 0 || p == flagHTMLPoint || p == flagTextPoint {
			return
		}
		d.popNode()
	}
}

// foreignEnd handles an end tag in SVG or MathML; false: it is one of HTML.
func (d *Doc) foreignEnd(t *token) bool {
	if t.tag == TagBr || t.tag == TagP {
		d.leaveForeign()
		return false
	}
	name := d.src[t.start:t.end]
	for k := len(d.stack) - 1; k > 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign == 0 {
			return false
		}
		if bytes.EqualFold(d.Name(n), name) {
			d.popTo(k)
			return true
		}
	}
	return true
}
