package htmltree

// tableStart handles a start tag in a table; false: it is to be handled again.
func (b *builder) tableStart(t *token) bool {
	switch t.tag {
	case TagCaption:
		b.clearTo(toTable)
		b.appendMarker()
		b.insertElement(TagCaption, t)
		b.mode = mCaption
		return true
	case TagColgroup:
		b.clearTo(toTable)
		b.insertElement(TagColgroup, t)
		b.mode = mColgroup
		return true
	case TagCol:
		b.clearTo(toTable)
		b.insertElement(TagColgroup, nil)
		b.mode = mColgroup
		return false
	case TagTbody, TagTfoot, TagThead:
		b.clearTo(toTable)
		b.insertElement(t.tag, t)
		b.mode = mTableBody
		return true
	case TagTd, TagTh, TagTr:
		b.clearTo(toTable)
		b.insertElement(TagTbody, nil)
		b.mode = mTableBody
		return false
	case TagTable:
		if !b.inScope(TagTable, scopeTable) {
			return true
		}
		b.popUntil(TagTable)
		b.resetMode()
		return false
	case TagStyle, TagScript, TagTemplate:
		b.headStart(t)
		return true
	case TagInput:
		if b.hiddenInput(t) {
			b.addVoidElement(t)
			return true
		}
	case TagForm:
		if b.form == 0 && b.open[TagTemplate] == 0 {
			b.form = b.insertElement(TagForm, t)
			b.popNode()
		}
		return true
	}
	b.foster = true
	b.bodyStart(t)
	b.foster = false
	return true
}

func (b *builder) endCaption() bool {
	if !b.inScope(TagCaption, scopeTable) {
		return false
	}
	b.closeImplied(TagRoot)
	b.popUntil(TagCaption)
	b.clearList()
	b.mode = mTable
	return true
}

// endColgroup closes a colgroup; false: none is the current node.
func (b *builder) endColgroup() bool {
	if !b.isCurrent(TagColgroup) {
		return false
	}
	b.popNode()
	b.mode = mTable
	return true
}

func (b *builder) endTableBody() bool {
	if !b.inScope(TagTbody, scopeTable) && !b.inScope(TagThead, scopeTable) && !b.inScope(TagTfoot, scopeTable) {
		return false
	}
	b.clearTo(toTableBody)
	b.popNode()
	b.mode = mTable
	return true
}

func (b *builder) endRow() bool {
	if !b.inScope(TagTr, scopeTable) {
		return false
	}
	b.clearTo(toRow)
	b.popNode()
	b.mode = mTableBody
	return true
}

func (b *builder) endCell() {
	b.closeImplied(TagRoot)
	b.popUntilAny(cells)
	b.clearList()
	b.mode = mRow
}

// tableEnd handles other end tags in a table.
func (b *builder) tableEnd(t *token) {
	switch t.tag {
	case TagBody, TagCaption, TagCol, TagColgroup, TagHTML, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
		return
	case TagTemplate:
		b.closeTemplate()
		return
	}
	b.foster = true
	b.bodyEnd(t)
	b.foster = false
}
