package htmltree

import "bytes"

// characters handles the text src[a:b]; raw: without entities.
func (d *Doc) characters(a, b int, raw bool) {
	if d.foreign > 0 {
		if n := d.top(); n.Flags&flagForeign != 0 && n.Flags&(flagHTMLPoint|flagTextPoint) == 0 || n.Flags&(flagHTMLPoint|flagTextPoint) == flagHTMLPoint|flagTextPoint {
			x := d.textNode(a, b, raw, true)
			if k := leadingBlanks(d.Text(&x)); k == len(d.Text(&x)) {
				x.Flags |= FlagBlank
			} else if !d.zeros || !blankOrNUL(d.src[a:b]) {
				d.noFrames = true
			}
			d.put(x)
			return
		}
	}
	if d.zeros && d.mode < mBody {
		if k := bytes.IndexByte(d.src[a:b], 0); k >= 0 { // it opens the body
			if k > 0 {
				d.characters(a, a+k, raw)
			}
			d.toBody()
			if a+k+1 < b {
				d.characters(a+k+1, b, raw)
			}
			return
		}
	}
	n := d.textNode(a, b, raw, false)
	s := d.Text(&n)
	if len(s) == 0 {
		return
	}
	blanks := leadingBlanks(s)
	for {
		switch d.mode {
		case mBody, mCell, mCaption, mTemplate:
			d.bodyText(n, blanks == len(s))
			return
		case mTable, mTableBody, mRow:
			if blanks == len(s) {
				if x := d.top(); x.Flags&flagForeign == 0 && (build[x.Tag]&isTablePart != 0 || x.Tag == TagTemplate) {
					n.Flags |= FlagBlank
					d.put(n)
					return
				}
			}
			d.foster = true
			d.bodyText(n, blanks == len(s))
			d.foster = false
			return
		}
		// Blanks at the begin have a place of their own.
		if blanks > 0 {
			switch d.mode {
			case mHead, mHeadNoscript, mAfterHead, mColgroup, mFrameset, mAfterFrameset:
				x := n
				x.B = x.A + int32(blanks)
				x.Flags |= FlagBlank
				d.put(x)
			case mAfterBody, mAfterAfterBody, mAfterAfterFrameset:
				if blanks == len(s) {
					if d.mode == mAfterAfterFrameset {
						n.Flags |= FlagBlank
						d.put(n)
					} else {
						d.bodyText(n, true)
					}
					return
				}
				if d.mode != mAfterAfterFrameset {
					d.mode = mBody
					continue
				}
			}
			if blanks == len(s) {
				return
			}
			n.A += int32(blanks)
			s = s[blanks:]
			blanks = 0
		}
		switch d.mode {
		case mInitial:
			d.quirks = true
			d.mode = mBeforeHTML
		case mBeforeHTML:
			d.openHTML(nil)
		case mBeforeHead:
			d.openHead(nil)
		case mHead, mHeadNoscript:
			d.leaveHead()
			if d.mode == mHead {
				continue
			}
		case mAfterHead:
			d.insert(TagBody, nil)
			d.mode = mBody
		case mColgroup:
			if !d.is(TagColgroup) {
				// only its blanks count
				d.frameText(n, s)
				return
			}
			d.pop()
			d.mode = mTable
		case mAfterBody, mAfterAfterBody:
			d.mode = mBody
		case mFrameset, mAfterFrameset, mAfterAfterFrameset:
			d.frameText(n, s)
			return
		default:
			return
		}
	}
}

// frameText adds the blanks of a text.
func (d *Doc) frameText(n Node, s []byte) {
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && !IsSpace(s[j]) {
			j++
		}
		k := j
		for k < len(s) && IsSpace(s[k]) {
			k++
		}
		if k > j {
			x := n
			x.A, x.B = n.A+int32(j), n.A+int32(k)
			x.Flags |= FlagBlank
			d.put(x)
		}
		i = k
	}
}

func blankOrNUL(s []byte) bool {
	for _, c := range s {
		if c != 0 && !IsSpace(c) {
			return false
		}
	}
	return true
}

