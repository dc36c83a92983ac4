package htmltree

// bodyStarts are the rules of start tags in the body.
var bodyStarts [TagCount]func(*body, *token)

func init() {
	for tag := range bodyStarts {
		bodyStarts[tag] = (*body).startOther
	}
	for _, rule := range []struct {
		start func(*body, *token)
		tags  []Tag
	}{
		{(*body).startHTML, []Tag{TagHTML}},
		{(*body).headStart, []Tag{TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle}},
		{(*body).startBody, []Tag{TagBody}},
		{(*body).startFrameset, []Tag{TagFrameset}},
		{(*body).startBlock, []Tag{TagAddress, TagArticle, TagAside, TagBlockquote, TagCenter, TagDetails, TagDialog, TagDir, TagDiv, TagDl, TagFieldset,
			TagFigcaption, TagFigure, TagFooter, TagHeader, TagHgroup, TagMain, TagMenu, TagNav, TagOl, TagP, TagSearch, TagSection, TagSummary, TagUl}},
		{(*body).startHeading, []Tag{TagH1, TagH2, TagH3, TagH4, TagH5, TagH6}},
		{(*body).startListing, []Tag{TagPre, TagListing}},
		{(*body).startForm, []Tag{TagForm}},
		{(*body).startItem, []Tag{TagLi, TagDd, TagDt}},
		{(*body).startPlaintext, []Tag{TagPlaintext}},
		{(*body).startButton, []Tag{TagButton}},
		{(*body).startAnchor, []Tag{TagA}},
		{(*body).startFormatting, []Tag{TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU}},
		{(*body).startNobr, []Tag{TagNobr}},
		{(*body).startObject, []Tag{TagApplet, TagMarquee, TagObject}},
		{(*body).startTable, []Tag{TagTable}},
		{(*body).addInline, []Tag{TagArea, TagBr, TagEmbed, TagImg, TagKeygen, TagWbr}},
		{(*body).addInput, []Tag{TagInput}},
		{(*body).addVoid, []Tag{TagParam, TagSource, TagTrack}},
		{(*body).addRule, []Tag{TagHr}},
		{(*body).addRaw, []Tag{TagTextarea, TagXmp, TagIframe, TagNoembed}},
		{(*body).startSelect, []Tag{TagSelect}},
		{(*body).startOption, []Tag{TagOption, TagOptgroup}},
		{(*body).startRuby, []Tag{TagRb, TagRtc, TagRp, TagRt}},
		{(*body).startForeign, []Tag{TagMath, TagSVG}},
		{(*body).ignoreTag, []Tag{TagCaption, TagCol, TagColgroup, TagFrame, TagHead, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr}},
	} {
		for _, tag := range rule.tags {
			bodyStarts[tag] = rule.start
		}
	}
}

// bodyStart handles a start tag in the body.
func (b *body) bodyStart(t *token) { bodyStarts[t.tag](b, t) }

func (b *body) ignoreTag(*token) {}

func (b *body) startOther(t *token) {
	b.reopenFormatting()
	b.insertElement(t.tag, t)
}

func (b *body) startHTML(t *token) {
	if b.open[TagTemplate] == 0 {
		b.mergeAttrs(b.stack[0], t)
	}
}

// headStart handles a start tag that may be in the head.
func (b *body) headStart(t *token) {
	switch t.tag {
	case TagTemplate:
		b.openTemplate(t)
	case TagTitle, TagNoframes, TagStyle, TagScript:
		b.addRawElement(t, false)
	default:
		b.addVoidElement(t)
	}
}

func (b *body) startBody(t *token) {
	if len(b.stack) < 2 || b.Nodes[b.stack[1]].Tag != TagBody || b.open[TagTemplate] > 0 {
		return
	}
	b.noFrames = true
	b.mergeAttrs(b.stack[1], t)
}

// startFrameset replaces a body that has no content.
func (b *body) startFrameset(t *token) {
	if len(b.stack) < 2 || b.Nodes[b.stack[1]].Tag != TagBody || b.noFrames {
		return
	}
	b.detachNode(b.stack[1])
	b.popTo(1)
	b.insertElement(TagFrameset, t)
	b.mode = mFrameset
}

func (b *body) startBlock(t *token) {
	b.closeP()
	b.insertElement(t.tag, t)
}

func (b *body) startHeading(t *token) {
	b.closeP()
	if n := b.currentNode(); n.Flags&flagForeign == 0 && build[n.Tag]&headings != 0 {
		b.popNode()
	}
	b.insertElement(t.tag, t)
}

func (b *body) startListing(t *token) {
	b.closeP()
	b.insertElement(t.tag, t)
	b.noFrames = true
	b.skipLineFeed()
}

func (b *body) startForm(t *token) {
	if b.form != 0 && b.open[TagTemplate] == 0 {
		return
	}
	b.closeP()
	i := b.insertElement(t.tag, t)
	if b.open[TagTemplate] == 0 {
		b.form = i
	}
}

