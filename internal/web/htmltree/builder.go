package htmltree

import "bytes"

// builder is the state of tree construction.
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

func (d *Doc) startPage() {
	b := &d.builder
	*b = builder{stack: b.stack[:0], list: b.list[:0], templates: b.templates[:0], links: b.links[:0], spare: b.spare[:0], path: b.path[:0], buf: b.buf[:0]}
	d.zeros = bytes.IndexByte(d.src, 0) >= 0
	d.Nodes = append(d.Nodes, Node{Tag: TagRoot, Parent: -1})
}

// finishPage ends the page.
func (d *Doc) finishPage() {
	d.toBody()
	for len(d.templates) > 0 {
		if d.open[TagTemplate] == 0 {
			break
		}
		d.closeTemplate()
		d.toBody() // it may be in the head
	}
	if d.linked {
		d.sortNodes()
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
		d.stepToBody()
	}
}

// stepToBody opens or closes one element, in a mode before that of the body.
func (d *Doc) stepToBody() {
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
		d.insertElement(TagBody, nil)
		d.mode = mBody
	}
}

// resetMode finds the mode for the open elements.
func (d *Doc) resetMode() {
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
	i := d.addLastChild(0, d.newNode(TagHTML, t))
	d.pushNode(i)
	d.mode = mBeforeHead
}

func (d *Doc) openHead(t *token) {
	d.head = d.insertElement(TagHead, t)
	d.mode = mHead
}

// leaveHead closes noscript and head.
func (d *Doc) leaveHead() {
	if d.mode == mHeadNoscript {
		d.popNode()
		d.mode = mHead
		return
	}
	d.popNode()
	d.mode = mAfterHead
}

func (d *Doc) openTemplate(t *token) {
	d.insertElement(TagTemplate, t)
	d.appendMarker()
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
	d.resetMode()
}
