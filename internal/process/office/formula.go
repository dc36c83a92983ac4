package office

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/loosexml"
)

// maxNodes bounds the elements of one formula. The rest is left out.
const maxNodes = 20_000

// node is an element of a formula: OMML (ECMA-376-1 22.1) or MathML.
type node struct {
	name string // local, in lower case
	text string
	val  string // attribute val
	kids []*node
}

// readFormula reads the element that start begins, and returns it as a text:
// "E=mc^2", "(a+b)/2".
func readFormula(r *loosexml.Reader, start loosexml.Token) string {
	left := maxNodes
	return strings.TrimSpace(readNode(r, start, &left).writeText())
}

func readNode(r *loosexml.Reader, start loosexml.Token, left *int) *node {
	n := &node{name: start.Local(), val: attrValue(start, "val")}
	if n.name == "mfenced" {
		n.val = attrValue(start, "open") + "\n" + attrValue(start, "close")
	}
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.End:
			if t.Depth == start.Depth {
				return n
			}
		case loosexml.Text:
			n.text += t.Text
		case loosexml.Start:
			kid := readNode(r, t, left)
			if *left--; *left > 0 {
				n.kids = append(n.kids, kid)
			}
		}
	}
	return n
}

// childNamed returns the first child with a name, or an empty one.
func (n *node) childNamed(name string) *node {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return &node{}
}

// childAt returns a child by its number, or an empty one.
func (n *node) childAt(i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return &node{}
}

// propertyValue returns the value of a property, or other without one.
func (n *node) propertyValue(group, name, other string) string {
	for _, k := range n.childNamed(group).kids {
		if k.name == name {
			return k.val
		}
	}
	return other
}

// joinChildren returns the children one after the other. Text outside of them is that of elements that are too deep.
func (n *node) joinChildren() string {
	if len(n.kids) == 0 {
		return strings.TrimSpace(markup.Text(n.text))
	}
	var b strings.Builder
	before := ""
	for _, k := range n.kids {
		text := k.writeText()
		if isWord(before) && (isWord(text) || utf8.RuneCountInString(before) > 1 && startsLetter(text)) {
			b.WriteByte(' ')
		}
		b.WriteString(text)
		before = text
	}
	return b.String()
}

func startsLetter(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(r)
}

// isWord reports whether text is a name of several letters, such as sin.
func isWord(text string) bool {
	return utf8.RuneCountInString(text) > 1 && strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}

// writeText returns the text of a node. Each node is written once: the time is linear.
func (n *node) writeText() string {
	switch n.name {
	case "mtext", "t":
		return markup.Text(n.text)
	case "mi", "mn", "mo", "ms":
		return strings.TrimSpace(markup.Text(n.text))
	case "mspace":
		return " "
	case "", "annotation", "annotation-xml", "mphantom", "ctrlpr", "rpr":
		return ""
	case "semantics":
		return n.childAt(0).writeText()
	case "msup", "mover":
		return placeAbove(n.childAt(0).writeText(), n.childAt(1).writeText())
	case "msub", "munder":
		return n.childAt(0).writeText() + formatLevel("_", n.childAt(1).writeText())
	case "msubsup", "munderover":
		return n.childAt(0).writeText() + formatLevel("_", n.childAt(1).writeText()) + formatLevel("^", n.childAt(2).writeText())
	case "mfrac":
		return encloseText(n.childAt(0).writeText()) + "/" + encloseText(n.childAt(1).writeText())
	case "msqrt":
		return "√" + encloseText(n.joinChildren())
	case "mroot":
		return rootSign(n.childAt(1).writeText()) + encloseText(n.childAt(0).writeText())
	case "mfenced":
		open, closing, _ := strings.Cut(n.val, "\n")
		return markup.Text(cmp.Or(open, "(")) + n.joinNamed("", ", ") + markup.Text(cmp.Or(closing, ")"))
	case "mtable":
		return "[" + n.joinNamed("", "; ") + "]"
	case "mtr", "mlabeledtr":
		return n.joinNamed("", ", ")
	}
	return n.ommlText()
}

// ommlText returns the text of a node of OMML, or of one that has only children.
func (n *node) ommlText() string {
	of := func(name string) string { return n.childNamed(name).writeText() }
	switch n.name {
	case "ssup", "ssub", "ssubsup":
		return of("e") + formatLevel("_", of("sub")) + formatLevel("^", of("sup"))
	case "spre":
		return formatLevel("_", of("sub")) + formatLevel("^", of("sup")) + of("e")
	case "f":
		if n.propertyValue("fpr", "type", "") == "noBar" {
			return "(" + of("num") + "; " + of("den") + ")"
		}
		return encloseText(of("num")) + "/" + encloseText(of("den"))
	case "rad":
		return rootSign(of("deg")) + encloseText(of("e"))
	case "nary":
		return markup.Text(n.propertyValue("narypr", "chr", "∫")) + formatLevel("_", of("sub")) + formatLevel("^", of("sup")) + " " + of("e")
	case "d":
		open, closing := n.propertyValue("dpr", "begchr", "("), n.propertyValue("dpr", "endchr", ")")
		return markup.Text(open) + n.joinNamed("e", markup.Text(n.propertyValue("dpr", "sepchr", "|"))) + markup.Text(closing)
	case "func":
		return of("fname") + " " + of("e")
	case "limlow":
		return of("e") + formatLevel("_", of("lim"))
	case "limupp":
		return of("e") + formatLevel("^", of("lim"))
	case "acc":
		return placeAbove(of("e"), markup.Text(n.propertyValue("accpr", "chr", "\u0302")))
	case "m":
		return "[" + n.joinNamed("mr", "; ") + "]"
	case "mr":
		return n.joinNamed("e", ", ")
	case "eqarr":
		return n.joinNamed("e", "; ")
	}
	if strings.HasSuffix(n.name, "pr") { // properties
		return ""
	}
	return n.joinChildren()
}

// joinNamed returns the children with a name, with a text between them. An empty name means all.
func (n *node) joinNamed(name, between string) string {
	var texts []string
	for _, k := range n.kids {
		if name == "" || k.name == name {
			texts = append(texts, k.writeText())
		}
	}
	return strings.Join(texts, between)
}

// formatLevel returns a raised or lowered part: "^2", "_(i=1)".
func formatLevel(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + encloseText(text)
}

// rootSign returns the sign of a root: "√", "√[3]".
func rootSign(degree string) string {
	if degree == "" {
		return "√"
	}
	return "√[" + degree + "]"
}

// placeAbove returns a text with another above it: an accent, or a raised text.
func placeAbove(base, above string) string {
	r, n := utf8.DecodeRuneInString(above)
	if n > 0 && n == len(above) && unicode.Is(unicode.Mn, r) {
		return base + above
	}
	return base + formatLevel("^", above)
}

// encloseText returns text in brackets, unless it is one number, one letter, or in brackets.
func encloseText(text string) string {
	isNumber := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' }) < 0
	if utf8.RuneCountInString(text) <= 1 || isNumber || strings.HasPrefix(text, "(") && strings.IndexByte(text, ')') == len(text)-1 {
		return text
	}
	return "(" + text + ")"
}
