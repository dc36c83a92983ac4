package htmltree

// startTag handles a start tag.
func (d *Doc) startTag(t *token) {
	if t.tag == TagImage {
		t.tag = TagImg
	}
	if d.foreign > 0 {
		n := d.top()
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
					d.raw(t, false)
					return
				}
				d.insert(TagNoscript, t)
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
				d.insert(TagBody, t)
				d.noFrames = true
				d.mode = mBody
				return
			case TagFrameset:
				d.insert(TagFrameset, t)
				d.mode = mFrameset
				return
			case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
				d.push(d.head)
				d.headStart(t)
				for k := len(d.stack) - 1; k > 0; k-- {
					if d.stack[k] == d.head {
						d.remove(k)
						break
					}
				}
				return
			case TagHead:
				return
			}
			d.insert(TagBody, nil)
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
				d.void(t)
				return
			case TagTemplate:
				d.headStart(t)
				return
			}
			if !d.is(TagColgroup) {
				return
			}
			d.pop()
			d.mode = mTable
		case mTableBody:
			switch t.tag {
			case TagTr:
				d.clearTo(toTableBody)
				d.insert(TagTr, t)
				d.mode = mRow
				return
			case TagTh, TagTd:
				d.clearTo(toTableBody)
				d.insert(TagTr, nil)
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
				d.insert(t.tag, t)
				d.mode = mCell
				d.marker()
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
				d.insert(TagFrameset, t)
			case TagFrame:
				d.void(t)
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
		d.raw(t, false)
	default:
		d.void(t)
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
		d.detach(d.stack[1])
		d.popTo(1)
		d.insert(TagFrameset, t)
		d.mode = mFrameset
	case TagAddress, TagArticle, TagAside, TagBlockquote, TagCenter, TagDetails, TagDialog, TagDir, TagDiv, TagDl, TagFieldset, TagFigcaption, TagFigure,
		TagFooter, TagHeader, TagHgroup, TagMain, TagMenu, TagNav, TagOl, TagP, TagSearch, TagSection, TagSummary, TagUl:
		d.closeP()
		d.insert(tag, t)
	case TagH1, TagH2, TagH3, TagH4, TagH5, TagH6:
		d.closeP()
		if n := d.top(); n.Flags&flagForeign == 0 && build[n.Tag]&headings != 0 {
			d.pop()
		}
		d.insert(tag, t)
	case TagPre, TagListing:
		d.closeP()
		d.insert(tag, t)
		d.noFrames = true
		d.skipLineFeed()
	case TagForm:
		if d.form != 0 && d.open[TagTemplate] == 0 {
			return
		}
		d.closeP()
		i := d.insert(tag, t)
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
					d.implied(n.Tag)
					d.popUntil(n.Tag)
					break
				}
				if build[n.Tag]&isSpecial != 0 && n.Tag != TagAddress && n.Tag != TagDiv && n.Tag != TagP {
					break
				}
			}
		}
		d.closeP()
		d.insert(tag, t)
	case TagPlaintext:
		d.closeP()
		d.insert(tag, t)
		pos := d.pos
		d.pos = len(d.src)
		if pos < len(d.src) {
			d.plain(pos)
		}
	case TagButton:
		if d.inScope(TagButton, scope) {
			d.implied(TagRoot)
			d.popUntil(TagButton)
		}
		d.reopen()
		d.insert(tag, t)
		d.noFrames = true
	case TagA:
		for k := len(d.list) - 1; k >= 0 && d.list[k] >= 0; k-- {
			if i := d.list[k]; d.Nodes[i].Tag == TagA {
				d.adopt(t)
				if d.Nodes[i].Flags&flagListed != 0 {
					d.unlist(d.listed(i))
				}
				if d.Nodes[i].Flags&flagOpen != 0 {
					for k := len(d.stack) - 1; k > 0; k-- {
						if d.stack[k] == i {
							d.remove(k)
							break
						}
					}
				}
				break
			}
		}
		d.reopen()
		d.format(t)
	case TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU:
		d.reopen()
		d.format(t)
	case TagNobr:
		d.reopen()
		if d.inScope(TagNobr, scope) {
			d.adopt(t)
			d.reopen()
		}
		d.format(t)
	case TagApplet, TagMarquee, TagObject:
		d.reopen()
		d.insert(tag, t)
		d.marker()
		d.noFrames = true
	case TagTable:
		if !d.quirks {
			d.closeP()
		}
		d.insert(tag, t)
		d.noFrames = true
		d.mode = mTable
	case TagArea, TagBr, TagEmbed, TagImg, TagKeygen, TagWbr:
		d.reopen()
		d.void(t)
		d.noFrames = true
	case TagInput:
		if d.selectInScope() {
			d.popUntil(TagSelect)
		}
		d.reopen()
		d.void(t)
		if !d.hiddenInput(t) {
			d.noFrames = true
		}
	case TagParam, TagSource, TagTrack:
		d.void(t)
	case TagHr:
		d.closeP()
		if d.selectInScope() {
			d.implied(TagRoot)
		}
		d.void(t)
		d.noFrames = true
	case TagTextarea:
		d.noFrames = true
		d.raw(t, true)
	case TagXmp:
		d.closeP()
		d.reopen()
		d.noFrames = true
		d.raw(t, false)
	case TagIframe:
		d.noFrames = true
		d.raw(t, false)
	case TagNoembed:
		d.raw(t, false)
	case TagSelect:
		if d.selectInScope() {
			d.popUntil(TagSelect)
			return
		}
		d.reopen()
		d.insert(tag, t)
		d.noFrames = true
	case TagOption:
		if d.selectInScope() {
			d.implied(TagOptgroup)
		} else if d.is(TagOption) {
			d.pop()
		}
		d.reopen()
		d.insert(tag, t)
	case TagOptgroup:
		if d.selectInScope() {
			d.implied(TagRoot)
		} else if d.is(TagOption) {
			d.pop()
		}
		d.reopen()
		d.insert(tag, t)
	case TagRb, TagRtc:
		if d.inScope(TagRuby, scope) {
			d.implied(TagRoot)
		}
		d.insert(tag, t)
	case TagRp, TagRt:
		if d.inScope(TagRuby, scope) {
			d.implied(TagRtc)
		}
		d.insert(tag, t)
	case TagMath:
		d.reopen()
		d.insertForeign(t, flagMath)
	case TagSVG:
		d.reopen()
		d.insertForeign(t, flagSVG)
	case TagCaption, TagCol, TagColgroup, TagFrame, TagHead, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
	default:
		d.reopen()
		d.insert(tag, t)
	}
}
