package htmltree

import (
	"bytes"
)

// link is the place of a node; 0: none.
type link struct{ first, last, next, prev int32 }

// The tree.

// addLastChild adds a node as the last child of an element.
func (d *Doc) addLastChild(parent int32, n Node) int32 {
	i := int32(len(d.Nodes))
	if !d.linked {
		for d.cur != parent {
			if d.cur == 0 {
				d.linkNodes()
				break
			}
			x := &d.Nodes[d.cur]
			x.End = i
			d.cur = x.Parent
		}
	}
	n.Parent = parent
	d.Nodes = append(d.Nodes, n)
	d.cur = i
	if d.linked {
		d.links = append(d.links, link{})
		d.attachNode(i, parent, 0)
	}
	return i
}

// linkNodes links the nodes.
func (d *Doc) linkNodes() {
	d.linked = true
	n := len(d.Nodes)
	if cap(d.links) < n+16 {
		d.links = make([]link, n, n+n/2+64)
	} else {
		d.links = d.links[:n]
		clear(d.links)
	}
	for i := 1; i < n; i++ {
		d.attachNode(int32(i), d.Nodes[i].Parent, 0)
	}
}

// attachNode makes a node a child of an element, before another child, or the last one.
func (d *Doc) attachNode(i, parent, before int32) {
	d.Nodes[i].Parent = parent
	x, p := &d.links[i], &d.links[parent]
	x.next = before
	if before == 0 {
		x.prev = p.last
		p.last = i
	} else {
		x.prev = d.links[before].prev
		d.links[before].prev = i
	}
	if x.prev == 0 {
		p.first = i
	} else {
		d.links[x.prev].next = i
	}
}

// detachNode takes a node out of the tree.
func (d *Doc) detachNode(i int32) {
	if !d.linked {
		d.linkNodes()
	}
	parent := d.Nodes[i].Parent
	if parent < 0 {
		return
	}
	x, p := &d.links[i], &d.links[parent]
	if x.prev == 0 {
		p.first = x.next
	} else {
		d.links[x.prev].next = x.next
	}
	if x.next == 0 {
		p.last = x.prev
	} else {
		d.links[x.next].prev = x.prev
	}
	x.next, x.prev = 0, 0
	d.Nodes[i].Parent = -1
}

// moveChildren makes the children of one element those of another, which has none.
func (d *Doc) moveChildren(from, to int32) {
	f, t := &d.links[from], &d.links[to]
	t.first, t.last = f.first, f.last
	f.first, f.last = 0, 0
	for c := t.first; c != 0; c = d.links[c].next {
		d.Nodes[c].Parent = to
		d.work++
	}
}

// sortNodes puts the linked nodes in document order.
func (d *Doc) sortNodes() {
	out, path := d.spare[:0], d.path[:0]
	for i := int32(0); ; {
		n := d.Nodes[i]
		if len(path) > 0 {
			n.Parent = path[len(path)-1]
		}
		me := int32(len(out))
		out = append(out, n)
		if c := d.links[i].first; c != 0 {
			path = append(path, me)
			i = c
			continue
		}
		out[me].End = me + 1
		for i != 0 && d.links[i].next == 0 {
			out[path[len(path)-1]].End = int32(len(out))
			path = path[:len(path)-1]
			i = d.Nodes[i].Parent
		}
		if i == 0 {
			break
		}
		i = d.links[i].next
	}
	d.spare, d.Nodes, d.path = d.Nodes, out, path
}

// insertionPlace returns where a node goes that is inserted with target as the current node: before is 0 for the end.
func (d *Doc) insertionPlace(target int32) (parent, before int32) {
	t := &d.Nodes[target]
	if !d.foster || t.Flags&flagForeign != 0 || build[t.Tag]&isTablePart == 0 {
		return target, 0
	}
	for k := len(d.stack) - 1; k >= 0; k-- {
		i := d.stack[k]
		switch n := &d.Nodes[i]; {
		case n.Tag == TagTemplate:
			return i, 0
		case n.Tag == TagTable:
			if n.Parent >= 0 {
				return n.Parent, i
			}
			return d.stack[max(0, k-1)], 0
		}
	}
	return d.stack[0], 0
}

