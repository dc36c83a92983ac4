package outline

import (
	"bytes"
	"unicode/utf8"

	"hce/dc/internal/web/htmltree"
)

// Kinds of blocks: what the elements around a line say about it.
const (
	KindPlain = iota
	KindParagraph
	KindHeading
	KindItem
	kindCell
	KindListing
	kindCaption
	kindTerm // dt and dd
)

var tagKind [htmltree.TagCount]uint8

func init() {
	for _, t := range []htmltree.Tag{htmltree.TagP, htmltree.TagBlockquote} {
		tagKind[t] = KindParagraph
	}
	for _, t := range []htmltree.Tag{htmltree.TagH1, htmltree.TagH2, htmltree.TagH3, htmltree.TagH4, htmltree.TagH5, htmltree.TagH6, htmltree.TagSummary} {
		tagKind[t] = KindHeading
	}
	tagKind[htmltree.TagLi] = KindItem
	tagKind[htmltree.TagDd], tagKind[htmltree.TagDt] = kindTerm, kindTerm
	tagKind[htmltree.TagTd], tagKind[htmltree.TagTh] = kindCell, kindCell
	tagKind[htmltree.TagPre], tagKind[htmltree.TagListing], tagKind[htmltree.TagXmp], tagKind[htmltree.TagPlaintext] = KindListing, KindListing, KindListing, KindListing
	tagKind[htmltree.TagFigcaption], tagKind[htmltree.TagCaption] = kindCaption, kindCaption
}

// Elements around a block, as bits.
const (
	InArticle = 1 << iota
	InMain
	InSection
	InHeader
	InFooter
	InNav
	InAside
	InForm
	InFigure
	InTable
	InList
	InQuote
	InButton
	inLabel
	InAddress
	InDetails
	InBodyProp // itemprop=articleBody
	InAriaHidden
	inDialog
)

var tagIn [htmltree.TagCount]uint32

func init() {
	for t, b := range map[htmltree.Tag]uint32{htmltree.TagArticle: InArticle, htmltree.TagMain: InMain, htmltree.TagSection: InSection, htmltree.TagHeader: InHeader, htmltree.TagFooter: InFooter, htmltree.TagNav: InNav,
		htmltree.TagAside: InAside, htmltree.TagForm: InForm, htmltree.TagFieldset: InForm, htmltree.TagFigure: InFigure, htmltree.TagFigcaption: InFigure, htmltree.TagTable: InTable, htmltree.TagUl: InList, htmltree.TagOl: InList, htmltree.TagBlockquote: InQuote,
		htmltree.TagButton: InButton, htmltree.TagLabel: inLabel, htmltree.TagAddress: InAddress, htmltree.TagDetails: InDetails, htmltree.TagDialog: inDialog, htmltree.TagMenu: InNav, htmltree.TagDir: InList} {
		tagIn[t] = b
	}
}

// block is one line of text.
type Line struct {
	First, Last int32 // its texts are among these nodes
	Box         int32 // the nearest element that is not inline
	Kind        uint8
	level       uint8 // of a heading
	Inline      Hints // of inline elements around its first text
	Size        int32 // bytes, without blanks at the ends of its texts
	Linked      int32 // bytes in links
	Bold        int32 // bytes in b and strong
	Chars       int32
	Words       int32
	Commas      int32
	Stops       int32 // ends of sentences
	Digits      int32
	Uppers      int32
	Symbols     int32 // as in program code
	Links       int32
	end         rune // the last character
	Start       byte // the first byte
	Hash        uint32
	Title       bool // like the title of the page
	Money       bool
	Says        uint32
	Above       int32 // the heading before it; -1: none
}

// box is an element that is not inline. Its blocks are blocks[start:end].
type box struct {
	Node, Parent int32
	Start, End   int32
	In           uint32
	hints        Hints
	Near         [HintCount]uint8 // boxes up to one with the hint; 255: none
	Tag          htmltree.Tag
	Depth        uint8
	sig          uint32
	Kin          int32 // number of its signature
	Text         int32
	Linked       int32
	Prose        int32
	Pprose       int32 // prose in p elements
	stops        int32
	Children     int32
	Score        float32
}

