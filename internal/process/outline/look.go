package outline

import (
	"bytes"

	"hce/dc/internal/web/htmltree"
)

// Look returns what the attributes of an element say: hints of its class, id and role, bits of the elements around a
// line, and whether the element is not displayed. A panel that opens at a click is displayed.
func (o *Outline) Look(n *htmltree.Node) (h Hints, in uint32, hidden bool) {
	ownsID := o.ownsID(n)
	for i := n.A; i < n.B; i++ {
		a := &o.Doc.Attrs[i]
		v := o.Doc.Value(a)
		switch a.Key {
		case htmltree.KeyHidden:
			hidden = hidden || !bytes.Equal(v, []byte("until-found"))
		case htmltree.KeyStyle:
			hidden = hidden || displaysNone(v)
		case htmltree.KeyClass:
			x := o.hintsOf(v)
			if x&unseen != 0 {
				return 0, 0, true
			}
			h |= x
		case htmltree.KeyID:
			if ownsID {
				h |= o.hintsOf(v) &^ (unseen | marks)
			}
		case htmltree.KeyRole:
			if k, ok := hintRoles[htmltree.String(v)]; ok {
				h |= 1 << k
			}
			if string(v) == "tabpanel" {
				h |= markPanel
			}
		case htmltree.KeyItemprop:
			x, bit := hintsOfItem(v)
			h, in = h|x, in|bit
		case htmltree.KeyRel:
			if bytes.Equal(v, []byte("author")) {
				h |= 1 << HintAuthor
			}
		case htmltree.KeyAriaHidden:
			if bytes.Equal(v, []byte("true")) {
				in |= InAriaHidden
			}
		}
	}
	if hidden && !o.isRevealed(n, h) {
		return 0, 0, true
	}
	return h, in, false
}

// ownsID reports whether the id of an element says what it is. That of a heading, a term or a section is often made of
// the words of its heading.
func (o *Outline) ownsID(n *htmltree.Node) bool {
	switch {
	case n.Tag.IsHeading() || n.Tag == htmltree.TagDt:
		return false
	case n.Tag == htmltree.TagSection:
		return o.Doc.Has(n, htmltree.KeyClass)
	case n.Tag == htmltree.TagDiv:
		return string(o.Doc.Attr(n, htmltree.KeyClass)) != "section"
	}
	return true
}

func displaysNone(style []byte) bool {
	j := bytes.Index(style, []byte("display"))
	return j >= 0 && bytes.HasPrefix(bytes.TrimLeft(style[j+7:], " :"), []byte("none"))
}

// hintsOfItem returns what an itemprop says.
func hintsOfItem(v []byte) (h Hints, in uint32) {
	switch htmltree.String(v) {
	case "articleBody", "text":
		return 1 << HintBody, InBodyProp
	case "author":
		return 1 << HintAuthor, 0
	case "datePublished", "dateModified":
		return 1 << HintDate, 0
	case "headline", "name":
		return 1 << hintTitle, 0
	}
	return 0, 0
}

// hintsOf returns the hints of a class or id, which are computed once for each value.
func (o *Outline) hintsOf(v []byte) Hints {
	x, known := o.hints[htmltree.String(v)]
	if !known {
		x = hintsOf(v, &o.scratch)
		o.hints[htmltree.String(v)] = x
	}
	return x
}

// isRevealed reports whether a hidden element is a panel that a click opens: a tab, a part of an accordion, an answer.
// Menus and dialogs are not.
func (o *Outline) isRevealed(n *htmltree.Node, h Hints) bool {
	if h&markPanel != 0 {
		return true
	}
	if h&(1<<HintNav|1<<HintShare|1<<HintForm|1<<HintAd|1<<HintRelated|1<<HintFooter) != 0 {
		return false
	}
	switch n.Tag {
	case htmltree.TagDiv, htmltree.TagSection, htmltree.TagDd, htmltree.TagP, htmltree.TagArticle:
		id := o.Doc.Attr(n, htmltree.KeyID)
		return len(id) > 0 && o.isControlled(htmltree.String(id))
	}
	return false
}