// addNode adds a node at the current place.
func (d *Doc) addNode(n Node) int32 {
	top := d.stack[len(d.stack)-1]
	if !d.foster {
		return d.addLastChild(top, n)
	}
	parent, before := d.insertionPlace(top)
	if before == 0 {
		return d.addLastChild(parent, n)
	}
	if !d.linked {
		d.linkNodes()
	}
	i := int32(len(d.Nodes))
	d.Nodes = append(d.Nodes, n)
	d.links = append(d.links, link{})
	d.attachNode(i, parent, before)
	return i
}

// insertElement opens an element.
func (d *Doc) insertElement(tag Tag, t *token) int32 {
	if len(d.stack) >= maxDepth {
		d.popNode()
	}
	i := d.addNode(d.newNode(tag, t))
	d.pushNode(i)
	return i
}

func (d *Doc) newNode(tag Tag, t *token) Node {
	n := Node{Tag: tag}
	if t != nil && t.start != 0 {
		n.A, n.B, n.name = t.a, t.b, t.start
	}
	return n
}

// addVoidElement adds an element without content.
func (d *Doc) addVoidElement(t *token) { d.addNode(d.newNode(t.tag, t)) }

// addRawElement adds an element whose content is text. A line feed at its begin is left out.
func (d *Doc) addRawElement(t *token, lineFeed bool) {
	pos := d.pos
	end, next, found := d.rawEnd(t.tag, pos)
	if !found && !d.Strict && t.tag != TagScript && t.tag != TagStyle && t.tag != TagXmp {
		end, next = pos, pos
	}
	i := d.insertElement(t.tag, t)
	d.pos = next
	if lineFeed && pos < end && d.src[pos] == '\n' {
		pos++
	}
	if pos < end {
		rcdata := t.tag == TagTitle || t.tag == TagTextarea
		d.addNode(d.textNode(pos, end, !rcdata, true))
	}
	if d.stack[len(d.stack)-1] == i {
		d.popNode()
	}
}

// textNode makes a text of src[a:b]. A NUL is left out, or replaced.
func (d *Doc) textNode(a, b int, raw, replace bool) Node {
	s := d.src[a:b]
	n := Node{Tag: TagText, A: int32(a), B: int32(b)}
	if d.zeros && bytes.IndexByte(s, 0) >= 0 {
		with := []byte(nil)
		if replace {
			with = []byte("\uFFFD")
		}
		s = bytes.ReplaceAll(s, []byte{0}, with)
		if raw || bytes.IndexByte(s, '&') < 0 {
			n.A = int32(len(d.dec))
			d.dec = append(d.dec, s...)
			n.B = int32(len(d.dec))
			n.Flags = flagDecoded
			return n
		}
	}
	if !raw && bytes.IndexByte(s, '&') >= 0 {
		n.A = int32(len(d.dec))
		d.dec = AppendDecoded(d.dec, s, false)
		n.B = int32(len(d.dec))
		n.Flags = flagDecoded
	}
	return n
}

// mergeAttrs adds the attributes of a second html or body tag.
func (d *Doc) mergeAttrs(i int32, t *token) {
	n := &d.Nodes[i]
	if t.a == t.b {
		return
	}
	if n.A == n.B {
		n.A, n.B = t.a, t.b
		return
	}
	from := int32(len(d.Attrs))
	d.Attrs = append(d.Attrs, d.Attrs[n.A:n.B]...)
next:
	for k := t.a; k < t.b; k++ {
		for _, x := range d.Attrs[from:] {
			if x.Key == d.Attrs[k].Key {
				continue next
			}
		}
		d.Attrs = append(d.Attrs, d.Attrs[k])
	}
	if int32(len(d.Attrs)) == from+n.B-n.A { // nothing new
		d.Attrs = d.Attrs[:from]
		return
	}
	n.A, n.B = from, int32(len(d.Attrs))
}
