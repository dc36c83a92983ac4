package htmltree

import (
	"bytes"
)

// tableStart handles a start tag in a table; false: it is to be handled again.
func (d *Doc) tableStart(t *token) bool {
	switch t.tag {
	case TagCaption:
		d.clearTo(toTable)
		d.appendMarker()
		d.insertElement(TagCaption, t)
		d.mode = mCaption
		return true
	case TagColgroup:
		d.clearTo(toTable)
		d.insertElement(TagColgroup, t)
		d.mode = mColgroup
		return true
	case TagCol:
		d.clearTo(toTable)
		d.insertElement(TagColgroup, nil)
		d.mode = mColgroup
		return false
	case TagTbody, TagTfoot, TagThead:
		d.clearTo(toTable)
		d.insertElement(t.tag, t)
		d.mode = mTableBody
		return true
	case TagTd, TagTh, TagTr:
		d.clearTo(toTable)
		d.insertElement(TagTbody, nil)
		d.mode = mTableBody
		return false
	case TagTable:
		if !d.inScope(TagTable, scopeTable) {
			return true
		}
		d.popUntil(TagTable)
		d.resetMode()
		return false
	case TagStyle, TagScript, TagTemplate:
		d.headStart(t)
		return true
	case TagInput:
		if d.hiddenInput(t) {
			d.addVoidElement(t)
			return true
		}
	case TagForm:
		if d.form == 0 && d.open[TagTemplate] == 0 {
			d.form = d.insertElement(TagForm, t)
			d.popNode()
		}
		return true
	}
	d.foster = true
	d.bodyStart(t)
	d.foster = false
	return true
}

func (d *Doc) hiddenInput(t *token) bool {
	for k := t.a; k < t.b; k++ {
		if a := &d.Attrs[k]; a.Key == KeyType {
			return bytes.EqualFold(d.Value(a), []byte("hidden"))
		}
	}
	return false
}

func (d *Doc) endCaption() bool {
	if !d.inScope(TagCaption, scopeTable) {
		return false
	}
	d.closeImplied(TagRoot)
	d.popUntil(TagCaption)
	d.clearList()
	d.mode = mTable
	return true
}

func (d *Doc) endTableBody() bool {
	if !d.inScope(TagTbody, scopeTable) && !d.inScope(TagThead, scopeTable) && !d.inScope(TagTfoot, scopeTable) {
		return false
	}
	d.clearTo(toTableBody)
	d.popNode()
	d.mode = mTable
	return true
}

func (d *Doc) endRow() bool {
	if !d.inScope(TagTr, scopeTable) {
		return false
	}
	d.clearTo(toRow)
	d.popNode()
	d.mode = mTableBody
	return true
}

func (d *Doc) endCell() {
	d.closeImplied(TagRoot)
	for len(d.stack) > 1 {
		n := d.currentNode()
		is := n.Flags&flagForeign == 0 && build[n.Tag]&cells != 0
		d.popNode()
		if is {
			break
		}
	}
	d.clearList()
	d.mode = mRow
}

// tableEnd handles other end tags in a table.
func (d *Doc) tableEnd(t *token) {
	switch t.tag {
	case TagBody, TagCaption, TagCol, TagColgroup, TagHTML, TagTbody, TagTd, TagTfoot, TagTh, TagThead, TagTr:
		return
	case TagTemplate:
		d.closeTemplate()
		return
	}
	d.foster = true
	d.bodyEnd(t)
	d.foster = false
}
