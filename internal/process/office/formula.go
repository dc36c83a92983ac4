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
	return strings.TrimSpace(readNode(r, start, &left).html())
}

func readNode(r *loosexml.Reader, start loosexml.Token, left *int) *node {
	n := &node{name: start.Local(), val: attr(start, "val")}
	if n.name == "mfenced" {
		n.val = attr(start, "open") + "\n" + attr(start, "close")
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

// kid returns the first child with a name, or an empty one.
func (n *node) kid(name string) *node {
	for _, k := range n.kids {
		if k.name == name {
			return k
		}
	}
	return &node{}
}

// at returns a child by its number, or an empty one.
func (n *node) at(i int) *node {
	if i < len(n.kids) {
		return n.kids[i]
	}
	return &node{}
}

// property returns the value of a property, or other without one.
func (n *node) property(group, name, other string) string {
	for _, k := range n.kid(group).kids {
		if k.name == name {
			return k.val
		}
	}
	return other
}

// row returns the children one after the other. Text outside of them is that of elements that are too deep.
func (n *node) row() string {
	if len(n.kids) == 0 {
		return strings.TrimSpace(markup.Text(n.text))
	}
	var b strings.Builder
	before := ""
	for _, k := range n.kids {
		text := k.html()
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

// html returns the text of a node. Each node is written once: the time is linear.
func (n *node) html() string {
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
		return n.at(0).html()
	case "msup", "mover":
		return placeAbove(n.at(0).html(), n.at(1).html())
	case "msub", "munder":
		return n.at(0).html() + level("_", n.at(1).html())
	case "msubsup", "munderover":
		return n.at(0).html() + level("_", n.at(1).html()) + level("^", n.at(2).html())
	case "mfrac":
		return enclosed(n.at(0).html()) + "/" + enclosed(n.at(1).html())
	case "msqrt":
		return "√" + enclosed(n.row())
	case "mroot":
		return root(n.at(1).html()) + enclosed(n.at(0).html())
	case "mfenced":
		open, closing, _ := strings.Cut(n.val, "\n")
		return markup.Text(cmp.Or(open, "(")) + n.joined("", ", ") + markup.Text(cmp.Or(closing, ")"))
	case "mtable":
		return "[" + n.joined("", "; ") + "]"
	case "mtr", "mlabeledtr":
		return n.joined("", ", ")
	}
	return n.omml()
}

// omml returns the text of a node of OMML, or of one that has only children.
func (n *node) omml() string {
	of := func(name string) string { return n.kid(name).html() }
	switch n.name {
	case "ssup", "ssub", "ssubsup":
		return of("e") + level("_", of("sub")) + level("^", of("sup"))
	case "spre":
		return level("_", of("sub")) + level("^", of("sup")) + of("e")
	case "f":
		if n.property("fpr", "type", "") == "noBar" {
			return "(" + of("num") + "; " + of("den") + ")"
		}
		return enclosed(of("num")) + "/" + enclosed(of("den"))
	case "rad":
		return root(of("deg")) + enclosed(of("e"))
	case "nary":
		return markup.Text(n.property("narypr", "chr", "∫")) + level("_", of("sub")) + level("^", of("sup")) + " " + of("e")
	case "d":
		open, closing := n.property("dpr", "begchr", "("), n.property("dpr", "endchr", ")")
		return markup.Text(open) + n.joined("e", markup.Text(n.property("dpr", "sepchr", "|"))) + markup.Text(closing)
	case "func":
		return of("fname") + " " + of("e")
	case "limlow":
		return of("e") + level("_", of("lim"))
	case "limupp":
		return of("e") + level("^", of("lim"))
	case "acc":
		return placeAbove(of("e"), markup.Text(n.property("accpr", "chr", "\u0302")))
	case "m":
		return "[" + n.joined("mr", "; ") + "]"
	case "mr":
		return n.joined("e", ", ")
	case "eqarr":
		return n.joined("e", "; ")
	}
	if strings.HasSuffix(n.name, "pr") { // properties
		return ""
	}
	return n.row()
}

// joined returns the children with a name, with a text between them. An empty name means all.
func (n *node) joined(name, between string) string {
	var texts []string
	for _, k := range n.kids {
		if name == "" || k.name == name {
			texts = append(texts, k.html())
		}
	}
	return strings.Join(texts, between)
}

// level returns a raised or lowered part: "^2", "_(i=1)".
func level(sign, text string) string {
	if text == "" {
		return ""
	}
	return sign + enclosed(text)
}

// root returns the sign of a root: "√", "√[3]".
func root(degree string) string {
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
	return base + level("^", above)
}

// enclosed returns text in brackets, unless it is one number, one letter, or in brackets.
func enclosed(text string) string {
	isNumber := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsDigit(r) && r != '.' }) < 0
	if utf8.RuneCountInString(text) <= 1 || isNumber || strings.HasPrefix(text, "(") && strings.IndexByte(text, ')') == len(text)-1 {
		return text
	}
	return "(" + text + ")"
}