func leadingBlanks(s []byte) int {
	for i, c := range s {
		if !IsSpace(c) {
			return i
		}
	}
	return len(s)
}

// bodyText adds a text in the body.
func (d *Doc) bodyText(n Node, blank bool) {
	d.reopen()
	if blank {
		n.Flags |= FlagBlank
	} else {
		d.noFrames = true
	}
	d.put(n)
}

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

// headStart handles a start tag that may stand in the head.
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

// tableStart handles a start tag in a table; false: it is to be handled again.
func (d *Doc) tableStart(t *token) bool {
	switch t.tag {
	case TagCaption:
		d.clearTo(toTable)
		d.marker()
		d.insert(TagCaption, t)
		d.mode = mCaption
		return true
	case TagColgroup:
		d.clearTo(toTable)
		d.insert(TagColgroup, t)
		d.mode = mColgroup
		return true
	case TagCol:
		d.clearTo(toTable)
		d.insert(TagColgroup, nil)
		d.mode = mColgroup
		return false
	case TagTbody, TagTfoot, TagThead:
		d.clearTo(toTable)
		d.insert(t.tag, t)
		d.mode = mTableBody
		return true
	case TagTd, TagTh, TagTr:
		d.clearTo(toTable)
		d.insert(TagTbody, nil)
		d.mode = mTableBody
		return false
	case TagTable:
		if !d.inScope(TagTable, scopeTable) {
			return true
		}
		d.popUntil(TagTable)
		d.reset()
		return false
	case TagStyle, TagScript, TagTemplate:
		d.headStart(t)
		return true
	case TagInput:
		if d.hiddenInput(t) {
			d.void(t)
			return true
		}
	case TagForm:
		if d.form == 0 && d.open[TagTemplate] == 0 {
			d.form = d.insert(TagForm, t)
			d.pop()
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
	d.implied(TagRoot)
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
	d.pop()
	d.mode = mTable
	return true
}

func (d *Doc) endRow() bool {
	if !d.inScope(TagTr, scopeTable) {
		return false
	}
	d.clearTo(toRow)
	d.pop()
	d.mode = mTableBody
	return true
}

func (d *Doc) endCell() {
	d.implied(TagRoot)
	for len(d.stack) > 1 {
		n := d.top()
		is := n.Flags&flagForeign == 0 && build[n.Tag]&cells != 0
		d.pop()
		if is {
			break
		}
	}
	d.clearList()
	d.mode = mRow
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

// selectInScope reports whether a select is open.
func (d *Doc) selectInScope() bool { return d.open[TagSelect] > 0 && d.find(TagSelect, scope) >= 0 }

// skipLineFeed leaves out a line feed at the begin of a listing.
func (d *Doc) skipLineFeed() {
	s := d.src[d.pos:]
	for _, x := range lineFeeds {
		if HasPrefix(s, x) {
			d.pos += len(x)
			return
		}
	}
}

var lineFeeds = [...]string{"\n", "&#10;", "&#x0a;", "&#xa;", "&#x0A;", "&#xA;"}

// plain adds the rest of the page as text.
func (d *Doc) plain(pos int) {
	n := d.textNode(pos, len(d.src), true, true)
	foster := d.foster
	d.foster = false
	d.reopen()
	d.put(n)
	d.foster = foster
}

// endTag handles an end tag.
func (d *Doc) endTag(t *token) {
	if d.foreign > 0 && d.top().Flags&flagForeign != 0 && d.foreignEnd(t) {
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
				d.insert(TagBody, nil)
				d.mode = mBody
				continue
			}
			return
		case mTable:
			if t.tag == TagTable {
				if d.inScope(TagTable, scopeTable) {
					d.popUntil(TagTable)
					d.reset()
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
				if d.is(TagColgroup) {
					d.pop()
					d.mode = mTable
				}
				return
			case TagCol:
				return
			case TagTemplate:
				d.closeTemplate()
				return
			}
			if !d.is(TagColgroup) {
				return
			}
			d.pop()
			d.mode = mTable
		case mTableBody:
			switch t.tag {
			case TagTbody, TagTfoot, TagThead:
				if d.inScope(t.tag, scopeTable) {
					d.clearTo(toTableBody)
					d.pop()
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
				d.implied(TagRoot)
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
				d.pop()
				if !d.is(TagFrameset) {
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
			d.implied(TagRoot)
			d.popUntil(tag)
		}
	case TagForm:
		if d.open[TagTemplate] > 0 {
			if d.inScope(TagForm, scope) {
				d.implied(TagRoot)
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
				if d.find(TagForm, scope) == k {
					d.implied(TagRoot)
					d.remove(k)
				}
				return
			}
		}
	case TagP:
		if !d.inScope(TagP, scopeButton) {
			d.insert(TagP, nil)
		}
		d.closeP()
	case TagLi:
		if d.inScope(tag, scopeItem) {
			d.implied(tag)
			d.popUntil(tag)
		}
	case TagDd, TagDt:
		if d.inScope(tag, scope) {
			d.implied(tag)
			d.popUntil(tag)
		}
	case TagH1, TagH2, TagH3, TagH4, TagH5, TagH6:
		if !d.anyInScope(headings, scope) {
			return
		}
		d.implied(TagRoot)
		for len(d.stack) > 1 {
			n := d.top()
			is := n.Flags&flagForeign == 0 && build[n.Tag]&headings != 0
			d.pop()
			if is {
				break
			}
		}
	case TagA, TagB, TagBig, TagCode, TagEm, TagFont, TagI, TagNobr, TagS, TagSmall, TagStrike, TagStrong, TagTt, TagU:
		d.adopt(t)
	case TagApplet, TagMarquee, TagObject:
		if d.inScope(tag, scope) {
			d.implied(TagRoot)
			d.popUntil(tag)
			d.clearList()
		}
	case TagBr:
		d.reopen()
		d.put(Node{Tag: TagBr})
		d.noFrames = true
	case TagNoscript:
		if d.Strict || d.open[TagNoscript] == 0 {
			d.otherEnd(t)
			return
		}
		d.popUntil(TagNoscript) // whatever is open in it: a browser with scripts ends it here
		d.reset()
	default:
		d.otherEnd(t)
	}
}

// Foreign content.

// insertForeign opens an element of SVG or MathML.
func (d *Doc) insertForeign(t *token, space uint8) {
	n := Node{Tag: TagOther, Flags: space, name: t.start}
	name := d.src[t.start:t.end]
	if space == flagSVG {
		switch {
		case t.tag == TagSVG:
			n.Tag = TagSVG
		case t.tag == TagTitle, equalName(name, "desc"), equalName(name, "foreignobject"):
			n.Flags |= flagHTMLPoint
		}
	} else {
		switch {
		case t.tag == TagMath:
			n.Tag, n.A, n.B = TagMath, t.a, t.b
		case equalName(name, "mi"), equalName(name, "mo"), equalName(name, "mn"), equalName(name, "ms"), equalName(name, "mtext"):
			n.Flags |= flagTextPoint
		case equalName(name, "annotation-xml"):
			n.Flags |= flagHTMLPoint | flagTextPoint
			if a, b, ok := d.rawAttr(&n, []byte("encoding")); ok {
				if v := d.src[a:b]; equalName(v, "text/html") || equalName(v, "application/xhtml+xml") {
					n.Flags &^= flagTextPoint
				}
			}
		}
	}
	if t.selfClosing {
		d.put(n)
		return
	}
	if len(d.stack) >= maxDepth {
		d.pop()
	}
	d.push(d.put(n))
}

// foreignStart handles a start tag in SVG or MathML; false: it is one of HTML.
func (d *Doc) foreignStart(t *token) bool {
	out := build[t.tag]&breaksOut != 0 && !equalName(d.src[t.start:t.end], "image")
	if t.tag == TagFont {
		n := Node{name: t.start}
		for _, key := range []string{"color", "face", "size"} {
			if _, _, ok := d.rawAttr(&n, []byte(key)); ok {
				out = true
			}
		}
	}
	if out {
		d.leaveForeign()
		return false
	}
	d.insertForeign(t, d.top().Flags&flagForeign)
	return true
}

// leaveForeign closes elements up to where HTML may stand.
func (d *Doc) leaveForeign() {
	for len(d.stack) > 1 {
		n := d.top()
		if p := n.Flags & (flagHTMLPoint | flagTextPoint); n.Flags&flagForeign == 0 || p == flagHTMLPoint || p == flagTextPoint {
			return
		}
		d.pop()
	}
}

// foreignEnd handles an end tag in SVG or MathML; false: it is one of HTML.
func (d *Doc) foreignEnd(t *token) bool {
	if t.tag == TagBr || t.tag == TagP {
		d.leaveForeign()
		return false
	}
	name := d.src[t.start:t.end]
	for k := len(d.stack) - 1; k > 0; k-- {
		n := &d.Nodes[d.stack[k]]
		if n.Flags&flagForeign == 0 {
			return false
		}
		if bytes.EqualFold(d.Name(n), name) {
			d.popTo(k)
			return true
		}
	}
	return true
}

// quirky reports whether a doctype, without <!doctype, is one of old pages.
func quirky(s []byte) bool {
	s = bytes.TrimLeft(s, " \t\n\f")
	i := 0
	for i < len(s) && !IsSpace(s[i]) {
		i++
	}
	if !equalName(s[:i], "html") {
		return true
	}
	s = bytes.TrimLeft(s[i:], " \t\n\f")
	if len(s) == 0 {
		return false
	}
	quoted := func() (v []byte, ok bool) {
		s = bytes.TrimLeft(s, " \t\n\f")
		if len(s) == 0 || s[0] != '"' && s[0] != '\'' {
			return nil, false
		}
		j := bytes.IndexByte(s[1:], s[0])
		if j < 0 {
			return nil, false
		}
		v, s = s[1:1+j], s[2+j:]
		return v, true
	}
	var public, system []byte
	hasSystem := false
	switch {
	case len(s) >= 6 && equalFold(s[:6], "public"):
		s = s[6:]
		var ok bool
		if public, ok = quoted(); !ok {
			return true
		}
		rest := len(bytes.TrimLeft(s, " \t\n\f"))
		if system, hasSystem = quoted(); !hasSystem && rest > 0 {
			return true
		}
	case len(s) >= 6 && equalFold(s[:6], "system"):
		s = s[6:]
		if system, hasSystem = quoted(); !hasSystem {
			return true
		}
	default:
		return true
	}
	p := bytes.ToLower(public)
	if bytes.EqualFold(system, []byte("http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd")) {
		return true
	}
	switch string(p) {
	case "-//w3o//dtd w3 html strict 3.0//en//", "-/w3c/dtd html 4.0 transitional/en", "html":
		return true
	}
	if !hasSystem && (HasPrefix(p, "-//w3c//dtd html 4.01 frameset//") || HasPrefix(p, "-//w3c//dtd html 4.01 transitional//")) {
		return true
	}
	for _, x := range quirkyIDs {
		if HasPrefix(p, x) {
			return true
		}
	}
	return false
}

var quirkyIDs = []string{"+//silmaril//dtd html pro v0r11 19970101//", "-//as//dtd html 3.0 aswedit + extensions//", "-//advasoft ltd//dtd html 3.0 aswedit + extensions//",
	"-//ietf//dtd html", "-//metrius//dtd metrius presentational//", "-//microsoft//dtd internet explorer", "-//netscape comm. corp.//dtd", "-//o'reilly and associates//dtd html",
	"-//sq//dtd html 2.0 hotmetal + extensions//", "-//softquad software//dtd hotmetal pro 6.0::19990601::extensions to html 4.0//",
	"-//softquad//dtd hotmetal pro 4.0::19971010::extensions to html 4.0//", "-//spyglass//dtd html 2.0 extended//", "-//sun microsystems corp.//dtd hotjava",
	"-//w3c//dtd html 3 1995-03-24//", "-//w3c//dtd html 3.2", "-//w3c//dtd html 4.0 frameset//", "-//w3c//dtd html 4.0 transitional//",
	"-//w3c//dtd html experimental", "-//w3c//dtd w3 html//", "-//w3o//dtd w3 html 3.0//", "-//webtechs//dtd mozilla html"}
