package htmltree

// endTag handles an end tag.
func (d *Doc) endTag(t *token) {
	if d.foreign > 0 && d.currentNode().Flags&flagForeign != 0 && d.foreignEnd(t) {
		return
	}
	d.htmlEnd(t)
}

func (d *Doc) htmlEnd(t *token) {
	for {
		switch d.mode {
		case mBody:
			d.bodyEnd(t)
			return
		case mInitial:
			d.quirks = true
			d.mode = mBeforeHTML
		case mBeforeHTML, mBeforeHead:
			switch t.tag {
			case TagHead, TagBody, TagHTML, TagBr:
				if d.mode == mBeforeHTML {
					d.openHTML(nil)
				} else {
					d.openHead(nil)
				}
				continue
			case TagTemplate:
				if d.mode == mBeforeHead {
					d.closeTemplate()
				}
			}
			return
		case mHead:
			switch t.tag {
			case TagHead:
				d.leaveHead()
				return
			case TagTemplate:
				d.closeTemplate()
				return
			case TagBody, TagHTML, TagBr:
				d.leaveHead()
				continue
			}
			return
		case mHeadNoscript:
			switch t.tag {
			case TagNoscript:
				d.leaveHead()
				return
			case TagBr:
				d.leaveHead()
				continue
			}
			return
		case mAfterHead:
			switch t.tag {
			case TagTemplate:
				d.closeTemplate()
				return
			case TagBody, TagHTML, TagBr:
				d.insertElement(TagBody, nil)
				d.mode = mBody
				continue
			}
			return
		case mTable:
			if t.tag == TagTable {
				if d.inScope(TagTable, scopeTable) {
					d.popUntil(TagTable)
					d.resetMode()
				}
				return
			}
			d.tableEnd(t)
			return
		case mCaption:
			switch t.tag {
			case TagCaption:
				d.endCaption()
				return
			case TagTable:
				if !d.endCaption() {
					return
				}
				continue
			case TagBody, TagCol, TagColgroup, TagHTML, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
				return
			}
			d.bodyEnd(t)
			return
		case mColgroup:
			switch t.tag {
			case TagColgroup:
				if d.isCurrent(TagColgroup) {
					d.popNode()
					d.mode = mTable
				}
				return
			case TagCol:
				return
			case TagTemplate:
				d.closeTemplate()
				return
			}
			if !d.isCurrent(TagColgroup) {
				return
			}
			d.popNode()
			d.mode = mTable
		case mTableBody:
			switch t.tag {
			case TagTbody, TagTfoot, TagThead:
				if d.inScope(t.tag, scopeTable) {
					d.clearTo(toTableBody)
					d.popNode()
					d.mode = mTable
				}
				return
			case TagTable:
				if !d.endTableBody() {
					return
				}
				continue
			}
			d.tableEnd(t)
			return
		case mRow:
			switch t.tag {
			case TagTr:
				d.endRow()
				return
			case TagTable:
				if !d.endRow() {
					return
				}
				continue
			case TagTbody, TagTfoot, TagThead:
				if !d.inScope(t.tag, scopeTable) || !d.endRow() {
					return
				}
				continue
			}
			d.tableEnd(t)
			return
		case mCell:
			switch t.tag {
			case TagTd, TagTh:
				if !d.inScope(t.tag, scopeTable) {
					return
				}
				d.closeImplied(TagRoot)
				d.popUntil(t.tag)
				d.clearList()
				d.mode = mRow
				return
			case TagBody, TagCaption, TagCol, TagColgroup, TagHTML:
				return
			case TagTable, TagTbody, TagTfoot, TagThead, TagTr:
				if !d.inScope(t.tag, scopeTable) {
					return
				}
				d.endCell()
				continue
			}
			d.bodyEnd(t)
			return
		case mTemplate:
			if t.tag == TagTemplate {
				d.closeTemplate()
			}
			return
		case mAfterBody:
			if t.tag == TagHTML {
				d.mode = mAfterAfterBody
				return
			}
			d.mode = mBody
		case mAfterAfterBody:
			d.mode = mBody
		case mFrameset:
			if t.tag == TagFrameset && len(d.stack) > 1 {
				d.popNode()
				if !d.isCurrent(TagFrameset) {
					d.mode = mAfterFrameset
				}
			}
			return
		case mAfterFrameset:
			if t.tag == TagHTML {
				d.mode = mAfterAfterFrameset
			}
			return
		case mAfterAfterFrameset:
			return
		}
	}
}

// bodyEnd handles an end tag in the body.
func (d *Doc) bodyEnd(t *token) {
	switch tag := t.tag; tag {
	case TagTemplate:
		d.closeTemplate()
	case TagBody:
		if d.inScope(TagBody, scope) {
			d.mode = mAfterBody
		}
	case TagHTML:
		if d.inScope(TagBody, scope) {
			d.mode = mAfterAfterBody
		}
	case TagAddress, TagArticle, TagAside, TagBlockquote, TagButton, TagCenter, TagDetails, TagDialog, TagDir, TagDiv, TagDl, TagFieldset, TagFigcaption,
		TagFigure, TagFooter, TagHeader, TagHgroup, TagListing, TagMain, TagMenu, TagNav, TagOl, TagPre, TagSearch, TagSection, TagSelect, TagSummary, TagUl:
		if d.inScope(tag, scope) {
			d.closeImplied(TagRoot)
			d.popUntil(tag)
		}
	case TagForm:
		if d.open[TagTemplate] > 0 {
			if d.inScope(TagForm, scope) {
				d.closeImplied(TagRoot)
				d.popUntil(TagForm)
			}
			return
		}
		i := d.form
		d.form = 0
		if i == 0 || d.Nodes[i].Flags&flagOpen == 0 {
			return
		}
		for k := len(d.stack) - 1; k > 0; k-- {
			if d.stack[k] == i {
				if d.findInScope(TagForm, scope) == k {
					d.closeImplied(TagRoot)
					d.removeFromStack(k)
				}
				return
			}
		}
	case TagP:
		if !d.inScope(TagP, scopeButton) {
			d.insertElement(TagP, nil)
		}
		d.closeP()
	case TagLi:
		if d.inScope(tag, scopeItem) {
			d.closeImplied(tag)
			d.popUntil(tag)
		}
	case TagDd, TagDt:
		if d.inScope(tag, scope) {
			d.closeImplied(tag)
			d.popUntil(tag)
		}
	case TagH1, TagH2, TagH3, TagH4, TagH5, TagH6:
		if !d.anyInScope(headings, scope) {
			return
		}
		d.closeImplied(TagRoot)
		for len(d.stack) > 1 {
			n := d.currentNode()
			is := n.Flags&flagForeign == 0 && build[n.Tag]&headings != 0
			d.popNode()
			if is {
				break
			}
		}
	case TagA, TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagNobr, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU:
		d.runAdoption(t)
	case TagApplet, TagMarquee, TagObject:
		if d.inScope(tag, scope) {
			d.closeImplied(TagRoot)
			d.popUntil(tag)
			d.clearList()
		}
	case TagBr:
		d.reopenFormatting()
		d.addNode(Node{Tag: TagBr})
		d.noFrames = true
	case TagNoscript:
		if d.Strict || d.open[TagNoscript] == 0 {
			d.otherEnd(t)
			return
		}
		d.popUntil(TagNoscript) // whatever is open in it: a browser with scripts ends it here
		d.resetMode()
	default:
		d.otherEnd(t)
	}
}
