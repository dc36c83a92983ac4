package htmltree

// startTag handles a start tag.
func (d *Doc) startTag(t *token) {
	if t.tag == TagImage {
		t.tag = TagImg
	}
	if d.foreign > 0 {
		n := d.currentNode()
		if n.Flags&flagForeign != 0 && !d.htmlIn(n, t) {
			if d.foreignStart(t) {
				return
			}
		}
	}
	d.htmlStart(t)
}

// htmlIn reports whether a start tag in a foreign element is one of HTML.
func (d *Doc) htmlIn(n *Node, t *token) bool {
	switch n.Flags & (flagHTMLPoint | flagTextPoint) {
	case flagHTMLPoint:
		return true
	case flagTextPoint:
		name := d.src[t.start:t.end]
		return !equalName(name, "mglyph") && !equalName(name, "malignmark")
	case flagHTMLPoint | flagTextPoint: // annotation-xml
		return t.tag == TagSVG
	}
	return false
}

func equalName(b []byte, lower string) bool { return len(b) == len(lower) && equalFold(b, lower) }

func (d *Doc) htmlStart(t *token) {
	for {
		switch d.mode {
		case mBody:
			d.bodyStart(t)
			return
		case mInitial:
			d.quirks = true
			d.mode = mBeforeHTML
		case mBeforeHTML:
			if t.tag == TagHTML {
				d.openHTML(t)
				return
			}
			d.openHTML(nil)
		case mBeforeHead:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
				return
			case TagHead:
				d.openHead(t)
				return
			}
			d.openHead(nil)
		case mHead:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
				return
			case TagHead:
				return
			case TagNoscript:
				if !d.Strict { // a browser with scripts shows nothing of it
					d.addRawElement(t, false)
					return
				}
				d.insertElement(TagNoscript, t)
				d.mode = mHeadNoscript
				return
			case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagTitle, TagNoframes, TagStyle, TagScript, TagTemplate:
				d.headStart(t)
				return
			}
			d.leaveHead()
		case mHeadNoscript:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
				return
			case TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagStyle:
				d.headStart(t)
				return
			case TagHead, TagNoscript:
				return
			}
			d.leaveHead()
		case mAfterHead:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
				return
			case TagBody:
				d.insertElement(TagBody, t)
				d.noFrames = true
				d.mode = mBody
				return
			case TagFrameset:
				d.insertElement(TagFrameset, t)
				d.mode = mFrameset
				return
			case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
				d.pushNode(d.head)
				d.headStart(t)
				for k := len(d.stack) - 1; k > 0; k-- {
					if d.stack[k] == d.head {
						d.removeFromStack(k)
						break
					}
				}
				return
			case TagHead:
				return
			}
			d.insertElement(TagBody, nil)
			d.mode = mBody
		case mTable:
			if d.tableStart(t) {
				return
			}
		case mCaption:
			switch t.tag {
			case TagCaption, TagCol, TagColgroup, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
				if !d.endCaption() {
					return
				}
				continue
			}
			d.bodyStart(t)
			return
		case mColgroup:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
				return
			case TagCol:
				d.addVoidElement(t)
				return
			case TagTemplate:
				d.headStart(t)
				return
			}
			if !d.isCurrent(TagColgroup) {
				return
			}
			d.popNode()
			d.mode = mTable
		case mTableBody:
			switch t.tag {
			case TagTr:
				d.clearTo(toTableBody)
				d.insertElement(TagTr, t)
				d.mode = mRow
				return
			case TagTh, TagTd:
				d.clearTo(toTableBody)
				d.insertElement(TagTr, nil)
				d.mode = mRow
				continue
			case TagCaption, TagCol, TagColgroup, TagTbody, TagTfoot, TagThead:
				if !d.endTableBody() {
					return
				}
				continue
			}
			if d.tableStart(t) {
				return
			}
		case mRow:
			switch t.tag {
			case TagTh, TagTd:
				d.clearTo(toRow)
				d.insertElement(t.tag, t)
				d.mode = mCell
				d.appendMarker()
				return
			case TagCaption, TagCol, TagColgroup, TagTbody, TagTfoot, TagThead, TagTr:
				if !d.endRow() {
					return
				}
				continue
			}
			if d.tableStart(t) {
				return
			}
		case mCell:
			switch t.tag {
			case TagCaption, TagCol, TagColgroup, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
				if !d.anyInScope(cells, scopeTable) {
					return
				}
				d.endCell()
				continue
			}
			d.bodyStart(t)
			return
		case mTemplate:
			m := mBody
			switch t.tag {
			case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
				d.headStart(t)
				return
			case TagCaption, TagColgroup, TagTbody, TagTfoot, TagThead:
				m = mTable
			case TagCol:
				m = mColgroup
			case TagTr:
				m = mTableBody
			case TagTd, TagTh:
				m = mRow
			}
			d.templates[len(d.templates)-1] = m
			d.mode = m
		case mAfterBody, mAfterAfterBody:
			if t.tag == TagHTML {
				d.bodyStart(t)
				return
			}
			d.mode = mBody
		case mFrameset:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
			case TagFrameset:
				d.insertElement(TagFrameset, t)
			case TagFrame:
				d.addVoidElement(t)
			case TagNoframes:
				d.headStart(t)
			}
			return
		case mAfterFrameset, mAfterAfterFrameset:
			switch t.tag {
			case TagHTML:
				d.bodyStart(t)
			case TagNoframes:
				d.headStart(t)
			}
			return
		}
	}
}

