package htmltree

// formatting is the list of elements such as b and i that are opened again after their blocks have ended.
type formatting struct {
	openElements
	list   []int32 // -1 is a marker
	clones int     // formatting elements opened again
}

// openFormatting opens a formatting element and lists it.
func (f *formatting) openFormatting(t *token) {
	i := f.insertElement(t.tag, t)
	// no more than three alike
	same, oldest := 0, -1
	for k := len(f.list) - 1; k >= 0 && f.list[k] >= 0; k-- {
		if x := &f.Nodes[f.list[k]]; x.Tag == t.tag && f.haveSameAttributes(x, &f.Nodes[i]) {
			same++
			oldest = k
		}
	}
	if same >= 3 {
		f.removeListed(oldest)
	}
	if len(f.list) >= maxList {
		if f.list[0] >= 0 {
			f.removeListed(0)
		} else {
			return
		}
	}
	f.Nodes[i].Flags |= flagListed
	f.list = append(f.list, i)
}

// removeListed takes list[k] from the list.
func (f *formatting) removeListed(k int) {
	if f.list[k] >= 0 {
		f.Nodes[f.list[k]].Flags &^= flagListed
	}
	f.list = append(f.list[:k], f.list[k+1:]...)
}

func (f *formatting) appendMarker() { f.list = append(f.list, -1) }

// clearList takes all up to the last marker, and that.
func (f *formatting) clearList() {
	for len(f.list) > 0 {
		i := f.list[len(f.list)-1]
		f.list = f.list[:len(f.list)-1]
		if i < 0 {
			return
		}
		f.Nodes[i].Flags &^= flagListed
	}
}

// reopenFormatting opens formatting elements again.
func (f *formatting) reopenFormatting() {
	k := len(f.list) - 1
	if k < 0 || f.list[k] < 0 || f.Nodes[f.list[k]].Flags&flagOpen != 0 {
		return
	}
	for k > 0 && f.list[k-1] >= 0 && f.Nodes[f.list[k-1]].Flags&flagOpen == 0 {
		k--
	}
	if f.clones += len(f.list) - k; f.clones > 1000+len(f.src)/8 {
		for j := k; j < len(f.list); j++ {
			f.Nodes[f.list[j]].Flags &^= flagListed
		}
		f.list = f.list[:k] // enough
		return
	}
	for ; k < len(f.list); k++ {
		old := &f.Nodes[f.list[k]]
		old.Flags &^= flagListed
		n := Node{Tag: old.Tag, Flags: flagListed, A: old.A, B: old.B, name: old.name, sum: old.sum}
		if len(f.stack) >= maxDepth {
			f.popNode()
		}
		i := f.addNode(&n)
		f.pushNode(i)
		f.list[k] = i
	}
}
