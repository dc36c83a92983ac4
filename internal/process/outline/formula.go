package outline

import (
	"bytes"

	"hce/dc/internal/web/htmltree"
)

// Formula is a formula of a page.
type Formula struct {
	Text    []byte // TeX, or a line such as (a + b)/2; it is valid until the next formula is read
	TeX     bool
	Display bool // it stands on a line of its own
}

// Formula returns the formula at a node: MathML, TeX in a script, or an image with TeX. Text is empty for other nodes.
func (o *Outline) Formula(i int32) Formula {
	n := &o.Doc.Nodes[i]
	switch n.Tag {
	case htmltree.TagMath:
		return o.mathML(i, n)
	case htmltree.TagScript:
		if kind := o.Doc.Attr(n, htmltree.KeyType); htmltree.HasPrefix(kind, "math/tex") && i+1 < n.End {
			return Formula{o.cleanTeX(o.Doc.Text(&o.Doc.Nodes[i+1])), true, bytes.Contains(kind, []byte("display"))}
		}
	case htmltree.TagImg:
		if o.IsSkipped(i) {
			break
		}
		if alt := o.Doc.Attr(n, htmltree.KeyAlt); len(alt) > 0 && isFormulaImage(o.Doc.Attr(n, htmltree.KeyClass), o.Doc.Attr(n, htmltree.KeySrc)) {
			class := o.Doc.Attr(n, htmltree.KeyClass)
			return Formula{o.cleanTeX(alt), isTeX(alt), bytes.Contains(class, []byte("display"))}
		}
	}
	return Formula{}
}

func isFormulaImage(class, src []byte) bool {
	for name := range bytes.FieldsSeq(class) {
		switch string(name) {
		case "tex", "latex", "math", "equation", "formula", "mathimg", "eqn":
			return true
		}
		if htmltree.HasPrefix(name, "mwe-math") {
			return true
		}
	}
	return bytes.Contains(src, []byte("latex.codecogs.com")) || bytes.Contains(src, []byte("/latex.php"))
}

// isTeX reports whether a text is TeX and not a sentence.
func isTeX(s []byte) bool {
	return bytes.IndexByte(s, '\\') >= 0 || bytes.ContainsAny(s, "^_{}=") || len(bytes.Fields(s)) == 1
}

// cleanTeX returns TeX on one line, without the style around it.
func (o *Outline) cleanTeX(s []byte) []byte {
	o.formula, _ = AppendWords(o.formula[:0], s, false, 0)
	t := o.formula
	if htmltree.HasPrefix(t, "{\\") && t[len(t)-1] == '}' {
		for _, style := range []string{"{\\displaystyle ", "{\\textstyle ", "{\\scriptstyle "} {
			if htmltree.HasPrefix(t, style) {
				t = bytes.TrimSpace(t[len(style) : len(t)-1])
				break
			}
		}
	}
	return t
}

// mathML reads a math element: its TeX in an annotation or in alttext, or its elements.
func (o *Outline) mathML(i int32, n *htmltree.Node) Formula {
	display := string(o.Doc.Attr(n, htmltree.KeyDisplay)) == "block"
	for k := i + 1; k < n.End; k++ {
		x := &o.Doc.Nodes[k]
		if x.Tag == htmltree.TagOther && htmltree.HasPrefix(o.Doc.Attr(x, htmltree.KeyEncoding), "application/x-tex") && k+1 < x.End {
			return Formula{o.cleanTeX(o.Doc.Text(&o.Doc.Nodes[k+1])), true, display}
		}
	}
	if alt := o.Doc.Attr(n, htmltree.KeyAlttext); len(alt) > 0 {
		return Formula{o.cleanTeX(alt), isTeX(alt), display}
	}
	o.formula = o.formula[:0]
	o.mathElements(i+1, n.End, 0)
	return Formula{bytes.TrimSpace(o.formula), false, display}
}

// maxMathDepth is the depth of elements in a formula up to which its structure is read.
const maxMathDepth = 64