// outline is the visible text of a page as blocks.
type Outline struct {
	Doc   *htmltree.Doc
	Lines []Line
	Boxes []box
	Title int32 // block with the title; -1: none

	hints map[string]Hints
	Names []int32 // inline and other elements that may name an author
	Sums  []int32

	frames  []frame
	scratch [64]byte
	lowered []byte
	Dups    map[uint32]int32
	kins    map[uint32]int32
	Kins    []Kin // by box.kin
}

// sigStat sums up the boxes of one signature: the same names of elements and classes, up to the root.
type Kin struct {
	Blocks, Text int32 // right in them
	Boxes        int32
	Size, Linked int32 // bytes in them
	Heads        int32 // boxes that begin with a heading or a link
}

type frame struct {
	end  int32
	box  int32
	kind uint8
}

// hidden reports whether an element is not displayed, and what its class and id say.
func (o *Outline) Look(n *htmltree.Node) (h Hints, in uint32, hidden bool) {
	sectioned := n.Tag == htmltree.TagSection // a section without a class of its own
	for i := n.A; i < n.B; i++ {
		if o.Doc.Attrs[i].Key == htmltree.KeyClass && n.Tag == htmltree.TagSection {
			sectioned = false
		}
	}
	for i := n.A; i < n.B; i++ {
		a := &o.Doc.Attrs[i]
		switch a.Key {
		case htmltree.KeyHidden:
			if !bytes.Equal(o.Doc.Value(a), []byte("until-found")) {
				return 0, 0, true
			}
		case htmltree.KeyStyle:
			v := o.Doc.Value(a)
			if j := bytes.Index(v, []byte("display")); j >= 0 {
				v = bytes.TrimLeft(v[j+7:], " :")
				if bytes.HasPrefix(v, []byte("none")) {
					return 0, 0, true
				}
			}
		case htmltree.KeyClass, htmltree.KeyID:
			v := o.Doc.Value(a)
			if a.Key == htmltree.KeyID && (n.Tag.IsHeading() || n.Tag == htmltree.TagDt || sectioned && (n.Tag == htmltree.TagSection || n.Tag == htmltree.TagDiv)) {
				continue // made of the text of a heading
			}
			if a.Key == htmltree.KeyClass {
				sectioned = n.Tag == htmltree.TagDiv && htmltree.String(v) == "section"
			}
			x, known := o.hints[htmltree.String(v)]
			if !known {
				x = hintsOf(v, &o.scratch)
				o.hints[htmltree.String(v)] = x
			}
			if x&unseen != 0 && a.Key == htmltree.KeyClass {
				return 0, 0, true
			}
			h |= x &^ unseen
		case htmltree.KeyRole:
			if k, ok := hintRoles[htmltree.String(o.Doc.Value(a))]; ok {
				h |= 1 << k
			}
		case htmltree.KeyItemprop:
			switch v := htmltree.String(o.Doc.Value(a)); v {
			case "articleBody", "text":
				in |= InBodyProp
				h |= 1 << HintBody
			case "author":
				h |= 1 << HintAuthor
			case "datePublished", "dateModified":
				h |= 1 << HintDate
			case "headline", "name":
				h |= 1 << hintTitle
			}
		case htmltree.KeyRel:
			if bytes.Equal(o.Doc.Value(a), []byte("author")) {
				h |= 1 << HintAuthor
			}
		case htmltree.KeyAriaHidden:
			if bytes.Equal(o.Doc.Value(a), []byte("true")) {
				in |= InAriaHidden
			}
		}
	}
	return h, in, false
}

