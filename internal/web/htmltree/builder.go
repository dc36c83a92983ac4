package htmltree

// body builds the tree by the rules of the mode "in body".
type body struct {
	formatting
	mode      mode
	templates []mode
	head      int32
	form      int32
	quirks    bool
	noFrames  bool // no frameset may follow
}

// builder builds the tree by the rules of all modes.
type builder struct{ body }

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

// finishPage ends the page.
func (b *builder) finishPage() {
	b.toBody()
	for len(b.templates) > 0 {
		if b.open[TagTemplate] == 0 {
			break
		}
		b.closeTemplate()
		b.toBody() // it may be in the head
	}
	if b.linked {
		b.sortNodes()
		return
	}
	end := int32(len(b.Nodes))
	for i := b.cur; i >= 0; i = b.Nodes[i].Parent {
		b.Nodes[i].End = end
	}
}

// toBody opens what is missing of html, head and body.
func (b *builder) toBody() {
	for b.mode < mBody {
		b.stepToBody()
	}
}

// stepToBody opens or closes one element, in a mode before that of the body.
func (b *builder) stepToBody() {
	switch b.mode {
	case mInitial:
		b.quirks = true
		b.mode = mBeforeHTML
	case mBeforeHTML:
		b.openHTML(nil)
	case mBeforeHead:
		b.openHead(nil)
	case mHead, mHeadNoscript:
		b.leaveHead()
	case mAfterHead:
		b.insertElement(TagBody, nil)
		b.mode = mBody
	}
}

// resetMode finds the mode for the open elements.
func (b *body) resetMode() {
	for k := len(b.stack) - 1; k >= 0; k-- {
		n := &b.Nodes[b.stack[k]]
		if n.Flags&flagForeign != 0 {
			continue
		}
		switch n.Tag {
		case TagTd, TagTh:
			b.mode = mCell
		case TagTr:
			b.mode = mRow
		case TagTbody, TagThead, TagTfoot:
			b.mode = mTableBody
		case TagCaption:
			b.mode = mCaption
		case TagColgroup:
			b.mode = mColgroup
		case TagTable:
			b.mode = mTable
		case TagTemplate:
			if len(b.templates) == 0 {
				continue
			}
			b.mode = b.templates[len(b.templates)-1]
		case TagHead:
			b.mode = mHead
		case TagBody:
			b.mode = mBody
		case TagFrameset:
			b.mode = mFrameset
		case TagHTML:
			if b.head == 0 {
				b.mode = mBeforeHead
			} else {
				b.mode = mAfterHead
			}
		default:
			continue
		}
		return
	}
	b.mode = mBody
}

func (b *builder) openHTML(t *token) {
	n := newNode(TagHTML, t)
	i := b.addLastChild(0, &n)
	b.pushNode(i)
	b.mode = mBeforeHead
}

func (b *builder) openHead(t *token) {
	b.head = b.insertElement(TagHead, t)
	b.mode = mHead
}

// leaveHead closes noscript and head.
func (b *builder) leaveHead() {
	if b.mode == mHeadNoscript {
		b.popNode()
		b.mode = mHead
		return
	}
	b.popNode()
	b.mode = mAfterHead
}

func (b *body) openTemplate(t *token) {
	b.insertElement(TagTemplate, t)
	b.appendMarker()
	b.noFrames = true
	b.mode = mTemplate
	b.templates = append(b.templates, mTemplate)
}

func (b *body) closeTemplate() {
	if b.open[TagTemplate] == 0 {
		return
	}
	b.popUntil(TagTemplate)
	b.clearList()
	if len(b.templates) > 0 {
		b.templates = b.templates[:len(b.templates)-1]
	}
	b.resetMode()
}
