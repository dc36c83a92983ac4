package outline

import (
	"bytes"

	"hce/dc/internal/web/htmltree"
)

// reader is the walk over the nodes of a page that finds its lines.
type reader struct {
	*Outline
	top         frame
	ended       bool // the next text begins a line
	newLink     bool // no text of the link has been read
	linkEnd     int32
	boldEnd     int32
	inlineEnd   int32
	inlineHints Hints
}

// leastText is the most bytes of visible text of a page whose content may be in noscript.
const leastText = 200

// Read finds the lines and boxes of a page. Copies of the page in noscript are skipped, unless the page has almost no
// other text. Read marks hidden elements, so that all later walks skip them.
func (o *Outline) Read(d *htmltree.Doc) {
	o.Doc = d
	o.readNoscript = false
	o.walkNodes()
	if o.Boxes[0].Text < leastText && o.noscriptBytes() > o.Boxes[0].Text {
		o.readNoscript = true
		o.walkNodes()
	}
}

// Noframes returns the content of noframes of a page without lines, or nil: a page of frames has its text there.
func (o *Outline) Noframes() []byte {
	if len(o.Lines) > 0 {
		return nil
	}
	for i := range o.Doc.Nodes {
		if n := &o.Doc.Nodes[i]; n.Tag == htmltree.TagNoframes && int32(i)+1 < n.End {
			return o.Doc.Text(&o.Doc.Nodes[i+1])
		}
	}
	return nil
}

// noscriptBytes returns the bytes of text in noscript elements.
func (o *Outline) noscriptBytes() (n int32) {
	nodes := o.Doc.Nodes
	for i := 0; i < len(nodes); i++ {
		if nodes[i].Tag != htmltree.TagNoscript {
			continue
		}
		for end := int(nodes[i].End); i+1 < end; i++ {
			if x := &nodes[i+1]; x.Tag == htmltree.TagText && x.Flags&htmltree.FlagBlank == 0 {
				n += x.B - x.A
			}
		}
	}
	return n
}

// resetPage forgets the page before.
func (o *Outline) resetPage() {
	o.Lines, o.Boxes, o.frames, o.Names = o.Lines[:0], o.Boxes[:0], o.frames[:0], o.Names[:0]
	o.Title, o.katex, o.gutterEnd = -1, -1, -1
	o.controls = nil
	if o.hints == nil {
		o.hints, o.Dups, o.kins = map[string]Hints{}, map[uint32]int32{}, map[uint32]int32{}
	}
	clear(o.hints)
	clear(o.Dups)
	clear(o.kins)
	o.Kins = append(o.Kins[:0], Kin{})
	words := len(o.Doc.Nodes)/64 + 1
	if cap(o.skipped) < words {
		o.skipped = make([]uint64, words)
	}
	o.skipped = o.skipped[:words]
	clear(o.skipped)
}

// walkNodes reads the nodes.
func (o *Outline) walkNodes() {
	o.resetPage()
	nodes := o.Doc.Nodes
	root := box{Node: 0, Parent: -1, Tag: htmltree.TagRoot}
	for k := range root.Near {
		root.Near[k] = 255
	}
	o.Boxes = append(o.Boxes, root)
	o.frames = append(o.frames, frame{end: nodes[0].End})
	r := reader{Outline: o, top: o.frames[0], ended: true}
	for i := int32(1); i < int32(len(nodes)); {
		for i >= r.top.end {
			r.closeBox()
		}
		i = r.readNode(i)
	}
	for _, f := range o.frames {
		o.Boxes[f.box].End = int32(len(o.Lines))
	}
	o.Boxes[0].End = int32(len(o.Lines))
	o.sumBoxes()
}

func (r *reader) closeBox() {
	r.Boxes[r.top.box].End = int32(len(r.Lines))
	r.ended = true
	r.frames = r.frames[:len(r.frames)-1]
	r.top = r.frames[len(r.frames)-1]
}

// readNode reads a node and returns the next one.
func (r *reader) readNode(i int32) int32 {
	n := &r.Doc.Nodes[i]
	switch n.Tag {
	case htmltree.TagText:
		if n.Flags&htmltree.FlagBlank == 0 {
			r.addLineText(i, r.Doc.Text(n))
		}
		return i + 1
	case htmltree.TagEnd:
		if htmltree.Tag(n.A) == htmltree.TagA && i < r.linkEnd {
			r.linkEnd = i
		}
		return i + 1
	case htmltree.TagHTML, htmltree.TagBody:
		return i + 1
	case htmltree.TagBr:
		if r.top.kind != KindListing {
			r.ended = true
		}
		return i + 1
	}
	if n.Tag.IsSilent() && !(n.Tag == htmltree.TagNoscript && r.readNoscript) {
		if n.Tag == htmltree.TagMath || n.Tag == htmltree.TagScript {
			r.addFormula(i)
		}
		r.hideElement(i)
		return n.End
	}
	return r.readElement(i, n)
}

// readElement reads an element that may be visible.
func (r *reader) readElement(i int32, n *htmltree.Node) int32 {
	var h Hints
	var in uint32
	if n.A < n.B {
		var hidden bool
		if h, in, hidden = r.Look(n); hidden || h&marks != 0 && r.isDecoration(i, n, h) {
			r.hideElement(i)
			return n.End
		}
	}
	if r.isHeadingMark(i, n) {
		r.hideElement(i)
		return n.End
	}
	if h&(1<<HintAuthor|1<<HintDate) != 0 && len(r.Names) < 200 {
		r.Names = append(r.Names, i)
	}
	if n.Tag.IsInline() || n.Tag == htmltree.TagOther && r.isInline(i, n) {
		r.readInline(i, n, h)
	} else {
		r.readBox(i, n, h, in)
	}
	return i + 1
}