// read finds the blocks of a page.
func (o *Outline) Read(d *htmltree.Doc) {
	o.Doc = d
	o.Lines, o.Boxes, o.frames, o.Names = o.Lines[:0], o.Boxes[:0], o.frames[:0], o.Names[:0]
	o.Title = -1
	if o.hints == nil {
		o.hints, o.Dups, o.kins = map[string]Hints{}, map[uint32]int32{}, map[uint32]int32{}
	}
	clear(o.hints)
	clear(o.Dups)
	clear(o.kins)
	o.Kins = append(o.Kins[:0], Kin{})
	nodes := d.Nodes
	root := box{Node: 0, Parent: -1, Tag: htmltree.TagRoot}
	for k := range root.Near {
		root.Near[k] = 255
	}
	o.Boxes = append(o.Boxes, root)
	o.frames = append(o.frames, frame{end: nodes[0].End})
	top := o.frames[0]
	ended := true
	linkEnd, boldEnd, inlineEnd := int32(0), int32(0), int32(0)
	var inlineHints Hints
	newLink := false
	for i := int32(1); i < int32(len(nodes)); {
		for i >= top.end {
			b := &o.Boxes[top.box]
			b.End = int32(len(o.Lines))
			ended = true
			o.frames = o.frames[:len(o.frames)-1]
			top = o.frames[len(o.frames)-1]
		}
		n := &nodes[i]
		switch n.Tag {
		case htmltree.TagText:
			if n.Flags&htmltree.FlagBlank != 0 {
				i++
				continue
			}
			if ended {
				b := Line{First: i, Box: top.box, Kind: top.kind}
				if i < inlineEnd {
					b.Inline = inlineHints
				}
				o.Lines = append(o.Lines, b)
				ended = false
			}
			o.addText(i, d.Text(n), i < linkEnd, i < boldEnd)
			if newLink && i < linkEnd {
				o.Lines[len(o.Lines)-1].Links++
				newLink = false
			}
			i++
			continue
		case htmltree.TagEnd:
			if htmltree.Tag(n.A) == htmltree.TagA && i < linkEnd {
				linkEnd = i
			}
			i++
			continue
		case htmltree.TagHTML, htmltree.TagBody, htmltree.TagNoscript:
			if n.Tag == htmltree.TagNoscript {
				i = n.End
				continue
			}
			i++
			continue
		case htmltree.TagBr:
			if top.kind != KindListing {
				ended = true
			}
			i++
			continue
		}
		if n.Tag.IsSilent() {
			if n.Tag == htmltree.TagMath {
				if t := o.MathText(n); len(t) > 0 {
					if ended {
						o.Lines = append(o.Lines, Line{First: i, Box: top.box, Kind: top.kind})
						ended = false
					}
					o.addText(i, t, i < linkEnd, i < boldEnd)
				}
			}
			i = n.End
			continue
		}
		var h Hints
		var in uint32
		if n.A < n.B {
			var hidden bool
			if h, in, hidden = o.Look(n); hidden {
				i = n.End
				continue
			}
		}
		if h&(1<<HintAuthor|1<<HintDate) != 0 && len(o.Names) < 200 {
			o.Names = append(o.Names, i)
		}
		if n.Tag.IsInline() || n.Tag == htmltree.TagOther && o.flows(i, n) {
			switch n.Tag {
			case htmltree.TagA:
				if href := d.Attr(n, htmltree.KeyHref); len(href) > 0 && !(href[0] == '#' && top.kind == KindHeading) { // a heading may link to itself
					linkEnd, newLink = n.End, true
				}
			case htmltree.TagB, htmltree.TagStrong:
				boldEnd = max(boldEnd, n.End)
			case htmltree.TagButton:
				h |= 1 << HintForm
			}
			if h != 0 {
				if i >= inlineEnd {
					inlineHints = 0
				}
				inlineHints |= h
				inlineEnd = n.End
			}
			i++
			continue
		}
		// a box
		ended = true
		if n.Tag.IsHeading() {
			h &= 1<<HintHidden | 1<<hintTitle // its other names are those of a framework
		}
		if n.End == i+1 { // nothing inside
			i++
			continue
		}
		parent := &o.Boxes[top.box]
		b := box{Node: i, Parent: top.box, Start: int32(len(o.Lines)), Tag: n.Tag, hints: h, Depth: parent.Depth + 1, In: parent.In | in | tagIn[n.Tag]}
		if parent.Depth == 255 {
			b.Depth = 255
		}
		b.Near = parent.Near
		for k := range b.Near {
			if b.Near[k] < 254 {
				b.Near[k]++
			}
		}
		for x, k := h&(1<<HintCount-1), 0; x != 0; x, k = x>>1, k+1 {
			if x&1 != 0 {
				b.Near[k] = 0
			}
		}
		b.sig = sigOf(n.Tag, d.Attr(n, htmltree.KeyClass)) + parent.sig*16777619
		kin, known := o.kins[b.sig]
		if !known {
			kin = int32(len(o.Kins))
			o.kins[b.sig] = kin
			o.Kins = append(o.Kins, Kin{})
		}
		b.Kin = kin
		parent.Children++
		kind := top.kind
		if k := tagKind[n.Tag]; k != 0 && kind != kindCaption && kind != KindListing && (k != KindParagraph || kind == KindPlain) {
			kind = k
		}
		if n.Tag.IsHeading() {
			kind = KindHeading
		}
		if h&markPara != 0 && kind == KindPlain {
			kind = KindParagraph
		}
		o.Boxes = append(o.Boxes, b)
		top = frame{end: n.End, box: int32(len(o.Boxes) - 1), kind: kind}
		o.frames = append(o.frames, top)
		i++
	}
	for _, f := range o.frames {
		o.Boxes[f.box].End = int32(len(o.Lines))
	}
	o.Boxes[0].End = int32(len(o.Lines))
	o.aggregate()
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

// flows reports whether an unknown element is part of a line: text stands next to it.
func (o *Outline) flows(i int32, n *htmltree.Node) bool {
	nodes := o.Doc.Nodes
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

// classes of bytes
const (
	Blank = 1 << iota
	cDigit
	cUpper
	cComma
	cStop
	Multibyte
	cMoney
	cSymbol
)

var ClassOf [256]uint8

func init() {
	for c := range 256 {
		switch {
		case c <= ' ':
			ClassOf[c] = Blank
		case c >= '0' && c <= '9':
			ClassOf[c] = cDigit
		case c >= 'A' && c <= 'Z':
			ClassOf[c] = cUpper
		case c == '$':
			ClassOf[c] = cMoney
		case c == ',' || c == ';':
			ClassOf[c] = cComma
		case c == '.' || c == '!' || c == '?':
			ClassOf[c] = cStop
		case c == '(' || c == ')' || c == '{' || c == '}' || c == '[' || c == ']' || c == '<' || c == '>' || c == '=' || c == '_' || c == '*' || c == '&' || c == '|' || c == '\\' || c == '#' || c == '~' || c == '^':
			ClassOf[c] = cSymbol
		case c >= 0xC2:
			ClassOf[c] = Multibyte
		}
	}
}

// blankAt returns the bytes of the blank at s[i], a byte of class cMulti; 0: it is none.
func BlankAt(s []byte, i int) int {
	switch s[i] {
	case 0xC2:
		if i+1 < len(s) && s[i+1] == 0xA0 {
			return 2
		}
	case 0xE2:
		if i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0xA8 || s[i+2] == 0xA9) {
			return 3
		}
	case 0xEF:
		if i+2 < len(s) && s[i+1] == 0xBB && s[i+2] == 0xBF {
			return 3
		}
	}
	return 0
}

// addText adds a text to the last block.
func (o *Outline) addText(i int32, s []byte, link, bold bool) {
	b := &o.Lines[len(o.Lines)-1]
	b.Last = i
	from, to := -1, 0
	h := b.Hash
	words, chars, commas, stops, digits, uppers := b.Words, b.Chars, b.Commas, b.Stops, b.Digits, b.Uppers
	blank := true
	for j := 0; j < len(s); {
		c := s[j]
		k := ClassOf[c]
		if k == 0 {
			if blank {
				words++
				blank = false
				if from < 0 {
					from = j
				}
			}
			h = (h ^ uint32(c)) * 16777619
			if c < 0x80 || c >= 0xC0 {
				chars++
			}
			j++
			to = j
			continue
		}
		if k == Blank {
			blank = true
			j++
			continue
		}
		w := 1
		if k == Multibyte {
			if w = BlankAt(s, j); w > 0 {
				blank = true
				j += w
				continue
			}
			w = 1
			switch {
			case c >= 0xF0:
				w = min(4, len(s)-j)
			case c >= 0xE0:
				w = min(3, len(s)-j)
				if c >= 0xE3 && c <= 0xED && w == 3 { // Chinese, Japanese, Korean
					if c == 0xE3 && s[j+1] == 0x80 && (s[j+2] == 0x82 || s[j+2] == 0x81) {
						if s[j+2] == 0x82 {
							stops++
						} else {
							commas++
						}
					} else if !blank {
						words += int32(j) & 1 // two characters count as one word
					}
				} else if c == 0xEF && w == 3 && s[j+1] == 0xBC {
					switch s[j+2] {
					case 0x8C:
						commas++
					case 0x81, 0x9F:
						stops++
					}
				}
			default:
				w = min(2, len(s)-j)
			}
		}
		if blank {
			words++
			blank = false
			if from < 0 {
				from = j
			}
		}
		chars++
		switch k {
		case cDigit:
			digits++
		case cUpper:
			uppers++
		case cComma:
			commas++
		case cStop:
			stops++
		case cSymbol:
			b.Symbols++
		case cMoney:
			b.Money = true
		case Multibyte:
			if c == 0xE2 && w == 3 && s[j+1] == 0x82 || c == 0xC2 && w == 2 && s[j+1] == 0xA3 {
				b.Money = true // euro and others, pound
			}
		}
		for x := 0; x < w; x++ {
			h = (h ^ uint32(s[j+x])) * 16777619
		}
		j += w
		to = j
	}
	if from < 0 {
		return
	}
	if b.Size == 0 {
		b.Start = s[from]
	}
	size := int32(to - from)
	b.Hash = h
	b.Words, b.Chars, b.Commas, b.Stops, b.Digits, b.Uppers = words, chars, commas, stops, digits, uppers
	b.Size += size
	if link {
		b.Linked += size
	}
	if bold {
		b.Bold += size
	}
	b.end, _ = utf8.DecodeLastRune(s[from:to])
}

// sentence reports whether a block ends like a sentence.
func (b *Line) IsSentence() bool {
	switch b.end {
	case '.', '!', '?', '…', ':', ';', '。', '！', '？', '：', '；', '।', '॥', '؟', '۔', '»', '”', '’', '"', '\'', '」', '』', ')', '）':
		return true
	}
	return false
}

func (b *Line) IsLinked() bool { return 2*b.Linked > b.Size }

// prose reports whether a block reads like a paragraph.
func (b *Line) IsProse() bool {
	if b.IsLinked() || b.Kind == KindHeading || b.Kind == kindCaption {
		return false
	}
	return b.Size >= 80 || b.Size >= 25 && b.IsSentence()
}

// aggregate sums up the boxes.
func (o *Outline) aggregate() {
	for i := range o.Lines {
		b := &o.Lines[i]
		x := &o.Boxes[b.Box]
		x.Text += b.Size
		x.Linked += b.Linked
		x.stops += b.Stops
		if b.IsProse() {
			x.Prose += b.Size
			if b.Kind == KindParagraph {
				x.Pprose += b.Size
			}
		}
		o.Dups[b.Hash]++
		s := &o.Kins[x.Kin]
		s.Blocks++
		s.Text += b.Size
		if b.Size <= saysMax {
			b.Says = o.saysOf(b)
		}
	}
	for i := len(o.Boxes) - 1; i > 0; i-- {
		x := &o.Boxes[i]
		p := &o.Boxes[x.Parent]
		p.Text += x.Text
		p.Linked += x.Linked
		p.Prose += x.Prose
		p.Pprose += x.Pprose
		p.stops += x.stops
		if x.Start < x.End {
			s := &o.Kins[x.Kin]
			s.Boxes++
			s.Size += x.Text
			s.Linked += x.Linked
			if b := &o.Lines[x.Start]; b.Kind == KindHeading || b.IsLinked() {
				s.Heads++
			}
		}
	}
	// the heading above each block
	head := int32(-1)
	for i := range o.Lines {
		b := &o.Lines[i]
		b.Above = head
		if b.Kind == KindHeading {
			head = int32(i)
		}
	}
}
