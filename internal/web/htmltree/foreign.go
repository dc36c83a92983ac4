package htmltree

import (
	"bytes"
)

// inForeign reports whether the current node is in SVG or MathML.
func (o *openElements) inForeign() bool {
	return o.foreign > 0 && len(o.stack) > 0 && o.currentNode().Flags&flagForeign != 0
}

// Foreign content.

// insertForeign opens an element of SVG or MathML.
func (b *body) insertForeign(t *token, space uint8) {
	n := Node{Tag: TagOther, Flags: space, name: t.start}
	name := b.src[t.start:t.end]
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
			if from, to, ok := b.rawAttr(&n, []byte("encoding")); ok {
				if v := b.src[from:to]; equalName(v, "text/html") || equalName(v, "application/xhtml+xml") {
					n.Flags &^= flagTextPoint
				}
			}
		}
	}
	if t.selfClosing {
		b.addNode(&n)
		return
	}
	if len(b.stack) >= maxDepth {
		b.popNode()
	}
	b.pushNode(b.addNode(&n))
}

// foreignStart handles a start tag in SVG or MathML; false: it is one of HTML.
func (b *body) foreignStart(t *token) bool {
	out := build[t.tag]&breaksOut != 0 && !equalName(b.src[t.start:t.end], "image")
	if t.tag == TagFont {
		n := Node{name: t.start}
		for _, key := range []string{"color", "face", "size"} {
			if _, _, ok := b.rawAttr(&n, []byte(key)); ok {
				out = true
			}
		}
	}
	if out {
		b.leaveForeign()
		return false
	}
	b.insertForeign(t, b.currentNode().Flags&flagForeign)
	return true
}

// leaveForeign closes elements up to where HTML may stand.
func (b *body) leaveForeign() {
	for len(b.stack) > 1 {
		n := b.currentNode()
		if p := n.Flags & (flagHTMLPoint | flagTextPoint); n.Flags&flagForeign == 0 || p == flagHTMLPoint || p == flagTextPoint {
			return
		}
		b.popNode()
	}
}

// foreignEnd handles an end tag in SVG or MathML; false: it is one of HTML.
func (b *body) foreignEnd(t *token) bool {
	if t.tag == TagBr || t.tag == TagP {
		b.leaveForeign()
		return false
	}
	name := b.src[t.start:t.end]
	for k := len(b.stack) - 1; k > 0; k-- {
		n := &b.Nodes[b.stack[k]]
		if n.Flags&flagForeign == 0 {
			return false
		}
		if bytes.EqualFold(b.Name(n), name) {
			b.popTo(k)
			return true
		}
	}
	return true
}
