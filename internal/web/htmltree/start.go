package htmltree

// startTag handles a start tag.
func (b *builder) startTag(t *token) {
	if t.tag == TagImage {
		t.tag = TagImg
	}
	if b.foreign > 0 {
		n := b.currentNode()
		if n.Flags&flagForeign != 0 && !b.htmlIn(n, t) && b.foreignStart(t) {
			return
		}
	}
	for !b.startInMode(t) {
	}
}

// htmlIn reports whether a start tag in a foreign element is one of HTML.
func (b *builder) htmlIn(n *Node, t *token) bool {
	switch n.Flags & (flagHTMLPoint | flagTextPoint) {
	case flagHTMLPoint:
		return true
	case flagTextPoint:
		name := b.src[t.start:t.end]
		return !equalName(name, "mglyph") && !equalName(name, "malignmark")
	case flagHTMLPoint | flagTextPoint: // annotation-xml
		return t.tag == TagSVG
	}
	return false
}

func equalName(b []byte, lower string) bool { return len(b) == len(lower) && equalFold(b, lower) }

// startInMode handles a start tag by the rules of the mode; false: it is to be handled again, in another mode. So do the
// functions of the modes.
func (b *builder) startInMode(t *token) (done bool) {
	switch b.mode {
	case mBody:
		b.bodyStart(t)
		return true
	case mInitial:
		b.quirks = true
		b.mode = mBeforeHTML
		return false
	case mBeforeHTML:
		return b.startBeforeHTML(t)
	case mBeforeHead:
		return b.startBeforeHead(t)
	case mHead:
		return b.startInHead(t)
	case mHeadNoscript:
		return b.startInHeadNoscript(t)
	case mAfterHead:
		return b.startAfterHead(t)
	case mTable:
		return b.tableStart(t)
	case mCaption:
		return b.startInCaption(t)
	case mColgroup:
		return b.startInColgroup(t)
	case mTableBody:
		return b.startInTableBody(t)
	case mRow:
		return b.startInRow(t)
	case mCell:
		return b.startInCell(t)
	case mTemplate:
		return b.startInTemplate(t)
	case mAfterBody, mAfterAfterBody:
		return b.startAfterBody(t)
	case mFrameset:
		b.startInFrameset(t)
	case mAfterFrameset, mAfterAfterFrameset:
		b.startAfterFrameset(t)
	}
	return true
}

func (b *builder) startBeforeHTML(t *token) (done bool) {
	if t.tag == TagHTML {
		b.openHTML(t)
		return true
	}
	b.openHTML(nil)
	return false
}

func (b *builder) startBeforeHead(t *token) (done bool) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
		return true
	case TagHead:
		b.openHead(t)
		return true
	}
	b.openHead(nil)
	return false
}

func (b *builder) startInHead(t *token) (done bool) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
		return true
	case TagHead:
		return true
	case TagNoscript:
		if !b.Strict { // a browser with scripts shows nothing of it
			b.addRawElement(t, false)
			return true
		}
		b.insertElement(TagNoscript, t)
		b.mode = mHeadNoscript
		return true
	case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagTitle, TagNoframes, TagStyle, TagScript, TagTemplate:
		b.headStart(t)
		return true
	}
	b.leaveHead()
	return false
}

func (b *builder) startInHeadNoscript(t *token) (done bool) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
		return true
	case TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagStyle:
		b.headStart(t)
		return true
	case TagHead, TagNoscript:
		return true
	}
	b.leaveHead()
	return false
}

func (b *builder) startAfterHead(t *token) (done bool) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
		return true
	case TagBody:
		b.insertElement(TagBody, t)
		b.noFrames = true
		b.mode = mBody
		return true
	case TagFrameset:
		b.insertElement(TagFrameset, t)
		b.mode = mFrameset
		return true
	case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
		b.pushNode(b.head)
		b.headStart(t)
		b.removeOpen(b.head)
		return true
	case TagHead:
		return true
	}
	b.insertElement(TagBody, nil)
	b.mode = mBody
	return false
}

func (b *builder) startInCaption(t *token) (done bool) {
	switch t.tag {
	case TagCaption, TagCol, TagColgroup, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
		return !b.endCaption()
	}
	b.bodyStart(t)
	return true
}

func (b *builder) startInColgroup(t *token) (done bool) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
		return true
	case TagCol:
		b.addVoidElement(t)
		return true
	case TagTemplate:
		b.headStart(t)
		return true
	}
	return !b.endColgroup()
}

func (b *builder) startInTableBody(t *token) (done bool) {
	switch t.tag {
	case TagTr:
		b.clearTo(toTableBody)
		b.insertElement(TagTr, t)
		b.mode = mRow
		return true
	case TagTh, TagTd:
		b.clearTo(toTableBody)
		b.insertElement(TagTr, nil)
		b.mode = mRow
		return false
	case TagCaption, TagCol, TagColgroup, TagTbody, TagTfoot, TagThead:
		return !b.endTableBody()
	}
	return b.tableStart(t)
}

func (b *builder) startInRow(t *token) (done bool) {
	switch t.tag {
	case TagTh, TagTd:
		b.clearTo(toRow)
		b.insertElement(t.tag, t)
		b.mode = mCell
		b.appendMarker()
		return true
	case TagCaption, TagCol, TagColgroup, TagTbody, TagTfoot, TagThead, TagTr:
		return !b.endRow()
	}
	return b.tableStart(t)
}

func (b *builder) startInCell(t *token) (done bool) {
	switch t.tag {
	case TagCaption, TagCol, TagColgroup, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
		if !b.anyInScope(cells, scopeTable) {
			return true
		}
		b.endCell()
		return false
	}
	b.bodyStart(t)
	return true
}

func (b *builder) startInTemplate(t *token) (done bool) {
	m := mBody
	switch t.tag {
	case TagBase, TagBasefont, TagBgsound, TagLink, TagMeta, TagNoframes, TagScript, TagStyle, TagTemplate, TagTitle:
		b.headStart(t)
		return true
	case TagCaption, TagColgroup, TagTbody, TagTfoot, TagThead:
		m = mTable
	case TagCol:
		m = mColgroup
	case TagTr:
		m = mTableBody
	case TagTd, TagTh:
		m = mRow
	}
	b.templates[len(b.templates)-1] = m
	b.mode = m
	return false
}

func (b *builder) startAfterBody(t *token) (done bool) {
	if t.tag == TagHTML {
		b.bodyStart(t)
		return true
	}
	b.mode = mBody
	return false
}

func (b *builder) startInFrameset(t *token) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
	case TagFrameset:
		b.insertElement(TagFrameset, t)
	case TagFrame:
		b.addVoidElement(t)
	case TagNoframes:
		b.headStart(t)
	}
}

func (b *builder) startAfterFrameset(t *token) {
	switch t.tag {
	case TagHTML:
		b.bodyStart(t)
	case TagNoframes:
		b.headStart(t)
	}
}
