package htmltree

import (
	"bytes"
)

// The stack.

func (d *Doc) currentNode() *Node { return &d.Nodes[d.stack[len(d.stack)-1]] }

func (d *Doc) pushNode(i int32) {
	n := &d.Nodes[i]
	n.Flags |= flagOpen
	d.countOpen(n, 1)
	d.stack = append(d.stack, i)
}

func (d *Doc) countOpen(n *Node, by int32) {
	if n.Flags&flagForeign != 0 {
		d.foreign += by
	} else {
		d.open[n.Tag] += by
	}
}

// popNode closes the current node, never html.
func (d *Doc) popNode() {
	if len(d.stack) <= 1 {
		return
	}
	n := d.currentNode()
	n.Flags &^= flagOpen
	d.countOpen(n, -1)
	d.stack = d.stack[:len(d.stack)-1]
}

// popTo closes the open elements down to stack[k], and that.
func (d *Doc) popTo(k int) {
	for len(d.stack) > max(k, 1) {
		d.popNode()
	}
}

// removeFromStack takes stack[k] from the stack.
func (d *Doc) removeFromStack(k int) {
	n := &d.Nodes[d.stack[k]]
	n.Flags &^= flagOpen
	d.countOpen(n, -1)
	d.stack = append(d.stack[:k], d.stack[k+1:]...)
}

// popUntil closes the open elements down to the nearest with this tag, and that. It must be open.
func (d *Doc) popUntil(t Tag) {
	for len(d.stack) > 1 {
		n := d.currentNode()
		is := n.Tag == t && n.Flags&flagForeign == 0
		d.popNode()
		if is {
			return
		}
	}
}

// clearTo closes the open elements above the nearest one with a property.
func (d *Doc) clearTo(bit uint16) {
	for len(d.stack) > 1 {
		if n := d.currentNode(); n.Flags&flagForeign == 0 && build[n.Tag]&bit != 0 {
			return
		}
		d.popNode()
	}
}

// isCurrent reports whether the current node is this element.
func (d *Doc) isCurrent(t Tag) bool {
	n := d.currentNode()
	return n.Tag == t && n.Flags&flagForeign == 0
}

// inScope reports whether an element is open in a scope.
func (d *Doc) inScope(t Tag, s uint16) bool { return d.open[t] > 0 && d.findInScope(t, s) >= 0 }

// findInScope returns the place on the stack of the nearest open element in a scope, or -1.
func (d *Doc) findInScope(t Tag, s uint16) int {
	for k := len(d.stack) - 1; k >= 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 && s != scopeTable {
				return -1
			}
			continue
		}
		if n.Tag == t {
			return k
		}
		if build[n.Tag]&s != 0 {
			return -1
		}
	}
	return -1
}

// anyInScope is inScope for all elements with a property.
func (d *Doc) anyInScope(bit, s uint16) bool {
	for k := len(d.stack) - 1; k >= 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 && s != scopeTable {
				return false
			}
			continue
		}
		if build[n.Tag]&bit != 0 {
			return true
		}
		if build[n.Tag]&s != 0 {
			return false
		}
	}
	return false
}

// closeImplied closes the elements at the top whose end tags may be missing.
func (d *Doc) closeImplied(but Tag) {
	for len(d.stack) > 1 {
		n := d.currentNode()
		if n.Flags&flagForeign != 0 || build[n.Tag]&isImplied == 0 || n.Tag == but {
			return
		}
		d.popNode()
	}
}

// closeP closes an open paragraph.
func (d *Doc) closeP() {
	if d.open[TagP] > 0 && d.findInScope(TagP, scopeButton) >= 0 {
		d.closeImplied(TagP)
		d.popUntil(TagP)
	}
}

// otherEnd closes the nearest element with this name, unless an element between them cannot be closed so.
func (d *Doc) otherEnd(t *token) {
	if d.open[t.tag] == 0 {
		return
	}
	for k := len(d.stack) - 1; k > 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
				return
			}
			continue
		}
		if n.Tag == t.tag && (t.tag != TagOther || bytes.EqualFold(d.Name(n), d.src[t.start:t.end])) {
			if t.tag != TagOther {
				d.closeImplied(t.tag)
			} else {
				d.closeImplied(TagRoot)
			}
			d.popTo(k)
			return
		}
		if build[n.Tag]&isSpecial != 0 {
			return
		}
	}
}

// selectInScope reports whether a select is open.
func (d *Doc) selectInScope() bool {
	return d.open[TagSelect] > 0 && d.findInScope(TagSelect, scope) >= 0
}
