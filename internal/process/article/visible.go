package article

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hce/dc/internal/process/outline"
)

// silent are the elements without visible text.
var silent = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Head: true, atom.Title: true, atom.Template: true,
	atom.Iframe: true, atom.Object: true, atom.Svg: true, atom.Math: true, atom.Noembed: true,
	atom.Select: true, atom.Textarea: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
	atom.Noscript: true, atom.Noframes: true,
}

// inline are the elements within a line. All other elements begin a new line.
var inline = map[atom.Atom]bool{
	atom.A: true, atom.Abbr: true, atom.Acronym: true, atom.B: true, atom.Bdi: true, atom.Bdo: true,
	atom.Big: true, atom.Cite: true, atom.Code: true, atom.Data: true, atom.Del: true, atom.Dfn: true,
	atom.Em: true, atom.Font: true, atom.I: true, atom.Img: true, atom.Ins: true, atom.Kbd: true,
	atom.Label: true, atom.Mark: true, atom.Nobr: true, atom.Q: true, atom.S: true, atom.Samp: true,
	atom.Small: true, atom.Span: true, atom.Strike: true, atom.Strong: true, atom.Sub: true,
	atom.Sup: true, atom.Time: true, atom.Tt: true, atom.U: true, atom.Var: true, atom.Wbr: true,
	atom.Button: true, atom.Input: true, atom.Ruby: true, atom.Rt: true, atom.Rp: true,
}

// lines builds plain text with collapsed white space and one line for each block.
type lines struct {
	b     strings.Builder
	space bool // write a space before the next word
	line  bool // write a line break before the next word

	skip func(*html.Node) bool // elements to leave out; nil: none
}

// VisibleText returns the visible text below node, one line for each block. skip names
// elements to leave out; nil: none.
func VisibleText(node *html.Node, skip func(*html.Node) bool) string {
	l := lines{skip: skip}
	l.writeNode(node, false)
	return l.b.String()
}

// writeText adds text of the current block.
func (l *lines) writeText(text string) {
	for text != "" {
		i := strings.IndexFunc(text, isBlank)
		if i < 0 {
			i = len(text)
		}
		if i > 0 {
			l.writeWord(text[:i])
			text = text[i:]
			continue
		}
		l.space = true
		text = strings.TrimLeftFunc(text, isBlank)
	}
}

// writePreformatted adds text and keeps its line breaks.
func (l *lines) writePreformatted(text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			l.line = true
		}
		l.writeText(part)
	}
}

func (l *lines) writeWord(word string) {
	if l.b.Len() > 0 {
		switch {
		case l.line:
			l.b.WriteByte('\n')
		case l.space:
			l.b.WriteByte(' ')
		}
	}
	l.line, l.space = false, false
	l.b.WriteString(word)
}

// isBlank reports whether r is white space in HTML, or has no meaning in plain text.
func isBlank(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\r', '\f', '\v', 0, 0xA0, 0x2028, 0x2029, 0xFEFF:
		return true
	}
	return false
}

// writeNode adds the text below n. It recurses: the parser limits the depth.
func (l *lines) writeNode(n *html.Node, pre bool) {
	switch n.Type {
	case html.TextNode:
		if pre {
			l.writePreformatted(n.Data)
		} else {
			l.writeText(n.Data)
		}
		return
	case html.CommentNode, html.DoctypeNode, html.RawNode:
		return
	case html.ElementNode:
		if silent[n.DataAtom] || isHidden(n) || l.skip != nil && l.skip(n) {
			return
		}
	}
	element := n.Type == html.ElementNode
	cell := n.DataAtom == atom.Td || n.DataAtom == atom.Th
	block := element && !inline[n.DataAtom] && !cell
	l.line = l.line || block
	l.space = l.space || cell
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		l.writeNode(c, pre || n.DataAtom == atom.Pre)
	}
	l.line = l.line || block
	l.space = l.space || cell
}

// isHidden reports whether an element is not displayed.
func isHidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "style":
			if strings.Contains(a.Val, "display") && strings.Contains(strings.ReplaceAll(a.Val, " ", ""), "display:none") {
				return true
			}
		case "class":
			for name := range strings.FieldsSeq(a.Val) {
				if outline.IsUnseenClass(name) {
					return true
				}
			}
		}
	}
	return false
}
