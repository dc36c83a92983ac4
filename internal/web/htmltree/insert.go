package htmltree

// insertionPlace returns where a node goes that is inserted with target as the current node: before is 0 for the end.
func (o *openElements) insertionPlace(target int32) (parent, before int32) {
	t := &o.Nodes[target]
	if !o.foster || t.Flags&flagForeign != 0 || build[t.Tag]&isTablePart == 0 {
		return target, 0
	}
	for k := len(o.stack) - 1; k >= 0; k-- {
		i := o.stack[k]
		switch n := &o.Nodes[i]; {
		case n.Tag == TagTemplate:
			return i, 0
		case n.Tag == TagTable:
			if n.Parent >= 0 {
				return n.Parent, i
			}
			return o.stack[max(0, k-1)], 0
		}
	}
	return o.stack[0], 0
}

// addNode adds a node at the current place.
func (o *openElements) addNode(n *Node) int32 {
	top := o.stack[len(o.stack)-1]
	if !o.foster {
		return o.addLastChild(top, n)
	}
	parent, before := o.insertionPlace(top)
	if before == 0 {
		return o.addLastChild(parent, n)
	}
	if !o.linked {
		o.linkNodes()
	}
	i := int32(len(o.Nodes))
	o.Nodes = append(o.Nodes, *n)
	o.links = append(o.links, link{})
	o.attachNode(i, parent, before)
	return i
}

// insertElement opens an element.
func (o *openElements) insertElement(tag Tag, t *token) int32 {
	if len(o.stack) >= maxDepth {
		o.popNode()
	}
	n := newNode(tag, t)
	i := o.addNode(&n)
	o.pushNode(i)
	return i
}

func newNode(tag Tag, t *token) Node {
	n := Node{Tag: tag}
	if t != nil && t.start != 0 {
		n.A, n.B, n.name = t.a, t.b, t.start
	}
	return n
}

// addVoidElement adds an element without content.
func (o *openElements) addVoidElement(t *token) {
	n := newNode(t.tag, t)
	o.addNode(&n)
}

// addRawElement adds an element whose content is text. A line feed at its begin is left out.
func (o *openElements) addRawElement(t *token, lineFeed bool) {
	pos := o.pos
	end, next, found := o.rawEnd(t.tag, pos)
	if !found && !o.Strict && t.tag != TagScript && t.tag != TagStyle && t.tag != TagXmp {
		end, next = pos, pos
	}
	i := o.insertElement(t.tag, t)
	o.pos = next
	if lineFeed && pos < end && o.src[pos] == '\n' {
		pos++
	}
	if pos < end {
		rcdata := t.tag == TagTitle || t.tag == TagTextarea
		n := o.textNode(pos, end, !rcdata, true)
		o.addNode(&n)
	}
	if o.stack[len(o.stack)-1] == i {
		o.popNode()
	}
}
