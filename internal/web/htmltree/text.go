package htmltree

import (
	"bytes"
)

// addText adds the text src[from:to], with entities.
func (b *builder) addText(from, to int) { b.addCharacters(from, to, false) }

// addCharacters handles the text src[from:to]; raw: without entities.
func (b *builder) addCharacters(from, to int, raw bool) {
	if b.foreign > 0 {
		if n := b.currentNode(); n.Flags&flagForeign != 0 && n.Flags&(flagHTMLPoint|flagTextPoint) == 0 || n.Flags&(flagHTMLPoint|flagTextPoint) == flagHTMLPoint|flagTextPoint {
			b.addForeignText(from, to, raw)
			return
		}
	}
	if b.zeros && b.mode < mBody {
		if k := bytes.IndexByte(b.src[from:to], 0); k >= 0 { // it opens the body
			if k > 0 {
				b.addCharacters(from, from+k, raw)
			}
			b.toBody()
			if from+k+1 < to {
				b.addCharacters(from+k+1, to, raw)
			}
			return
		}
	}
	n := b.textNode(from, to, raw, false)
	if s := b.Text(&n); len(s) > 0 {
		b.placeText(&n, s)
	}
}

// addForeignText adds a text of SVG or MathML.
func (b *builder) addForeignText(from, to int, raw bool) {
	n := b.textNode(from, to, raw, true)
	if s := b.Text(&n); leadingBlanks(s) == len(s) {
		n.Flags |= FlagBlank
	} else if !b.zeros || !blankOrNUL(b.src[from:to]) {
		b.noFrames = true
	}
	b.addNode(&n)
}

// placeText adds a text, whose bytes are s, by the rules of the mode, and of those that it leads to.
func (b *builder) placeText(n *Node, s []byte) {
	blanks := leadingBlanks(s)
	for {
		switch b.mode {
		case mBody, mCell, mCaption, mTemplate:
			b.bodyText(n, blanks == len(s))
			return
		case mTable, mTableBody, mRow:
			b.tableText(n, blanks == len(s))
			return
		case mAfterBody, mAfterAfterBody:
			if blanks == len(s) {
				b.bodyText(n, true)
				return
			}
			b.mode = mBody
			continue
		}
		if blanks > 0 {
			b.placeBlanks(n, blanks, len(s))
			if blanks == len(s) {
				return
			}
			n.A += int32(blanks)
			s = s[blanks:]
			blanks = 0
		}
		switch b.mode {
		case mInitial, mBeforeHTML, mBeforeHead, mHead, mHeadNoscript, mAfterHead:
			b.stepToBody()
		case mColgroup:
			if !b.endColgroup() {
				b.frameText(n, s) // only its blanks count
				return
			}
		case mFrameset, mAfterFrameset, mAfterAfterFrameset:
			b.frameText(n, s)
			return
		default:
			return
		}
	}
}

// placeBlanks adds the blanks at the begin of a text of size bytes: outside of the body they have a place of their own.
func (b *builder) placeBlanks(n *Node, blanks, size int) {
	switch b.mode {
	case mHead, mHeadNoscript, mAfterHead, mColgroup, mFrameset, mAfterFrameset:
	case mAfterAfterFrameset:
		if blanks < size {
			return
		}
	default:
		return
	}
	x := *n
	x.B = x.A + int32(blanks)
	x.Flags |= FlagBlank
	b.addNode(&x)
}

// tableText adds a text in a table, or in front of it.
func (b *builder) tableText(n *Node, blank bool) {
	if blank {
		if x := b.currentNode(); x.Flags&flagForeign == 0 && (build[x.Tag]&isTablePart != 0 || x.Tag == TagTemplate) {
			n.Flags |= FlagBlank
			b.addNode(n)
			return
		}
	}
	b.foster = true
	b.bodyText(n, blank)
	b.foster = false
}

// frameText adds the blanks of a text.
func (b *builder) frameText(n *Node, s []byte) {
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
			x := *n
			x.A, x.B = n.A+int32(j), n.A+int32(k)
			x.Flags |= FlagBlank
			b.addNode(&x)
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
func (b *body) bodyText(n *Node, blank bool) {
	b.reopenFormatting()
	if blank {
		n.Flags |= FlagBlank
	} else {
		b.noFrames = true
	}
	b.addNode(n)
}

// addPlainText adds the rest of the page as text.
func (b *body) addPlainText(pos int) {
	n := b.textNode(pos, len(b.src), true, true)
	foster := b.foster
	b.foster = false
	b.reopenFormatting()
	b.addNode(&n)
	b.foster = foster
}
