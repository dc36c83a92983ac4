package htmltree

import "bytes"

// The tree builder follows the chapter on tree construction of the HTML standard. As long as each node is appended
// behind all others, which is so on most pages, the nodes stand in document order at once. The first node that must
// stand elsewhere (in front of a table, or moved by misnested formatting) links them; finish puts them in order.

// token is a tag.
type token struct {
	tag         Tag
	selfClosing bool
	start, end  int32 // the name in Doc.src
	a, b        int32 // the attributes
}

// link is the place of a node; 0: none.
type link struct{ first, last, next, prev int32 }

type builder struct {
	pos       int
	mode      mode
	stack     []int32 // open elements
	list      []int32 // formatting elements; -1 is a marker
	templates []mode
	open      [TagCount]int32 // open elements of HTML
	foreign   int32           // other open elements
	head      int32
	form      int32
	cur       int32 // the node behind which nodes are appended
	foster    bool
	quirks    bool
	noFrames  bool // no frameset may follow
	zeros     bool // the page has NUL
	clones    int  // formatting elements opened again
	work      int  // steps of the adoption agency
	noEnd     [TagCount]bool

	linked bool
	links  []link
	spare  []Node
	path   []int32
	buf    []byte
}

type mode uint8

const (
	mInitial mode = iota
	mBeforeHTML
	mBeforeHead
	mHead
	mHeadNoscript
	mAfterHead
	mBody
	mTable
	mCaption
	mColgroup
	mTableBody
	mRow
	mCell
	mTemplate
	mAfterBody
	mFrameset
	mAfterFrameset
	mAfterAfterBody
	mAfterAfterFrameset
)

const (
	maxDepth = 500 // the deepest nesting; elements below it become siblings
	maxList  = 64  // formatting elements
)

// Properties of tags for the builder.
const (
	isSpecial = 1 << iota
	isImplied // its end tag may be missing
	isImpliedInTemplate
	isTablePart  // no text in it
	isFormatting // is opened again
	breaksOut    // ends SVG and MathML
	// Scopes end at these elements.
	scope
	scopeButton
	scopeItem
	scopeTable
	toTable // the stack is cleared down to these
	toTableBody
	toRow
	cells
	headings
	isRaw
)

var build [TagCount]uint16

func init() {
	set := func(bit uint16, tags ...Tag) {
		for _, t := range tags {
			build[t] |= bit
		}
	}
	set(isSpecial, TagAddress, TagApplet, TagArea, TagArticle, TagAside, TagBase, TagBasefont, TagBgsound, TagBlockquote, TagBody, TagBr, TagButton,
		TagCaption, TagCenter, TagCol, TagColgroup, TagDd, TagDetails, TagDir, TagDiv, TagDl, TagDt, TagEmbed, TagFieldset, TagFigcaption, TagFigure,
		TagFooter, TagForm, TagFrame, TagFrameset, TagH1, TagH2, TagH3, TagH4, TagH5, TagH6, TagHead, TagHeader, TagHgroup, TagHr, TagHTML, TagIframe,
		TagImg, TagInput, TagKeygen, TagLi, TagLink, TagListing, TagMain, TagMarquee, TagMenu, TagMeta, TagNav, TagNoembed, TagNoframes, TagNoscript,
		TagObject, TagOl, TagP, TagParam, TagPlaintext, TagPre, TagScript, TagSearch, TagSection, TagSelect, TagSource, TagStyle, TagSummary, TagTable,
		TagTbody, TagTd, TagTemplate, TagTextarea, TagTfoot, TagTh, TagThead, TagTitle, TagTr, TagTrack, TagUl, TagWbr, TagXmp)
	set(isImplied|isImpliedInTemplate, TagDd, TagDt, TagLi, TagOptgroup, TagOption, TagP, TagRb, TagRp, TagRt, TagRtc)
	set(isImpliedInTemplate, TagCaption, TagColgroup, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr)
	set(isTablePart, TagTable, TagTbody, TagTfoot, TagThead, TagTr)
	set(isFormatting, TagA, TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagNobr, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU)
	set(breaksOut, TagB, TagBig, TagBlockquote, TagBody, TagBr, TagCenter, TagCode, TagDd, TagDiv, TagDl, TagDt, TagEm, TagEmbed, TagH1, TagH2, TagH3, TagH4,
		TagH5, TagH6, TagHead, TagHr, TagI, TagImg, TagLi, TagListing, TagMenu, TagMeta, TagNobr, TagOl, TagP, TagPre, TagRuby, TagS, TagSmall, TagSpan,
		TagStrong, TagStrike, TagSub, TagSup, TagTable, TagTt, TagU, TagUl, TagVar)
	set(scope|scopeButton|scopeItem, TagApplet, TagCaption, TagHTML, TagTable, TagTd, TagTh, TagMarquee, TagObject, TagSelect, TagTemplate)
	set(scopeButton, TagButton)
	set(scopeItem, TagOl, TagUl)
	set(scopeTable, TagHTML, TagTable, TagTemplate)
	set(toTable, TagTable, TagTemplate, TagHTML)
	set(toTableBody, TagTbody, TagTfoot, TagThead, TagTemplate, TagHTML)
	set(toRow, TagTr, TagTemplate, TagHTML)
	set(cells, TagTd, TagTh)
	set(headings, TagH1, TagH2, TagH3, TagH4, TagH5, TagH6)
	set(isRaw, TagStyle, TagScript, TagXmp, TagIframe, TagNoembed, TagNoframes)
}

