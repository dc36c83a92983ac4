package htmltree

import "bytes"

func (d *Doc) addAttr(first int32, key Key, a, b int) {
	for _, x := range d.Attrs[first:] {
		if x.Key == key {
			return
		}
	}
	if bytes.IndexByte(d.src[a:b], '&') >= 0 {
		from := len(d.dec)
		d.dec = AppendDecoded(d.dec, d.src[a:b], true)
		d.Attrs = append(d.Attrs, Attr{key, true, int32(from), int32(len(d.dec))})
		return
	}
	d.Attrs = append(d.Attrs, Attr{key, false, int32(a), int32(b)})
}

func (d *Doc) hiddenInput(t *token) bool {
	for k := t.a; k < t.b; k++ {
		if a := &d.Attrs[k]; a.Key == KeyType {
			return bytes.EqualFold(d.Value(a), []byte("hidden"))
		}
	}
	return false
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