// headStart handles a start tag that may be in the head.
func (d *Doc) headStart(t *token) {
	switch t.tag {
	case TagTemplate:
		d.openTemplate(t)
	case TagTitle, TagNoframes, TagStyle, TagScript:
		d.addRawElement(t, false)
	default:
		d.addVoidElement(t)
	}
}

// bodyStart handles a start tag in the body.
func (d *Doc) bodyStart(t *token) {
	switch tag := t.tag; tag {
	case TagHTML:
		if d.open[TagTemplate] == 0 {
			d.mergeAttrs(d.stack[0], t)
		}
	case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
		d.headStart(t)
	case TagBody:
		if len(d.stack) < 2 || d.Nodes[d.stack[1]].Tag != TagBody || d.open[TagTemplate] > 0 {
			return
		}
		d.noFrames = true
		d.mergeAttrs(d.stack[1], t)
	case TagFrameset:
		if len(d.stack) < 2 || d.Nodes[d.stack[1]].Tag != TagBody || d.noFrames {
			return
		}
		d.detachNode(d.stack[1])
		d.popTo(1)
		d.insertElement(TagFrameset, t)
		d.mode = mFrameset
	case TagAddress, TagArticle, TagAside, TagBlockquote, TagCenter, TagDetails, TagDialog, TagDir, TagDiv, TagDl, TagFieldset, TagFigcaption, TagFigure,
		TagFooter, TagHeader, TagHgroup, TagMain, TagMenu, TagNav, TagOl, TagP, TagSearch, TagSection, TagSummary, TagUl:
		d.closeP()
		d.insertElement(tag, t)
	case TagH1, TagH2, TagH3, TagH4, TagH5, TagH6:
		d.closeP()
		if n := d.currentNode(); n.Flags&flagForeign == 0 && build[n.Tag]&headings != 0 {
			d.popNode()
		}
		d.insertElement(tag, t)
	case TagPre, TagListing:
		d.closeP()
		d.insertElement(tag, t)
		d.noFrames = true
		d.skipLineFeed()
	case TagForm:
		if d.form != 0 && d.open[TagTemplate] == 0 {
			return
		}
		d.closeP()
		i := d.insertElement(tag, t)
		if d.open[TagTemplate] == 0 {
			d.form = i
		}
	case TagLi, TagDd, TagDt:
		d.noFrames = true
		if d.open[TagLi]+d.open[TagDd]+d.open[TagDt] > 0 {
			for k := len(d.stack) - 1; k > 0; k-- {
				n := &d.Nodes[d.stack[k]]
				if n.Flags&flagForeign != 0 {
					if n.Flags&(flagHTMLPoint|flagTextPoint) != 0 {
						break
					}
					continue
				}
				if n.Tag == tag || n.Tag == TagDd && tag == TagDt || n.Tag == TagDt && tag == TagDd {
					d.closeImplied(n.Tag)
					d.popUntil(n.Tag)
					break
				}
				if build[n.Tag]&isSpecial != 0 && n.Tag != TagAddress && n.Tag != TagDiv && n.Tag != TagP {
					break
				}
			}
		}
		d.closeP()
		d.insertElement(tag, t)
	case TagPlaintext:
		d.closeP()
		d.insertElement(tag, t)
		pos := d.pos
		d.pos = len(d.src)
		if pos < len(d.src) {
			d.addPlainText(pos)
		}
	case TagButton:
		if d.inScope(TagButton, scope) {
			d.closeImplied(TagRoot)
			d.popUntil(TagButton)
		}
		d.reopenFormatting()
		d.insertElement(tag, t)
		d.noFrames = true
	case TagA:
		for k := len(d.list) - 1; k >= 0 && d.list[k] >= 0; k-- {
			if i := d.list[k]; d.Nodes[i].Tag == TagA {
				d.runAdoption(t)
				if d.Nodes[i].Flags&flagListed != 0 {
					d.removeListed(d.findListed(i))
				}
				if d.Nodes[i].Flags&flagOpen != 0 {
					for k := len(d.stack) - 1; k > 0; k-- {
						if d.stack[k] == i {
							d.removeFromStack(k)
							break
						}
					}
				}
				break
			}
		}
		d.reopenFormatting()
		d.openFormatting(t)
	case TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU:
		d.reopenFormatting()
		d.openFormatting(t)
	case TagNobr:
		d.reopenFormatting()
		if d.inScope(TagNobr, scope) {
			d.runAdoption(t)
			d.reopenFormatting()
		}
		d.openFormatting(t)
	case TagApplet, TagMarquee, TagObject:
		d.reopenFormatting()
		d.insertElement(tag, t)
		d.appendMarker()
		d.noFrames = true
	case TagTable:
		if !d.quirks {
			d.closeP()
		}
		d.insertElement(tag, t)
		d.noFrames = true
		d.mode = mTable
	case TagArea, TagBr, TagEmbed, TagImg, TagKeygen, TagWbr:
		d.reopenFormatting()
		d.addVoidElement(t)
		d.noFrames = true
	case TagInput:
		if d.selectInScope() {
			d.popUntil(TagSelect)
		}
		d.reopenFormatting()
		d.addVoidElement(t)
		if !d.hiddenInput(t) {
			d.noFrames = true
		}
	case TagParam, TagSource, TagTrack:
		d.addVoidElement(t)
	case TagHr:
		d.closeP()
		if d.selectInScope() {
			d.closeImplied(TagRoot)
		}
		d.addVoidElement(t)
		d.noFrames = true
	case TagTextarea:
		d.noFrames = true
		d.addRawElement(t, true)
	case TagXmp:
		d.closeP()
		d.reopenFormatting()
		d.noFrames = true
		d.addRawElement(t, false)
	case TagIframe:
		d.noFrames = true
		d.addRawElement(t, false)
	case TagNoembed:
		d.addRawElement(t, false)
	case TagSelect:
		if d.selectInScope() {
			d.popUntil(TagSelect)
			return
		}
		d.reopenFormatting()
		d.insertElement(tag, t)
		d.noFrames = true
	case TagOption:
		if d.selectInScope() {
			d.closeImplied(TagOptgroup)
		} else if d.isCurrent(TagOption) {
			d.popNode()
		}
		d.reopenFormatting()
		d.insertElement(tag, t)
	case TagOptgroup:
		if d.selectInScope() {
			d.closeImplied(TagRoot)
		} else if d.isCurrent(TagOption) {
			d.popNode()
		}
		d.reopenFormatting()
		d.insertElement(tag, t)
	case TagRb, TagRtc:
		if d.inScope(TagRuby, scope) {
			d.closeImplied(TagRoot)
		}
		d.insertElement(tag, t)
	case TagRp, TagRt:
		if d.inScope(TagRuby, scope) {
			d.closeImplied(TagRtc)
		}
		d.insertElement(tag, t)
	case TagMath:
		d.reopenFormatting()
		d.insertForeign(t, flagMath)
	case TagSVG:
		d.reopenFormatting()
		d.insertForeign(t, flagSVG)
	case TagCaption, TagCol, TagColgroup, TagFrame, TagHead, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
	default:
		d.reopenFormatting()
		d.insertElement(tag, t)
	}
}
