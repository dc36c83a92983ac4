package htmltree

// endTag handles an end tag.
func (b *builder) endTag(t *token) {
	if b.foreign > 0 && b.currentNode().Flags&flagForeign != 0 && b.foreignEnd(t) {
		return
	}
	for !b.endInMode(t) {
	}
}

// endInMode handles an end tag by the rules of the mode; false: it is to be handled again, in another mode. So do the
// functions of the modes.
func (b *builder) endInMode(t *token) (done bool) {
	switch b.mode {
	case mBody:
		b.bodyEnd(t)
		return true
	case mInitial:
		b.quirks = true
		b.mode = mBeforeHTML
		return false
	case mBeforeHTML, mBeforeHead:
		return b.endBeforeHead(t)
	case mHead:
		return b.endInHead(t)
	case mHeadNoscript:
		return b.endInHeadNoscript(t)
	case mAfterHead:
		return b.endAfterHead(t)
	case mTable:
		b.endInTable(t)
	case mCaption:
		return b.endInCaption(t)
	case mColgroup:
		return b.endInColgroup(t)
	case mTableBody:
		return b.endInTableBody(t)
	case mRow:
		return b.endInRow(t)
	case mCell:
		return b.endInCell(t)
	case mTemplate:
		if t.tag == TagTemplate {
			b.closeTemplate()
		}
	case mAfterBody:
		if t.tag == TagHTML {
			b.mode = mAfterAfterBody
			return true
		}
		b.mode = mBody
		return false
	case mAfterAfterBody:
		b.mode = mBody
		return false
	case mFrameset:
		b.endInFrameset(t)
	case mAfterFrameset:
		if t.tag == TagHTML {
			b.mode = mAfterAfterFrameset
		}
	case mAfterAfterFrameset:
	}
	return true
}

func (b *builder) endBeforeHead(t *token) (done bool) {
	switch t.tag {
	case TagHead, TagBody, TagHTML, TagBr:
		if b.mode == mBeforeHTML {
			b.openHTML(nil)
		} else {
			b.openHead(nil)
		}
		return false
	case TagTemplate:
		if b.mode == mBeforeHead {
			b.closeTemplate()
		}
	}
	return true
}

func (b *builder) endInHead(t *token) (done bool) {
	switch t.tag {
	case TagHead:
		b.leaveHead()
	case TagTemplate:
		b.closeTemplate()
	case TagBody, TagHTML, TagBr:
		b.leaveHead()
		return false
	}
	return true
}

func (b *builder) endInHeadNoscript(t *token) (done bool) {
	switch t.tag {
	case TagNoscript:
		b.leaveHead()
	case TagBr:
		b.leaveHead()
		return false
	}
	return true
}

func (b *builder) endAfterHead(t *token) (done bool) {
	switch t.tag {
	case TagTemplate:
		b.closeTemplate()
	case TagBody, TagHTML, TagBr:
		b.insertElement(TagBody, nil)
		b.mode = mBody
		return false
	}
	return true
}

func (b *builder) endInTable(t *token) {
	if t.tag != TagTable {
		b.tableEnd(t)
		return
	}
	if b.inScope(TagTable, scopeTable) {
		b.popUntil(TagTable)
		b.resetMode()
	}
}

func (b *builder) endInCaption(t *token) (done bool) {
	switch t.tag {
	case TagCaption:
		b.endCaption()
		return true
	case TagTable:
		return !b.endCaption()
	case TagBody, TagCol, TagColgroup, TagHTML, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
		return true
	}
	b.bodyEnd(t)
	return true
}

func (b *builder) endInColgroup(t *token) (done bool) {
	switch t.tag {
	case TagColgroup:
		b.endColgroup()
		return true
	case TagCol:
		return true
	case TagTemplate:
		b.closeTemplate()
		return true
	}
	return !b.endColgroup()
}

func (b *builder) endInTableBody(t *token) (done bool) {
	switch t.tag {
	case TagTbody, TagTfoot, TagThead:
		if b.inScope(t.tag, scopeTable) {
			b.clearTo(toTableBody)
			b.popNode()
			b.mode = mTable
		}
		return true
	case TagTable:
		return !b.endTableBody()
	}
	b.tableEnd(t)
	return true
}

func (b *builder) endInRow(t *token) (done bool) {
	switch t.tag {
	case TagTr:
		b.endRow()
		return true
	case TagTable:
		return !b.endRow()
	case TagTbody, TagTfoot, TagThead:
		return !b.inScope(t.tag, scopeTable) || !b.endRow()
	}
	b.tableEnd(t)
	return true
}

func (b *builder) endInCell(t *token) (done bool) {
	switch t.tag {
	case TagTd, TagTh:
		if b.inScope(t.tag, scopeTable) {
			b.closeImplied(TagRoot)
			b.popUntil(t.tag)
			b.clearList()
			b.mode = mRow
		}
		return true
	case TagBody, TagCaption, TagCol, TagColgroup, TagHTML:
		return true
	case TagTable, TagTbody, TagTfoot, TagThead, TagTr:
		if !b.inScope(t.tag, scopeTable) {
			return true
		}
		b.endCell()
		return false
	}
	b.bodyEnd(t)
	return true
}

func (b *builder) endInFrameset(t *token) {
	if t.tag == TagFrameset && len(b.stack) > 1 {
		b.popNode()
		if !b.isCurrent(TagFrameset) {
			b.mode = mAfterFrameset
		}
	}
}
