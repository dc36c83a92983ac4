package htmltree

// runAdoption ends a formatting element: the adoption agency.
func (f *formatting) runAdoption(t *token) {
	if n := f.currentNode(); n.Tag == t.tag && n.Flags&(flagListed|flagForeign) == 0 {
		f.popNode()
		return
	}
	for range 8 {
		if !f.adoptBlock(t) {
			return
		}
	}
}

// adoptBlock ends the last formatting element with the tag. If a block is open in it, the element ends before the block,
// which gets a copy of it. It reports whether there was such a block, and another one may follow.
func (f *formatting) adoptBlock(t *token) bool {
	p := f.findListedTag(t.tag)
	if p < 0 {
		f.otherEnd(t)
		return false
	}
	element := f.list[p]
	if f.Nodes[element].Flags&flagOpen == 0 {
		f.removeListed(p)
		return false
	}
	at, block, inScope := f.findFurthestBlock(element)
	if at < 0 || !inScope {
		return false
	}
	f.work += len(f.stack) - at
	if block < 0 || f.clones > 1000+len(f.src)/8 || f.work > 1<<20+32*len(f.src) {
		f.popTo(at)
		f.removeListed(p)
		return false
	}
	if !f.linked {
		f.linkNodes()
	}
	f.moveBlock(p, at, block)
	return true
}

// findListedTag returns the place in the list of the last element with the tag, down to the last marker; -1 without one.
func (f *formatting) findListedTag(tag Tag) int {
	for p := len(f.list) - 1; p >= 0 && f.list[p] >= 0; p-- {
		if f.Nodes[f.list[p]].Tag == tag {
			return p
		}
	}
	return -1
}

// findFurthestBlock returns the place of an element on the stack, that of the furthest block above it, and whether the element
// is in scope. A place is -1 without one.
func (f *formatting) findFurthestBlock(element int32) (at, block int, inScope bool) {
	block, inScope = -1, true
	for k := len(f.stack) - 1; k >= 0; k-- {
		if f.stack[k] == element {
			return k, block, inScope
		}
		n := &f.Nodes[f.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
				block = k
				inScope = false
			}
			continue
		}
		if build[n.Tag]&isSpecial != 0 {
			block = k
			inScope = inScope && build[n.Tag]&scope == 0
		}
	}
	return -1, block, inScope
}

// moveBlock takes the block stack[block] out of the element list[p], which is stack[at], and puts a copy of the element into
// the block, around its content.
func (f *formatting) moveBlock(p, at, block int) {
	element := f.list[p]
	ancestor := f.stack[max(0, at-1)]
	furthest := f.stack[block]
	last, bookmark, block := f.cloneBetween(p, at, block)
	f.detachNode(last)
	parent, before := f.insertionPlace(ancestor)
	if parent == last { // cannot be
		parent, before = ancestor, 0
	}
	f.attachNode(last, parent, before)
	x := f.Nodes[element]
	i := f.addClone(&x)
	f.moveChildren(furthest, i)
	f.attachNode(i, furthest, 0)
	f.replaceListed(element, i, bookmark)
	// on the stack: out of its place, and above the block
	f.Nodes[element].Flags &^= flagOpen
	copy(f.stack[at:block], f.stack[at+1:block+1])
	f.stack[block] = i
}

// cloneBetween puts the block stack[block] into copies of the formatting elements between it and stack[at], which is list[p].
// It returns the outermost copy, or the block without one, the place in the list for the copy of list[p], and where the
// block is on the stack then.
func (f *formatting) cloneBetween(p, at, block int) (last int32, bookmark, newBlock int) {
	furthest := f.stack[block]
	last, bookmark = furthest, p
	count := 0
	for k := block - 1; k > at; k-- {
		count++
		i := f.stack[k]
		if f.Nodes[i].Flags&flagListed != 0 && count > 3 {
			p := f.findListed(i)
			f.removeListed(p)
			if p < bookmark {
				bookmark--
			}
		}
		if f.Nodes[i].Flags&flagListed == 0 {
			f.removeFromStack(k)
			block--
			continue
		}
		p := f.findListed(i)
		i = f.cloneFormatting(i)
		f.list[p] = i
		f.stack[k] = i
		if last == furthest {
			bookmark = p + 1
		}
		f.detachNode(last)
		f.attachNode(last, i, 0)
		last = i
	}
	return last, bookmark, block
}

// replaceListed takes an element from the list and inserts its copy at a place that counts the element.
func (f *formatting) replaceListed(element, clone int32, place int) {
	f.Nodes[element].Flags &^= flagListed
	p := f.findListed(element)
	f.list = append(f.list[:p], f.list[p+1:]...)
	if p < place {
		place--
	}
	f.list = append(f.list, 0)
	copy(f.list[place+1:], f.list[place:])
	f.list[place] = clone
}

// cloneFormatting makes a copy of an open and listed formatting element, in its place.
func (f *formatting) cloneFormatting(i int32) int32 {
	old := &f.Nodes[i]
	old.Flags &^= flagOpen | flagListed
	x := *old
	return f.addClone(&x)
}

// addClone adds a copy of an element, open and listed, that has no parent.
func (f *formatting) addClone(x *Node) int32 {
	f.Nodes = append(f.Nodes, Node{Tag: x.Tag, Flags: flagOpen | flagListed, Parent: -1, A: x.A, B: x.B, name: x.name, sum: x.sum})
	f.links = append(f.links, link{})
	f.clones++
	return int32(len(f.Nodes) - 1)
}

// findListed returns the place of a node in the list.
func (f *formatting) findListed(i int32) int {
	for k := len(f.list) - 1; k >= 0; k-- {
		if f.list[k] == i {
			return k
		}
	}
	return -1
}