// isControlled reports whether a control of the page opens the element with this id.
func (o *Outline) isControlled(id string) bool {
	if o.controls == nil {
		o.controls = map[string]bool{}
		for i := range o.Doc.Attrs {
			if a := &o.Doc.Attrs[i]; a.Key == htmltree.KeyAriaControls {
				for name := range bytes.FieldsSeq(o.Doc.Value(a)) {
					o.controls[htmltree.String(name)] = true
				}
			}
		}
	}
	return o.controls[id]
}

// isDecoration reports whether an element repeats a text for the eye: numbers of lines of code, and formulas that stand
// next to it as MathML or TeX.
func (o *Outline) isDecoration(i int32, n *htmltree.Node, h Hints) bool {
	switch {
	case h&markKatex != 0:
		o.katex = n.Parent
		return false
	case h&markKatexHTML != 0:
		return n.Parent == o.katex
	case h&markMathJax != 0:
		return n.Tag == htmltree.TagSpan || n.Tag == htmltree.TagDiv
	case h&markGutter != 0:
		if i < o.gutterEnd {
			return false // the elements around it have been read
		}
		if o.isNumbers(i, n) {
			return true
		}
		o.gutterEnd = n.End
	}
	return false
}

// isNumbers reports whether an element contains digits only.
func (o *Outline) isNumbers(i int32, n *htmltree.Node) bool {
	digits := 0
	for i++; i < n.End; i++ {
		x := &o.Doc.Nodes[i]
		if x.Tag != htmltree.TagText {
			continue
		}
		s := o.Doc.Text(x)
		for j := 0; j < len(s); j++ {
			switch {
			case IsDigit(s[j]):
				digits++
			case s[j] > ' ' && s[j] != 0xC2 && s[j] != 0xA0:
				return false
			}
		}
	}
	return digits > 0
}

// isHeadingMark reports whether an element is a mark that leads to the heading around it, such as ¶, or a button behind
// its text. A heading that is a button as a whole keeps its text.
func (r *reader) isHeadingMark(i int32, n *htmltree.Node) bool {
	if n.Tag == htmltree.TagButton && r.top.kind == KindHeading && !r.ended {
		return true
	}
	if n.Tag != htmltree.TagA || r.top.kind != KindHeading && r.top.kind != kindTerm || n.End != i+2 {
		return false
	}
	x := &r.Doc.Nodes[i+1]
	if x.Tag != htmltree.TagText || x.B-x.A > 8 || bytes.IndexByte(r.Doc.Attr(n, htmltree.KeyHref), '#') < 0 {
		return false
	}
	switch string(bytes.TrimSpace(r.Doc.Text(x))) {
	case "¶", "#", "§", "🔗", "⚓", "∞", "☍", "⚑":
		return true
	}
	return false
}

// hasCodeLines reports whether an element that is named like code has its lines: div.line of Doxygen, rows of tables.
func (o *Outline) hasCodeLines(i int32, n *htmltree.Node) bool {
	if n.Tag == htmltree.TagTable {
		return true
	}
	for i++; i < n.End; i++ {
		x := &o.Doc.Nodes[i]
		switch {
		case x.Tag == htmltree.TagText && x.Flags&htmltree.FlagBlank != 0:
		case x.Tag == htmltree.TagA && x.End == i+1: // the target of a link
		default:
			return x.Tag == htmltree.TagDiv && string(o.Doc.Attr(x, htmltree.KeyClass)) == "line"
		}
	}
	return false
}

// hideElement marks an element as hidden.
func (o *Outline) hideElement(i int32) { o.skipped[i>>6] |= 1 << (i & 63) }

// IsSkipped reports whether Read found the element at node i hidden.
func (o *Outline) IsSkipped(i int32) bool { return o.skipped[i>>6]>>(i&63)&1 != 0 }

// IsListing reports whether a box is code, whose line breaks and blanks stay.
func (o *Outline) IsListing(box int32) bool {
	b := &o.Boxes[box]
	return tagKind[b.Tag] == KindListing || b.hints&markListing != 0
}

// IsLabel reports whether a box is the title of what follows: a term, a summary, the title of an admonition.
func (o *Outline) IsLabel(box int32) bool {
	b := &o.Boxes[box]
	return b.Tag == htmltree.TagDt || b.Tag == htmltree.TagSummary || b.hints&markLabel != 0
}
