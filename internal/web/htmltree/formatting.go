package htmltree

import "bytes"

// openFormatting opens a formatting element and lists it.
func (d *Doc) openFormatting(t *token) {
	i := d.insertElement(t.tag, t)
	// no more than three alike
	same, oldest := 0, -1
	for k := len(d.list) - 1; k >= 0 && d.list[k] >= 0; k-- {
		if x := &d.Nodes[d.list[k]]; x.Tag == t.tag && d.haveSameAttributes(x, &d.Nodes[i]) {
			same++
			oldest = k
		}
	}
	if same >= 3 {
		d.removeListed(oldest)
	}
	if len(d.list) >= maxList {
		if d.list[0] >= 0 {
			d.removeListed(0)
		} else {
			return
		}
	}
	d.Nodes[i].Flags |= flagListed
	d.list = append(d.list, i)
}

// sumOf returns the hash of the attributes of an element, computed when it is first asked for.
func (d *Doc) sumOf(n *Node) uint16 {
	if n.sum == 0 {
		n.sum = d.attributeSum(n) | 1
	}
	return n.sum
}

// attributeSum returns a hash of the attributes as they are written, whatever their order.
func (d *Doc) attributeSum(n *Node) (sum uint16) {
	for p := int(n.name) + len(d.Name(n)); ; {
		name, va, vb, next, _ := readAttribute(d.src, p)
		if name == nil || next < 0 {
			return sum
		}
		h := uint32(2166136261)
		for _, c := range name {
			h = (h ^ uint32(c|0x20)) * 16777619
		}
		for _, c := range d.src[va:vb] {
			h = (h ^ uint32(c)) * 16777619
		}
		sum += uint16(h ^ h>>16)
		p = next
	}
}

// maxCompared is the most bytes of attributes that are compared one by one.
const maxCompared = 1 << 10

// haveSameAttributes reports whether two formatting elements have the same attributes. Of elements with more than a kilobyte of them, only
// those that are written alike are.
func (d *Doc) haveSameAttributes(x, y *Node) bool {
	if x.name == y.name {
		return true
	}
	if d.sumOf(x) != d.sumOf(y) {
		return false
	}
	a, b := d.attributeBytes(x), d.attributeBytes(y)
	return bytes.Equal(a, b) || len(a) <= maxCompared && d.coversAttributes(x, y) && d.coversAttributes(y, x)
}

// attributeBytes returns the attributes of an element as they are written.
func (d *Doc) attributeBytes(n *Node) []byte {
	from := int(n.name) + len(d.Name(n))
	for p := from; ; {
		name, _, _, next, _ := readAttribute(d.src, p)
		if name == nil || next < 0 {
			return d.src[from:p]
		}
		p = next
	}
}

// coversAttributes reports whether y has all attributes of x.
func (d *Doc) coversAttributes(x, y *Node) bool {
	for p := int(x.name) + len(d.Name(x)); ; {
		name, _, _, next, _ := readAttribute(d.src, p)
		if name == nil || next < 0 {
			return true
		}
		p = next
		va, vb, _ := d.rawAttr(x, name)
		wa, wb, ok := d.rawAttr(y, name)
		if !ok || !bytes.Equal(d.src[va:vb], d.src[wa:wb]) {
			return false
		}
	}
}

// rawAttr finds an attribute of an element in the page.
func (d *Doc) rawAttr(n *Node, key []byte) (va, vb int, ok bool) {
	if n.name == 0 {
		return 0, 0, false
	}
	for p := int(n.name) + len(d.Name(n)); ; {
		name, a, b, next, _ := readAttribute(d.src, p)
		if name == nil || next < 0 {
			return 0, 0, false
		}
		if bytes.EqualFold(name, key) {
			return a, b, true
		}
		p = next
	}
}

// removeListed takes list[k] from the list.
func (d *Doc) removeListed(k int) {
	if d.list[k] >= 0 {
		d.Nodes[d.list[k]].Flags &^= flagListed
	}
	d.list = append(d.list[:k], d.list[k+1:]...)
}

func (d *Doc) appendMarker() { d.list = append(d.list, -1) }

// clearList takes all up to the last marker, and that.
func (d *Doc) clearList() {
	for len(d.list) > 0 {
		i := d.list[len(d.list)-1]
		d.list = d.list[:len(d.list)-1]
		if i < 0 {
			return
		}
		d.Nodes[i].Flags &^= flagListed
	}
}