// mathElements writes the elements of a formula, one after the other.
func (o *Outline) mathElements(i, end int32, depth int) {
	for i < end {
		n := &o.Doc.Nodes[i]
		if n.Tag == htmltree.TagText {
			o.mathText(n)
			i++
			continue
		}
		o.mathElement(i, n, depth)
		i = n.End
	}
}

// mathText writes a text of a formula. Operators get a blank at both sides, as a reader sees them.
func (o *Outline) mathText(n *htmltree.Node) {
	if n.Flags&htmltree.FlagBlank != 0 {
		return
	}
	name := o.Doc.Name(&o.Doc.Nodes[n.Parent])
	s := bytes.TrimSpace(o.Doc.Text(n))
	spaced := string(name) == "mo" && isOperator(s) && len(o.formula) > 0
	if spaced || string(name) == "mtext" && len(o.formula) > 0 {
		o.formula = append(o.formula, ' ')
	}
	o.formula, _ = AppendWords(o.formula, s, false, len(o.formula))
	if spaced || string(name) == "mtext" {
		o.formula = append(o.formula, ' ')
	}
}

func isOperator(s []byte) bool {
	switch string(s) {
	case "+", "-", "−", "=", "<", ">", "≤", "≥", "≠", "≈", "≡", "→", "←", "⇒", "⇔", "∈", "∉", "⊂", "⊆", "∪", "∩", "±", "×", "·", "∧", "∨", ":=", "∼", ":":
		return true
	}
	return false
}

// mathElement writes an element of a formula.
func (o *Outline) mathElement(i int32, n *htmltree.Node, depth int) {
	if depth > maxMathDepth {
		o.mathFlat(i+1, n.End)
		return
	}
	depth++
	switch string(o.Doc.Name(n)) {
	case "annotation", "annotation-xml", "mspace", "mphantom":
	case "mfrac":
		o.mathJoin(i, n, depth, "/")
	case "msup", "mover":
		o.mathJoin(i, n, depth, "^")
	case "msub", "munder":
		o.mathJoin(i, n, depth, "_")
	case "msubsup", "munderover":
		o.mathJoin(i, n, depth, "_", "^")
	case "msqrt":
		o.formula = append(o.formula, "√("...)
		o.mathElements(i+1, n.End, depth)
		o.formula = append(o.formula, ')')
	case "mroot":
		o.formula = append(o.formula, "√"...)
		o.mathJoin(i, n, depth, "^1/")
	case "mtr":
		o.mathElements(i+1, n.End, depth)
		o.formula = append(o.formula, "; "...)
	case "mtd":
		o.mathElements(i+1, n.End, depth)
		o.formula = append(o.formula, ' ')
	default:
		o.mathElements(i+1, n.End, depth)
	}
}

// mathJoin writes the children of an element with signs between them, in brackets if they are longer than one name.
func (o *Outline) mathJoin(i int32, n *htmltree.Node, depth int, signs ...string) {
	child := 0
	for k := i + 1; k < n.End; k = o.Doc.Nodes[k].End {
		x := &o.Doc.Nodes[k]
		if x.Tag == htmltree.TagText {
			o.mathText(x)
			if x.End <= k {
				k++
			}
			continue
		}
		if child > 0 && child <= len(signs) {
			o.formula = append(o.formula, signs[child-1]...)
		}
		from := len(o.formula)
		o.formula = append(o.formula, '(')
		o.mathElement(k, x, depth)
		if t := bytes.TrimSpace(o.formula[from+1:]); isName(t) {
			o.formula = append(o.formula[:from], t...)
		} else {
			o.formula = append(o.formula, ')')
		}
		child++
	}
}

// isName reports whether a part of a formula needs no brackets.
func isName(s []byte) bool {
	for _, c := range s {
		if !IsDigit(c) && !isLetter(c) && c < 0x80 && c != '.' && c != '\'' {
			return false
		}
	}
	return true
}

// mathFlat writes the texts of a formula that is nested too deep.
func (o *Outline) mathFlat(i, end int32) {
	for ; i < end; i++ {
		if n := &o.Doc.Nodes[i]; n.Tag == htmltree.TagText {
			o.formula, _ = AppendWords(o.formula, o.Doc.Text(n), true, 0)
		}
	}
}