// startItem opens an item of a list.
func (b *body) startItem(t *token) {
	b.noFrames = true
	if b.open[TagLi]+b.open[TagDd]+b.open[TagDt] > 0 {
		b.closeItem(t.tag)
	}
	b.closeP()
	b.insertElement(t.tag, t)
}

// closeItem closes the item before another one of this tag in the same list.
func (b *body) closeItem(tag Tag) {
	for k := len(b.stack) - 1; k > 0; k-- {
		n := &b.Nodes[b.stack[k]]
		if n.Flags&flagForeign != 0 {
			if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
				return
			}
			continue
		}
		if n.Tag == tag || n.Tag == TagDd && tag == TagDt || n.Tag == TagDt && tag == TagDd {
			b.closeImplied(n.Tag)
			b.popUntil(n.Tag)
			return
		}
		if build[n.Tag]&isSpecial != 0 && n.Tag != TagAddress && n.Tag != TagDiv && n.Tag != TagP {
			return
		}
	}
}

// startPlaintext makes the rest of the page one text.
func (b *body) startPlaintext(t *token) {
	b.closeP()
	b.insertElement(t.tag, t)
	pos := b.pos
	b.pos = len(b.src)
	if pos < len(b.src) {
		b.addPlainText(pos)
	}
}

func (b *body) startButton(t *token) {
	if b.inScope(TagButton, scope) {
		b.closeImplied(TagRoot)
		b.popUntil(TagButton)
	}
	b.reopenFormatting()
	b.insertElement(t.tag, t)
	b.noFrames = true
}

func (b *body) startAnchor(t *token) {
	b.endListedAnchor(t)
	b.startFormatting(t)
}

// endListedAnchor ends the last link, so that the next one is not in it.
func (b *body) endListedAnchor(t *token) {
	for k := len(b.list) - 1; k >= 0 && b.list[k] >= 0; k-- {
		i := b.list[k]
		if b.Nodes[i].Tag != TagA {
			continue
		}
		b.runAdoption(t)
		if b.Nodes[i].Flags&flagListed != 0 {
			b.removeListed(b.findListed(i))
		}
		if b.Nodes[i].Flags&flagOpen != 0 {
			b.removeOpen(i)
		}
		return
	}
}

func (b *body) startFormatting(t *token) {
	b.reopenFormatting()
	b.openFormatting(t)
}

func (b *body) startNobr(t *token) {
	b.reopenFormatting()
	if b.inScope(TagNobr, scope) {
		b.runAdoption(t)
		b.reopenFormatting()
	}
	b.openFormatting(t)
}

func (b *body) startObject(t *token) {
	b.reopenFormatting()
	b.insertElement(t.tag, t)
	b.appendMarker()
	b.noFrames = true
}

func (b *body) startTable(t *token) {
	if !b.quirks {
		b.closeP()
	}
	b.insertElement(t.tag, t)
	b.noFrames = true
	b.mode = mTable
}

func (b *body) addInline(t *token) {
	b.reopenFormatting()
	b.addVoidElement(t)
	b.noFrames = true
}

func (b *body) addInput(t *token) {
	if b.selectInScope() {
		b.popUntil(TagSelect)
	}
	b.reopenFormatting()
	b.addVoidElement(t)
	if !b.hiddenInput(t) {
		b.noFrames = true
	}
}

func (b *body) addVoid(t *token) { b.addVoidElement(t) }

func (b *body) addRule(t *token) {
	b.closeP()
	if b.selectInScope() {
		b.closeImplied(TagRoot)
	}
	b.addVoidElement(t)
	b.noFrames = true
}

// addRaw adds an element of the body whose content is text.
func (b *body) addRaw(t *token) {
	if t.tag == TagXmp {
		b.closeP()
		b.reopenFormatting()
	}
	if t.tag != TagNoembed {
		b.noFrames = true
	}
	b.addRawElement(t, t.tag == TagTextarea)
}

func (b *body) startSelect(t *token) {
	if b.selectInScope() {
		b.popUntil(TagSelect)
		return
	}
	b.reopenFormatting()
	b.insertElement(t.tag, t)
	b.noFrames = true
}

// startOption opens an option, or a group of them, which ends the group before it.
func (b *body) startOption(t *token) {
	but := TagOptgroup
	if t.tag == TagOptgroup {
		but = TagRoot
	}
	if b.selectInScope() {
		b.closeImplied(but)
	} else if b.isCurrent(TagOption) {
		b.popNode()
	}
	b.reopenFormatting()
	b.insertElement(t.tag, t)
}

// startRuby opens a part of a ruby annotation.
func (b *body) startRuby(t *token) {
	but := TagRoot
	if t.tag == TagRp || t.tag == TagRt {
		but = TagRtc
	}
	if b.inScope(TagRuby, scope) {
		b.closeImplied(but)
	}
	b.insertElement(t.tag, t)
}

func (b *body) startForeign(t *token) {
	b.reopenFormatting()
	if t.tag == TagMath {
		b.insertForeign(t, flagMath)
	} else {
		b.insertForeign(t, flagSVG)
	}
}
