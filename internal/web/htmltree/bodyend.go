package htmltree

// bodyEnd handles an end tag in the body.
func (b *body) bodyEnd(t *token) {
	switch tag := t.tag; tag {
	case TagTemplate:
		b.closeTemplate()
	case TagBody:
		if b.inScope(TagBody, scope) {
			b.mode = mAfterBody
		}
	case TagHTML:
		if b.inScope(TagBody, scope) {
			b.mode = mAfterAfterBody
		}
	case TagAddress, TagArticle, TagAside, TagBlockquote, TagButton, TagCenter, TagDetails, TagDialog, TagDir, TagDiv, TagDl, TagFieldset, TagFigcaption,
		TagFigure, TagFooter, TagHeader, TagHgroup, TagListing, TagMain, TagMenu, TagNav, TagOl, TagPre, TagSearch, TagSection, TagSelect, TagSummary, TagUl:
		b.closeInScope(tag, scope, TagRoot)
	case TagForm:
		b.endForm()
	case TagP:
		if !b.inScope(TagP, scopeButton) {
			b.insertElement(TagP, nil)
		}
		b.closeP()
	case TagLi:
		b.closeInScope(tag, scopeItem, tag)
	case TagDd, TagDt:
		b.closeInScope(tag, scope, tag)
	case TagH1, TagH2, TagH3, TagH4, TagH5, TagH6:
		if b.anyInScope(headings, scope) {
			b.closeImplied(TagRoot)
			b.popUntilAny(headings)
		}
	case TagA, TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagNobr, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU:
		b.runAdoption(t)
	case TagApplet, TagMarquee, TagObject:
		if b.closeInScope(tag, scope, TagRoot) {
			b.clearList()
		}
	case TagBr:
		b.reopenFormatting()
		b.addNode(&Node{Tag: TagBr})
		b.noFrames = true
	case TagNoscript:
		if b.Strict || b.open[TagNoscript] == 0 {
			b.otherEnd(t)
			return
		}
		b.popUntil(TagNoscript) // whatever is open in it: a browser with scripts ends it here
		b.resetMode()
	default:
		b.otherEnd(t)
	}
}

// endForm ends the form of the page; elements that are open in it stay open.
func (b *body) endForm() {
	if b.open[TagTemplate] > 0 {
		b.closeInScope(TagForm, scope, TagRoot)
		return
	}
	i := b.form
	b.form = 0
	if i == 0 || b.Nodes[i].Flags&flagOpen == 0 {
		return
	}
	k := b.findOpen(i)
	if k > 0 && b.findInScope(TagForm, scope) == k {
		b.closeImplied(TagRoot)
		b.removeFromStack(k)
	}
}