// addLineText adds a text to the line, or begins one.
func (r *reader) addLineText(i int32, s []byte) {
	if r.ended {
		b := Line{First: i, Box: r.top.box, Kind: r.top.kind}
		if i < r.inlineEnd {
			b.Inline = r.inlineHints
		}
		r.Lines = append(r.Lines, b)
		r.ended = false
	}
	r.addText(i, s, i < r.linkEnd, i < r.boldEnd)
	if r.newLink && i < r.linkEnd {
		r.Lines[len(r.Lines)-1].Links++
		r.newLink = false
	}
}

// addFormula adds the text of a formula.
func (r *reader) addFormula(i int32) {
	if f := r.Formula(i); len(f.Text) > 0 {
		r.addLineText(i, f.Text)
	}
}

// readInline reads an element that is part of a line.
func (r *reader) readInline(i int32, n *htmltree.Node, h Hints) {
	switch n.Tag {
	case htmltree.TagA:
		if href := r.Doc.Attr(n, htmltree.KeyHref); len(href) > 0 && !(href[0] == '#' && r.top.kind == KindHeading) { // a heading may link to itself
			r.linkEnd, r.newLink = n.End, true
		}
	case htmltree.TagB, htmltree.TagStrong:
		r.boldEnd = max(r.boldEnd, n.End)
	case htmltree.TagButton:
		h |= 1 << HintForm
	case htmltree.TagImg:
		r.addFormula(i)
	}
	if h &^= marks; h == 0 {
		return
	}
	if i >= r.inlineEnd {
		r.inlineHints = 0
	}
	r.inlineHints |= h
	r.inlineEnd = n.End
}

// readBox reads an element that is not inline.
func (r *reader) readBox(i int32, n *htmltree.Node, h Hints, in uint32) {
	r.ended = true
	if n.Tag.IsHeading() {
		h &= 1<<HintHidden | 1<<hintTitle // its other names are those of a framework
	}
	if n.End == i+1 { // nothing inside
		return
	}
	if h&markListing != 0 && !r.hasCodeLines(i, n) {
		h &^= markListing
	}
	parent := &r.Boxes[r.top.box]
	b := box{Node: i, Parent: r.top.box, Start: int32(len(r.Lines)), Tag: n.Tag, hints: h, Depth: parent.Depth + 1, In: parent.In | in | tagIn[n.Tag]}
	if parent.Depth == 255 {
		b.Depth = 255
	}
	b.Near = nearOf(&parent.Near, h)
	b.sig = sigOf(n.Tag, r.Doc.Attr(n, htmltree.KeyClass)) + parent.sig*16777619
	b.Kin = r.kinOf(b.sig)
	parent.Children++
	r.Boxes = append(r.Boxes, b)
	r.top = frame{end: n.End, box: int32(len(r.Boxes) - 1), kind: kindIn(r.top.kind, n.Tag, h)}
	r.frames = append(r.frames, r.top)
}

// nearOf returns the distances of a box from those of its parent.
func nearOf(parent *[HintCount]uint8, h Hints) [HintCount]uint8 {
	near := *parent
	for k := range near {
		if near[k] < 254 {
			near[k]++
		}
	}
	for x, k := h&(1<<HintCount-1), 0; x != 0; x, k = x>>1, k+1 {
		if x&1 != 0 {
			near[k] = 0
		}
	}
	return near
}

// kindIn returns the kind of the lines in a box. kind is that of the lines around it.
func kindIn(kind uint8, tag htmltree.Tag, h Hints) uint8 {
	if h&markListing != 0 {
		return KindListing
	}
	if k := tagKind[tag]; k != 0 && kind != kindCaption && kind != KindListing && (k != KindParagraph || kind == KindPlain) {
		kind = k
	}
	if tag.IsHeading() {
		kind = KindHeading
	}
	if h&markPara != 0 && kind == KindPlain {
		kind = KindParagraph
	}
	return kind
}

// kinOf returns the number of a signature.
func (o *Outline) kinOf(sig uint32) int32 {
	kin, known := o.kins[sig]
	if !known {
		kin = int32(len(o.Kins))
		o.kins[sig] = kin
		o.Kins = append(o.Kins, Kin{})
	}
	return kin
}

func sigOf(t htmltree.Tag, class []byte) uint32 {
	h := uint32(2166136261) ^ uint32(t)
	h *= 16777619
	for _, c := range class {
		if c >= '0' && c <= '9' {
			continue // post-1, post-2
		}
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}

// isInline reports whether an unknown element is part of a line: a text is next to it, or it is part of a formula of
// MathJax.
func (o *Outline) isInline(i int32, n *htmltree.Node) bool {
	nodes := o.Doc.Nodes
	if name := o.Doc.Name(n); len(name) > 4 && bytes.EqualFold(name[:4], []byte("mjx-")) {
		return true
	}
	if p := &nodes[i-1]; p.Tag == htmltree.TagText && p.Flags&htmltree.FlagBlank == 0 && p.Parent == n.Parent {
		return true
	}
	if int(n.End) < len(nodes) {
		if x := &nodes[n.End]; x.Tag == htmltree.TagText && x.Flags&htmltree.FlagBlank == 0 && x.Parent == n.Parent {
			return true
		}
	}
	return false
}
