package htmltree

import (
	"bytes"
)

// addText adds the text src[a:b], with entities.
func (d *Doc) addText(a, b int) { d.addCharacters(a, b, false) }

// addCharacters handles the text src[a:b]; raw: without entities.
func (d *Doc) addCharacters(a, b int, raw bool) {
	if d.foreign > 0 {
		if n := d.currentNode(); n.Flags&flagForeign != 0 && n.Flags&(flagHTMLPoint|flagTextPoint) == 0 || n.Flags&(flagHTMLPoint|flagTextPoint) == flagHTMLPoint|flagTextPoint {
			x := d.textNode(a, b, raw, true)
			if k := leadingBlanks(d.Text(&x)); k == len(d.Text(&x)) {
				x.Flags |= FlagBlank
			} else if !d.zeros || !blankOrNUL(d.src[a:b]) {
				d.noFrames = true
			}
			d.addNode(x)
			return
		}
	}
	if d.zeros && d.mode < mBody {
		if k := bytes.IndexByte(d.src[a:b], 0); k >= 0 { // it opens the body
			if k > 0 {
				d.addCharacters(a, a+k, raw)
			}
			d.toBody()
			if a+k+1 < b {
				d.addCharacters(a+k+1, b, raw)
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
				if x := d.currentNode(); x.Flags&flagForeign == 0 && (build[x.Tag]&isTablePart != 0 || x.Tag == TagTemplate) {
					n.Flags |= FlagBlank
					d.addNode(n)
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
				d.addNode(x)
			case mAfterBody, mAfterAfterBody, mAfterAfterFrameset:
				if blanks == len(s) {
					if d.mode == mAfterAfterFrameset {
						n.Flags |= FlagBlank
						d.addNode(n)
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
		case mInitial, mBeforeHTML, mBeforeHead, mHead, mHeadNoscript, mAfterHead:
			d.stepToBody()
		case mColgroup:
			if !d.isCurrent(TagColgroup) {
				// only its blanks count
				d.frameText(n, s)
				return
			}
			d.popNode()
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
			d.addNode(x)
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
	d.reopenFormatting()
	if blank {
		n.Flags |= FlagBlank
	} else {
		d.noFrames = true
	}
	d.addNode(n)
}

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

// addPlainText adds the rest of the page as text.
func (d *Doc) addPlainText(pos int) {
	n := d.textNode(pos, len(d.src), true, true)
	foster := d.foster
	d.foster = false
	d.reopenFormatting()
	d.addNode(n)
	d.foster = foster
}
