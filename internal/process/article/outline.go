package article

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// outline is the visible text of a page as blocks, and the elements around them. A block is
// the texts of one line of plain text.
type outline struct {
	blocks []block
	boxes  []box // in document order; the first is the document
	sizes  []int // sizes[i] is the bytes of the blocks before i
	title  int   // block of the page's title; -1: none

	titled  bool // the title of the page is the text of this block
	bylines []byline

	ended  bool // the last block got all its texts
	tokens map[string][]string
	signed map[string]bool
}

// block is one line of text.
type block struct {
	texts   []*html.Node
	longest *html.Node
	box     int // the nearest element that is not inline
	size    int // bytes without blanks at the ends of its texts
	linked  int // bytes of them inside of links
	kind    kind
	last    rune // the last character
	dull    bool // part of the furniture of the page: navigation, share buttons, captions
	weak    bool // what says so is a word with several meanings
}

// kind is what the elements around a block say about it.
type kind uint8

const (
	plain kind = iota
	paragraph
	heading
	item // of a list
	cell // of a table
	listing
	caption
)

// kinds are the elements that give their blocks a kind.
var kinds = map[atom.Atom]kind{
	atom.P: paragraph, atom.H1: heading, atom.H2: heading, atom.H3: heading, atom.H4: heading, atom.H5: heading,
	atom.H6: heading, atom.Li: item, atom.Dd: item, atom.Dt: item, atom.Td: cell, atom.Th: cell, atom.Pre: listing,
	atom.Figcaption: caption, atom.Caption: caption, atom.Blockquote: paragraph, atom.Summary: heading,
}

// box is an element that is not inline. Its blocks are blocks[start:end].
type box struct {
	node       *html.Node
	parent     int // -1: none
	start, end int
	dull       []string // what says that it is furniture; nil: nothing
}

// newOutline finds the blocks of doc.
func newOutline(doc *html.Node) *outline {
	o := &outline{ended: true, title: -1, tokens: map[string][]string{}, signed: map[string]bool{}}
	o.boxes = append(o.boxes, box{node: doc, parent: -1})
	o.find(doc, place{})
	o.boxes[0].end = len(o.blocks)
	o.sizes = make([]int, len(o.blocks)+1)
	for i := range o.blocks {
		o.sizes[i+1] = o.sizes[i] + o.blocks[i].size
	}
	o.layoutTables()
	o.furniture()
	o.cards()
	return o
}

// layoutTables takes the kind from the blocks of cells that are not data: those with several lines.
func (o *outline) layoutTables() {
	for i := range o.blocks {
		b := &o.blocks[i]
		if x := o.boxes[b.box]; b.kind == cell && x.end-x.start > 3 {
			b.kind = plain
		}
	}
}

// place is where a text is.
type place struct {
	box  int
	kind kind
	link bool
}

// find adds the visible texts below n. It recurses: the parser limits the depth.
func (o *outline) find(n *html.Node, at place) {
	switch n.Type {
	case html.TextNode:
		if text := strings.TrimFunc(n.Data, blank); text != "" {
			o.add(n, text, at)
		}
		return
	case html.CommentNode, html.DoctypeNode, html.RawNode:
		return
	}
	if n.Type != html.ElementNode {
		o.children(n, at)
		return
	}
	if silent[n.DataAtom] || hidden(n) {
		return
	}
	if n.DataAtom == atom.A {
		at.link = true
	}
	if len(n.Attr) > 0 && len(o.bylines) < 100 && o.names(n) {
		o.bylines = append(o.bylines, byline{n, len(o.blocks)})
	}
	if flows(n) {
		o.children(n, at)
		return
	}
	if k, ok := kinds[n.DataAtom]; ok && at.kind != caption && (k != paragraph || at.kind == plain) {
		at.kind = k
	}
	number := len(o.boxes)
	o.boxes = append(o.boxes, box{node: n, parent: at.box, start: len(o.blocks), dull: o.hints(n)})
	at.box = number
	o.ended = true
	o.children(n, at)
	o.ended = true
	o.boxes[number].end = len(o.blocks)
}

func (o *outline) children(n *html.Node, at place) {
	for child := range n.ChildNodes() {
		o.find(child, at)
	}
}

// add adds a text to the current block.
func (o *outline) add(n *html.Node, text string, at place) {
	if o.ended {
		o.blocks, o.ended = append(o.blocks, block{longest: n, box: at.box, kind: at.kind}), false
	}
	b := &o.blocks[len(o.blocks)-1]
	b.texts = append(b.texts, n)
	b.size += len(text)
	if at.link {
		b.linked += len(text)
	}
	b.last, _ = utf8.DecodeLastRuneInString(text)
	if len(n.Data) > len(b.longest.Data) {
		b.longest = n
	}
}

// flows reports whether an element is part of the line around it. Unknown elements are, as
// in a browser, if text stands next to them.
func flows(n *html.Node) bool {
	if inline[n.DataAtom] {
		return true
	}
	return n.DataAtom == 0 && n.Namespace == "" && (isText(n.PrevSibling) || isText(n.NextSibling))
}

func isText(n *html.Node) bool {
	return n != nil && n.Type == html.TextNode && strings.TrimFunc(n.Data, blank) != ""
}

// text returns the text of a block.
func (o *outline) text(i int) string {
	var l lines
	for _, n := range o.blocks[i].texts {
		l.write(n.Data)
	}
	return l.b.String()
}

// linky reports whether a block is mostly links.
func (b *block) linky() bool { return 2*b.linked > b.size }

// ends are the characters that end a sentence.
const ends = ".!?…:;。！？：；।॥؟۔።։」』”»\"'’)）"

// sentence reports whether a block ends like a sentence.
func (b *block) sentence() bool { return strings.ContainsRune(ends, b.last) }

const (
	longSize  = 80 // bytes of a text that is a paragraph even without an end
	shortSize = 25 // bytes of the shortest paragraph
)

// prose reports whether a block reads like a paragraph of a text.
func (b *block) prose() bool {
	if b.dull || b.linky() || b.kind == heading || b.kind == caption {
		return false
	}
	return b.size >= longSize || b.size >= shortSize && b.sentence()
}

// parent returns the number of the box around a block.
func (o *outline) parent(i int) int { return o.boxes[o.blocks[i].box].parent }

// within reports whether box inner is outer or inside of it.
func (o *outline) within(inner, outer int) bool {
	for inner > outer {
		inner = o.boxes[inner].parent
	}
	return inner == outer
}

// words splits a class or id at its dashes, underscores and capitals into words in lower case.
func words(text string) []string {
	var list []string
	start, lower := 0, false
	for i, c := range text {
		letter := unicode.IsLetter(c) || unicode.IsDigit(c)
		if !letter || lower && unicode.IsUpper(c) {
			if i > start {
				list = append(list, strings.ToLower(text[start:i]))
			}
			start = i
			if !letter {
				start += utf8.RuneLen(c)
			}
		}
		lower = unicode.IsLower(c)
	}
	if start < len(text) {
		list = append(list, strings.ToLower(text[start:]))
	}
	return list
}