func (d *Doc) start() {
	b := &d.builder
	*b = builder{stack: b.stack[:0], list: b.list[:0], templates: b.templates[:0], links: b.links[:0], spare: b.spare[:0], path: b.path[:0], buf: b.buf[:0]}
	d.zeros = bytes.IndexByte(d.src, 0) >= 0
	d.Nodes = append(d.Nodes, Node{Tag: TagRoot, Parent: -1})
}

// finish ends the page.
func (d *Doc) finish() {
	d.toBody()
	for len(d.templates) > 0 {
		if d.open[TagTemplate] == 0 {
			break
		}
		d.closeTemplate()
		d.toBody() // it may stand in the head
	}
	if d.linked {
		d.order()
		return
	}
	end := int32(len(d.Nodes))
	for i := d.cur; i >= 0; i = d.Nodes[i].Parent {
		d.Nodes[i].End = end
	}
}

// toBody opens what is missing of html, head and body.
func (d *Doc) toBody() {
	for d.mode < mBody {
		switch d.mode {
		case mInitial:
			d.quirks = true
			d.mode = mBeforeHTML
		case mBeforeHTML:
			d.openHTML(nil)
		case mBeforeHead:
			d.openHead(nil)
		case mHead, mHeadNoscript:
			d.leaveHead()
		case mAfterHead:
			d.insert(TagBody, nil)
			d.mode = mBody
		}
	}
}

// The tree.

