package outline

import "hce/dc/internal/web/htmltree"

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

// Line is one line of text: what stands between two line breaks or ends of elements that are not inline.
type Line struct {
	First, Last int32 // its texts are among these nodes
	Box         int32 // the nearest element that is not inline
	Kind        uint8
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

// Outline is the visible text of a page as lines, and the elements around them. It holds the memory for one page after
// the other. Not safe for concurrent use.
type Outline struct {
	Doc   *htmltree.Doc
	Lines []Line
	Boxes []box
	Title int32 // block with the title; -1: none

	hints map[string]Hints
	Names []int32 // inline and other elements that may name an author
	Sums  []int32

	readNoscript bool            // noscript is visible
	skipped      []uint64        // a bit for each node: hidden
	controls     map[string]bool // ids that a control of the page opens; nil: not read
	katex        int32           // the element around the last formula of KaTeX
	gutterEnd    int32           // of the last element that is named like numbers of lines and has a text
	formula      []byte          // the text of the last formula
	after        []afterword     // what is to be written behind elements
	lineEnds     []codeLine      // lines of code that are elements

	frames  []frame
	scratch [64]byte
	lowered []byte
	Dups    map[uint32]int32
	kins    map[uint32]int32
	Kins    []Kin // by box.kin
}

// Kin sums up the boxes of one signature: the same names of elements and classes, up to the root.
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

// IsSentence reports whether a line ends like a sentence.
func (b *Line) IsSentence() bool {
	switch b.end {
	case '.', '!', '?', '…', ':', ';', '。', '！', '？', '：', '；', '।', '॥', '؟', '۔', '»', '”', '’', '"', '\'', '」', '』', ')', '）':
		return true
	}
	return false
}

// IsLinked reports whether most of a line is links.
func (b *Line) IsLinked() bool { return 2*b.Linked > b.Size }

// IsProse reports whether a line reads like a paragraph.
func (b *Line) IsProse() bool {
	if b.IsLinked() || b.Kind == KindHeading || b.Kind == kindCaption {
		return false
	}
	return b.Size >= 80 || b.Size >= 25 && b.IsSentence()
}

// sumBoxes sums up the boxes.
func (o *Outline) sumBoxes() {
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