// reopenFormatting opens formatting elements again.
func (d *Doc) reopenFormatting() {
	k := len(d.list) - 1
	if k < 0 || d.list[k] < 0 || d.Nodes[d.list[k]].Flags&flagOpen != 0 {
		return
	}
	for k > 0 && d.list[k-1] >= 0 && d.Nodes[d.list[k-1]].Flags&flagOpen == 0 {
		k--
	}
	if d.clones += len(d.list) - k; d.clones > 1000+len(d.src)/8 {
		for j := k; j < len(d.list); j++ {
			d.Nodes[d.list[j]].Flags &^= flagListed
		}
		d.list = d.list[:k] // enough
		return
	}
	for ; k < len(d.list); k++ {
		old := &d.Nodes[d.list[k]]
		old.Flags &^= flagListed
		n := Node{Tag: old.Tag, Flags: flagListed, A: old.A, B: old.B, name: old.name, sum: old.sum}
		if len(d.stack) >= maxDepth {
			d.popNode()
		}
		i := d.addNode(n)
		d.pushNode(i)
		d.list[k] = i
	}
}

// runAdoption ends a formatting element: the adoption agency.
func (d *Doc) runAdoption(t *token) {
	tag := t.tag
	if n := d.currentNode(); n.Tag == tag && n.Flags&(flagListed|flagForeign) == 0 {
		d.popNode()
		return
	}
	for range 8 {
		f := len(d.list) - 1
		for f >= 0 && d.list[f] >= 0 && d.Nodes[d.list[f]].Tag != tag {
			f--
		}
		if f < 0 || d.list[f] < 0 {
			d.otherEnd(t)
			return
		}
		element := d.list[f]
		if d.Nodes[element].Flags&flagOpen == 0 {
			d.removeListed(f)
			return
		}
		// where it stands, the furthest block above it, and whether it is in scope
		at, block, in := -1, -1, true
		for k := len(d.stack) - 1; k >= 0; k-- {
			if d.stack[k] == element {
				at = k
				break
			}
			n := &d.Nodes[d.stack[k]]
			if n.Flags&flagForeign != 0 {
				if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
					block = k
					in = false
				}
				continue
			}
			if build[n.Tag]&isSpecial != 0 {
				block = k
				in = in && build[n.Tag]&scope == 0
			}
		}
		if at < 0 || !in {
			return
		}
		d.work += len(d.stack) - at
		if block < 0 || d.clones > 1000+len(d.src)/8 || d.work > 1<<20+32*len(d.src) {
			d.popTo(at)
			d.removeListed(f)
			return
		}
		if !d.linked {
			d.linkNodes()
		}
		ancestor := d.stack[max(0, at-1)]
		furthest := d.stack[block]
		bookmark := f
		last := furthest
		count := 0
		for k := block - 1; k > at; k-- {
			count++
			i := d.stack[k]
			n := &d.Nodes[i]
			if n.Flags&flagListed != 0 && count > 3 {
				p := d.findListed(i)
				d.removeListed(p)
				if p < bookmark {
					bookmark--
				}
			}
			if d.Nodes[i].Flags&flagListed == 0 {
				d.removeFromStack(k)
				block--
				continue
			}
			p := d.findListed(i)
			i = d.cloneFormatting(i)
			d.list[p] = i
			d.stack[k] = i
			if last == furthest {
				bookmark = p + 1
			}
			d.detachNode(last)
			d.attachNode(last, i, 0)
			last = i
		}
		d.detachNode(last)
		parent, before := d.insertionPlace(ancestor)
		if parent == last { // cannot be
			parent, before = ancestor, 0
		}
		d.attachNode(last, parent, before)
		x := d.Nodes[element]
		i := int32(len(d.Nodes))
		d.Nodes = append(d.Nodes, Node{Tag: x.Tag, Parent: -1, A: x.A, B: x.B, name: x.name, sum: x.sum, Flags: flagListed | flagOpen})
		d.links = append(d.links, link{})
		d.clones++
		d.moveChildren(furthest, i)
		d.attachNode(i, furthest, 0)
		// in the list
		d.Nodes[element].Flags &^= flagListed
		f = d.findListed(element)
		d.list = append(d.list[:f], d.list[f+1:]...)
		if f < bookmark {
			bookmark--
		}
		d.list = append(d.list, 0)
		copy(d.list[bookmark+1:], d.list[bookmark:])
		d.list[bookmark] = i
		// on the stack: out of its place, and above the block
		d.Nodes[element].Flags &^= flagOpen
		copy(d.stack[at:block], d.stack[at+1:block+1])
		d.stack[block] = i
	}
}

// cloneFormatting makes a copy of an open and listed formatting element, in its place.
func (d *Doc) cloneFormatting(i int32) int32 {
	old := &d.Nodes[i]
	n := Node{Tag: old.Tag, Flags: flagOpen | flagListed, Parent: -1, A: old.A, B: old.B, name: old.name, sum: old.sum}
	old.Flags &^= flagOpen | flagListed
	d.Nodes = append(d.Nodes, n)
	d.links = append(d.links, link{})
	d.clones++
	return int32(len(d.Nodes) - 1)
}

// findListed returns the place of a node in the list.
func (d *Doc) findListed(i int32) int {
	for k := len(d.list) - 1; k >= 0; k-- {
		if d.list[k] == i {
			return k
		}
	}
	return -1
}