// add adds a node as the last child of an element.
func (d *Doc) add(parent int32, n Node) int32 {
	i := int32(len(d.Nodes))
	if !d.linked {
		for d.cur != parent {
			if d.cur == 0 {
				d.chain()
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
		d.attach(i, parent, 0)
	}
	return i
}

// chain links the nodes.
func (d *Doc) chain() {
	d.linked = true
	n := len(d.Nodes)
	if cap(d.links) < n+16 {
		d.links = make([]link, n, n+n/2+64)
	} else {
		d.links = d.links[:n]
		clear(d.links)
	}
	for i := 1; i < n; i++ {
		d.attach(int32(i), d.Nodes[i].Parent, 0)
	}
}

// attach makes a node a child of an element, before another child, or the last one.
func (d *Doc) attach(i, parent, before int32) {
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

// detach takes a node out of the tree.
func (d *Doc) detach(i int32) {
	if !d.linked {
		d.chain()
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

// order puts the linked nodes in document order.
func (d *Doc) order() {
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

// place returns where a node goes that is inserted with target as the current node: before is 0 for the end.
func (d *Doc) place(target int32) (parent, before int32) {
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

// put adds a node at the current place.
func (d *Doc) put(n Node) int32 {
	top := d.stack[len(d.stack)-1]
	if !d.foster {
		return d.add(top, n)
	}
	parent, before := d.place(top)
	if before == 0 {
		return d.add(parent, n)
	}
	if !d.linked {
		d.chain()
	}
	i := int32(len(d.Nodes))
	d.Nodes = append(d.Nodes, n)
	d.links = append(d.links, link{})
	d.attach(i, parent, before)
	return i
}

// The stack.

func (d *Doc) top() *Node { return &d.Nodes[d.stack[len(d.stack)-1]] }

func (d *Doc) push(i int32) {
	n := &d.Nodes[i]
	n.Flags |= flagOpen
	d.count(n, 1)
	d.stack = append(d.stack, i)
}

func (d *Doc) count(n *Node, by int32) {
	if n.Flags&flagForeign != 0 {
		d.foreign += by
	} else {
		d.open[n.Tag] += by
	}
}

// pop closes the current node, never html.
func (d *Doc) pop() {
	if len(d.stack) <= 1 {
		return
	}
	n := d.top()
	n.Flags &^= flagOpen
	d.count(n, -1)
	d.stack = d.stack[:len(d.stack)-1]
}

// popTo closes the open elements down to stack[k], and that.
func (d *Doc) popTo(k int) {
	for len(d.stack) > max(k, 1) {
		d.pop()
	}
}

// remove takes stack[k] from the stack.
func (d *Doc) remove(k int) {
	n := &d.Nodes[d.stack[k]]
	n.Flags &^= flagOpen
	d.count(n, -1)
	d.stack = append(d.stack[:k], d.stack[k+1:]...)
}

// popUntil closes the open elements down to the nearest with this tag, and that. It must be open.
func (d *Doc) popUntil(t Tag) {
	for len(d.stack) > 1 {
		n := d.top()
		is := n.Tag == t && n.Flags&flagForeign == 0
		d.pop()
		if is {
			return
		}
	}
}

// clearTo closes the open elements above the nearest one with a property.
func (d *Doc) clearTo(bit uint16) {
	for len(d.stack) > 1 {
		if n := d.top(); n.Flags&flagForeign == 0 && build[n.Tag]&bit != 0 {
			return
		}
		d.pop()
	}
}

// is reports whether the current node is this element.
func (d *Doc) is(t Tag) bool {
	n := d.top()
	return n.Tag == t && n.Flags&flagForeign == 0
}

// inScope reports whether an element is open in a scope.
func (d *Doc) inScope(t Tag, s uint16) bool { return d.open[t] > 0 && d.find(t, s) >= 0 }

// find returns the place on the stack of the nearest open element in a scope; -1: there is none.
func (d *Doc) find(t Tag, s uint16) int {
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

// implied closes the elements at the top whose end tags may be missing.
func (d *Doc) implied(but Tag) {
	for len(d.stack) > 1 {
		n := d.top()
		if n.Flags&flagForeign != 0 || build[n.Tag]&isImplied == 0 || n.Tag == but {
			return
		}
		d.pop()
	}
}

// closeP closes an open paragraph.
func (d *Doc) closeP() {
	if d.open[TagP] > 0 && d.find(TagP, scopeButton) >= 0 {
		d.implied(TagP)
		d.popUntil(TagP)
	}
}

// insert opens an element.
func (d *Doc) insert(tag Tag, t *token) int32 {
	if len(d.stack) >= maxDepth {
		d.pop()
	}
	i := d.put(d.node(tag, t))
	d.push(i)
	return i
}

func (d *Doc) node(tag Tag, t *token) Node {
	n := Node{Tag: tag}
	if t != nil && t.start != 0 {
		n.A, n.B, n.name = t.a, t.b, t.start
	}
	return n
}

// void adds an element without content.
func (d *Doc) void(t *token) { d.put(d.node(t.tag, t)) }

// raw adds an element whose content is text. A line feed at its begin is left out.
func (d *Doc) raw(t *token, lineFeed bool) {
	pos := d.pos
	end, next, found := d.rawEnd(t.tag, pos)
	if !found && !d.Strict && t.tag != TagScript && t.tag != TagStyle && t.tag != TagXmp {
		end, next = pos, pos
	}
	i := d.insert(t.tag, t)
	d.pos = next
	if lineFeed && pos < end && d.src[pos] == '\n' {
		pos++
	}
	if pos < end {
		rcdata := t.tag == TagTitle || t.tag == TagTextarea
		d.put(d.textNode(pos, end, !rcdata, true))
	}
	if d.stack[len(d.stack)-1] == i {
		d.pop()
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

// The list of formatting elements.

// format opens a formatting element and lists it.
func (d *Doc) format(t *token) {
	i := d.insert(t.tag, t)
	// no more than three alike
	same, oldest := 0, -1
	for k := len(d.list) - 1; k >= 0 && d.list[k] >= 0; k-- {
		if x := &d.Nodes[d.list[k]]; x.Tag == t.tag && d.alike(x, &d.Nodes[i]) {
			same++
			oldest = k
		}
	}
	if same >= 3 {
		d.unlist(oldest)
	}
	if len(d.list) >= maxList {
		if d.list[0] >= 0 {
			d.unlist(0)
		} else {
			return
		}
	}
	d.Nodes[i].Flags |= flagListed
	d.list = append(d.list, i)
}

// alike reports whether two elements have the same attributes.
func (d *Doc) alike(x, y *Node) bool {
	if x.name == y.name {
		return true
	}
	src := d.src
	count := func(n *Node) (k int) {
		for p := int(n.name) + len(d.Name(n)); ; k++ {
			name, _, _, next, _ := attribute(src, p)
			if name == nil || next < 0 {
				return k
			}
			p = next
		}
	}
	// mostly they are written alike
	a, b := int(x.name), int(y.name)
	for a < len(src) && b < len(src) && src[a] == src[b] && src[a] != '>' && src[a] != '"' && src[a] != '\'' {
		a++
		b++
	}
	if a < len(src) && b < len(src) && src[a] == '>' && src[b] == '>' {
		return true
	}
	if count(x) != count(y) {
		return false
	}
	for p := int(x.name) + len(d.Name(x)); ; {
		name, va, vb, next, _ := attribute(src, p)
		if name == nil || next < 0 {
			return true
		}
		p = next
		wa, wb, ok := d.rawAttr(y, name)
		if !ok || !bytes.Equal(src[va:vb], src[wa:wb]) {
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
		name, a, b, next, _ := attribute(d.src, p)
		if name == nil || next < 0 {
			return 0, 0, false
		}
		if bytes.EqualFold(name, key) {
			return a, b, true
		}
		p = next
	}
}

// unlist takes list[k] from the list.
func (d *Doc) unlist(k int) {
	if d.list[k] >= 0 {
		d.Nodes[d.list[k]].Flags &^= flagListed
	}
	d.list = append(d.list[:k], d.list[k+1:]...)
}

func (d *Doc) marker() { d.list = append(d.list, -1) }

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

// reopen opens formatting elements again.
func (d *Doc) reopen() {
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
		n := Node{Tag: old.Tag, Flags: flagListed, A: old.A, B: old.B, name: old.name}
		if len(d.stack) >= maxDepth {
			d.pop()
		}
		i := d.put(n)
		d.push(i)
		d.list[k] = i
	}
}

// adopt ends a formatting element: the adoption agency.
func (d *Doc) adopt(t *token) {
	tag := t.tag
	if n := d.top(); n.Tag == tag && n.Flags&(flagListed|flagForeign) == 0 {
		d.pop()
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
			d.unlist(f)
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
			d.unlist(f)
			return
		}
		if !d.linked {
			d.chain()
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
				p := d.listed(i)
				d.unlist(p)
				if p < bookmark {
					bookmark--
				}
			}
			if d.Nodes[i].Flags&flagListed == 0 {
				d.remove(k)
				block--
				continue
			}
			p := d.listed(i)
			i = d.clone(i)
			d.list[p] = i
			d.stack[k] = i
			if last == furthest {
				bookmark = p + 1
			}
			d.detach(last)
			d.attach(last, i, 0)
			last = i
		}
		d.detach(last)
		parent, before := d.place(ancestor)
		if parent == last { // cannot be
			parent, before = ancestor, 0
		}
		d.attach(last, parent, before)
		x := d.Nodes[element]
		i := int32(len(d.Nodes))
		d.Nodes = append(d.Nodes, Node{Tag: x.Tag, Parent: -1, A: x.A, B: x.B, name: x.name, Flags: flagListed | flagOpen})
		d.links = append(d.links, link{})
		d.clones++
		d.moveChildren(furthest, i)
		d.attach(i, furthest, 0)
		// in the list
		d.Nodes[element].Flags &^= flagListed
		f = d.listed(element)
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

// clone makes a copy of an open and listed formatting element, in its place.
func (d *Doc) clone(i int32) int32 {
	old := &d.Nodes[i]
	n := Node{Tag: old.Tag, Flags: flagOpen | flagListed, Parent: -1, A: old.A, B: old.B, name: old.name}
	old.Flags &^= flagOpen | flagListed
	d.Nodes = append(d.Nodes, n)
	d.links = append(d.links, link{})
	d.clones++
	return int32(len(d.Nodes) - 1)
}

// listed returns the place of a node in the list.
func (d *Doc) listed(i int32) int {
	for k := len(d.list) - 1; k >= 0; k-- {
		if d.list[k] == i {
			return k
		}
	}
	return -1
}

// otherEnd closes the nearest element with this name, if there is none between that cannot be closed so.
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
				d.implied(t.tag)
			} else {
				d.implied(TagRoot)
			}
			d.popTo(k)
			return
		}
		if build[n.Tag]&isSpecial != 0 {
			return
		}
	}
}

// reset finds the mode for the open elements.
func (d *Doc) reset() {
	for k := len(d.stack) - 1; k >= 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign != 0 {
			continue
		}
		switch n.Tag {
		case TagTd, TagTh:
			d.mode = mCell
		case TagTr:
			d.mode = mRow
		case TagTbody, TagThead, TagTfoot:
			d.mode = mTableBody
		case TagCaption:
			d.mode = mCaption
		case TagColgroup:
			d.mode = mColgroup
		case TagTable:
			d.mode = mTable
		case TagTemplate:
			if len(d.templates) == 0 {
				continue
			}
			d.mode = d.templates[len(d.templates)-1]
		case TagHead:
			d.mode = mHead
		case TagBody:
			d.mode = mBody
		case TagFrameset:
			d.mode = mFrameset
		case TagHTML:
			if d.head == 0 {
				d.mode = mBeforeHead
			} else {
				d.mode = mAfterHead
			}
		default:
			continue
		}
		return
	}
	d.mode = mBody
}

func (d *Doc) openHTML(t *token) {
	i := d.add(0, d.node(TagHTML, t))
	d.push(i)
	d.mode = mBeforeHead
}

func (d *Doc) openHead(t *token) {
	d.head = d.insert(TagHead, t)
	d.mode = mHead
}

// leaveHead closes noscript and head.
func (d *Doc) leaveHead() {
	if d.mode == mHeadNoscript {
		d.pop()
		d.mode = mHead
		return
	}
	d.pop()
	d.mode = mAfterHead
}

func (d *Doc) openTemplate(t *token) {
	d.insert(TagTemplate, t)
	d.marker()
	d.noFrames = true
	d.mode = mTemplate
	d.templates = append(d.templates, mTemplate)
}

func (d *Doc) closeTemplate() {
	if d.open[TagTemplate] == 0 {
		return
	}
	d.popUntil(TagTemplate)
	d.clearList()
	if len(d.templates) > 0 {
		d.templates = d.templates[:len(d.templates)-1]
	}
	d.reset()
}

// inForeign reports whether the current node is in SVG or MathML.
func (d *Doc) inForeign() bool {
	return d.foreign > 0 && len(d.stack) > 0 && d.top().Flags&flagForeign != 0
}

// doctype reads what stands behind <!doctype.
func (d *Doc) doctype(s []byte, closed bool) {
	if d.mode != mInitial {
		return
	}
	d.mode = mBeforeHTML
	d.quirks = !closed || quirky(s)
}
