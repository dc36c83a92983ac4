package htmltree

// link is the place of a node; 0: none.
type link struct{ first, last, next, prev int32 }

// tree places the nodes of a Doc. Before the first node that belongs elsewhere than at the end, it needs no links.
type tree struct {
	source
	cur    int32 // the node behind which nodes are appended
	linked bool
	links  []link
	spare  []Node
	path   []int32
	work   int // steps of the adoption agency
}

// addLastChild adds a node as the last child of an element.
func (t *tree) addLastChild(parent int32, n *Node) int32 {
	i := int32(len(t.Nodes))
	if !t.linked {
		for t.cur != parent {
			if t.cur == 0 {
				t.linkNodes()
				break
			}
			x := &t.Nodes[t.cur]
			x.End = i
			t.cur = x.Parent
		}
	}
	n.Parent = parent
	t.Nodes = append(t.Nodes, *n)
	t.cur = i
	if t.linked {
		t.links = append(t.links, link{})
		t.attachNode(i, parent, 0)
	}
	return i
}

// linkNodes links the nodes.
func (t *tree) linkNodes() {
	t.linked = true
	n := len(t.Nodes)
	if cap(t.links) < n+16 {
		t.links = make([]link, n, n+n/2+64)
	} else {
		t.links = t.links[:n]
		clear(t.links)
	}
	for i := 1; i < n; i++ {
		t.attachNode(int32(i), t.Nodes[i].Parent, 0)
	}
}

// attachNode makes a node a child of an element, before another child, or the last one.
func (t *tree) attachNode(i, parent, before int32) {
	t.Nodes[i].Parent = parent
	x, p := &t.links[i], &t.links[parent]
	x.next = before
	if before == 0 {
		x.prev = p.last
		p.last = i
	} else {
		x.prev = t.links[before].prev
		t.links[before].prev = i
	}
	if x.prev == 0 {
		p.first = i
	} else {
		t.links[x.prev].next = i
	}
}

// detachNode takes a node out of the tree.
func (t *tree) detachNode(i int32) {
	if !t.linked {
		t.linkNodes()
	}
	parent := t.Nodes[i].Parent
	if parent < 0 {
		return
	}
	x, p := &t.links[i], &t.links[parent]
	if x.prev == 0 {
		p.first = x.next
	} else {
		t.links[x.prev].next = x.next
	}
	if x.next == 0 {
		p.last = x.prev
	} else {
		t.links[x.next].prev = x.prev
	}
	x.next, x.prev = 0, 0
	t.Nodes[i].Parent = -1
}

// moveChildren makes the children of one element those of another, which has none.
func (t *tree) moveChildren(from, to int32) {
	x, y := &t.links[from], &t.links[to]
	y.first, y.last = x.first, x.last
	x.first, x.last = 0, 0
	for c := y.first; c != 0; c = t.links[c].next {
		t.Nodes[c].Parent = to
		t.work++
	}
}

// sortNodes puts the linked nodes in document order.
func (t *tree) sortNodes() {
	out, path := t.spare[:0], t.path[:0]
	for i := int32(0); ; {
		n := t.Nodes[i]
		if len(path) > 0 {
			n.Parent = path[len(path)-1]
		}
		me := int32(len(out))
		out = append(out, n)
		if c := t.links[i].first; c != 0 {
			path = append(path, me)
			i = c
			continue
		}
		out[me].End = me + 1
		for i != 0 && t.links[i].next == 0 {
			out[path[len(path)-1]].End = int32(len(out))
			path = path[:len(path)-1]
			i = t.Nodes[i].Parent
		}
		if i == 0 {
			break
		}
		i = t.links[i].next
	}
	t.spare, t.Nodes, t.path = t.Nodes, out, path
}
