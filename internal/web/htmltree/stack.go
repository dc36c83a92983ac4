package htmltree

import "bytes"

// openElements are the elements that are open, and the places of nodes among them.
type openElements struct {
	tree
	stack   []int32
	open    [TagCount]int32 // open elements of HTML
	foreign int32           // other open elements
	foster  bool            // what a table cannot have goes in front of it
}

func (o *openElements) currentNode() *Node { return &o.Nodes[o.stack[len(o.stack)-1]] }

func (o *openElements) pushNode(i int32) {
	n := &o.Nodes[i]
	n.Flags |= flagOpen
	o.countOpen(n, 1)
	o.stack = append(o.stack, i)
}

func (o *openElements) countOpen(n *Node, by int32) {
	if n.Flags&flagForeign != 0 {
		o.foreign += by
	} else {
		o.open[n.Tag] += by
	}
}

// popNode closes the current node, never html.
func (o *openElements) popNode() {
	if len(o.stack) <= 1 {
		return
	}
	n := o.currentNode()
	n.Flags &^= flagOpen
	o.countOpen(n, -1)
	o.stack = o.stack[:len(o.stack)-1]
}

// popTo closes the open elements down to stack[k], and that.
func (o *openElements) popTo(k int) {
	for len(o.stack) > max(k, 1) {
		o.popNode()
	}
}

// removeFromStack takes stack[k] from the stack.
func (o *openElements) removeFromStack(k int) {
	n := &o.Nodes[o.stack[k]]
	n.Flags &^= flagOpen
	o.countOpen(n, -1)
	o.stack = append(o.stack[:k], o.stack[k+1:]...)
}

// findOpen returns the place of a node on the stack; -1 if it is not open.
func (o *openElements) findOpen(i int32) int {
	for k := len(o.stack) - 1; k >= 0; k-- {
		if o.stack[k] == i {
			return k
		}
	}
	return -1
}

// removeOpen takes an element from the stack, never html.
func (o *openElements) removeOpen(i int32) {
	if k := o.findOpen(i); k > 0 {
		o.removeFromStack(k)
	}
}

// popUntil closes the open elements down to the nearest with this tag, and that. It must be open.
func (o *openElements) popUntil(t Tag) {
	for len(o.stack) > 1 {
		n := o.currentNode()
		is := n.Tag == t && n.Flags&flagForeign == 0
		o.popNode()
		if is {
			return
		}
	}
}

// popUntilAny closes the open elements down to the nearest with a property, and that.
func (o *openElements) popUntilAny(bit uint16) {
	for len(o.stack) > 1 {
		n := o.currentNode()
		is := n.Flags&flagForeign == 0 && build[n.Tag]&bit != 0
		o.popNode()
		if is {
			return
		}
	}
}

// clearTo closes the open elements above the nearest one with a property.
func (o *openElements) clearTo(bit uint16) {
	for len(o.stack) > 1 {
		if n := o.currentNode(); n.Flags&flagForeign == 0 && build[n.Tag]&bit != 0 {
			return
		}
		o.popNode()
	}
}

// isCurrent reports whether the current node is this element.
func (o *openElements) isCurrent(t Tag) bool {
	n := o.currentNode()
	return n.Tag == t && n.Flags&flagForeign == 0
}

// inScope reports whether an element is open in a scope.
func (o *openElements) inScope(t Tag, s uint16) bool {
	return o.open[t] > 0 && o.findInScope(t, s) >= 0
}

// findInScope returns the place on the stack of the nearest open element in a scope, or -1.
func (o *openElements) findInScope(t Tag, s uint16) int {
	for k := len(o.stack) - 1; k >= 0; k-- {
		n := &o.Nodes[o.stack[k]]
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
func (o *openElements) anyInScope(bit, s uint16) bool {
	for k := len(o.stack) - 1; k >= 0; k-- {
		n := &o.Nodes[o.stack[k]]
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
func (o *openElements) closeImplied(but Tag) {
	for len(o.stack) > 1 {
		n := o.currentNode()
		if n.Flags&flagForeign != 0 || build[n.Tag]&isImplied == 0 || n.Tag == but {
			return
		}
		o.popNode()
	}
}

// closeInScope closes an element that is open in a scope, and before it those whose end tags may be missing.
func (o *openElements) closeInScope(t Tag, scope uint16, but Tag) bool {
	if !o.inScope(t, scope) {
		return false
	}
	o.closeImplied(but)
	o.popUntil(t)
	return true
}

// closeP closes an open paragraph.
func (o *openElements) closeP() {
	if o.open[TagP] > 0 && o.findInScope(TagP, scopeButton) >= 0 {
		o.closeImplied(TagP)
		o.popUntil(TagP)
	}
}

// otherEnd closes the nearest element with this name, unless an element between them cannot be closed so.
func (o *openElements) otherEnd(t *token) {
	if o.open[t.tag] == 0 {
		return
	}
	for k := len(o.stack) - 1; k > 0; k-- {
		n := &o.Nodes[o.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
				return
			}
			continue
		}
		if n.Tag == t.tag && (t.tag != TagOther || bytes.EqualFold(o.Name(n), o.src[t.start:t.end])) {
			if t.tag != TagOther {
				o.closeImplied(t.tag)
			} else {
				o.closeImplied(TagRoot)
			}
			o.popTo(k)
			return
		}
		if build[n.Tag]&isSpecial != 0 {
			return
		}
	}
}

// selectInScope reports whether a select is open.
func (o *openElements) selectInScope() bool {
	return o.open[TagSelect] > 0 && o.findInScope(TagSelect, scope) >= 0
}
