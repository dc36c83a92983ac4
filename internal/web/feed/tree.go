package feed

import (
	"math"
	"regexp"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// node is an element, or a text if name is "".
type node struct {
	name     string
	attrs    []loosexml.Attr
	text     string
	cdata    bool
	children []*node
}

// attribute returns the attribute with a lower-case local name, or "".
func (n *node) attribute(local string) string {
	for _, a := range n.attrs {
		if loosexml.Local(a.Name) == local {
			return a.Value
		}
	}
	return ""
}

// tree builds one element from the tokens between its start and end.
type tree struct {
	root  *node
	open  []*node
	nodes int
	bytes int
	cut   bool // a limit was reached
	deep  int  // open elements that were dropped for a limit
}

func newTree(root *node) *tree { return &tree{root: root, open: []*node{root}} }

func (t *tree) addToken(tok loosexml.Token) {
	switch tok.Kind {
	case loosexml.Start:
		n := &node{name: tok.Name, attrs: tok.Attrs}
		if t.deep > 0 || !t.reserveNode(tokenSize(tok)) {
			t.deep++
			return
		}
		t.appendNode(n)
		t.open = append(t.open, n)
	case loosexml.End:
		if t.deep > 0 {
			t.deep--
			return
		}
		last := len(t.open) - 1
		if tok.Cut && isLink(tok.Local()) {
			t.open[last].children = nil // a truncated URL is a different URL
		}
		t.open = t.open[:last]
	case loosexml.Text:
		if t.deep == 0 && t.reserveNode(len(tok.Text)) {
			t.appendNode(&node{text: tok.Text, cdata: tok.CDATA})
		}
	}
}

// isLink reports whether the text of an element may be a link.
func isLink(local string) bool {
	return local == "link" || local == "guid" || local == "id"
}

func (t *tree) appendNode(n *node) {
	parent := t.open[len(t.open)-1]
	parent.children = append(parent.children, n)
}

// reserveNode counts one more node of that size, unless it exceeds a limit.
func (t *tree) reserveNode(size int) bool {
	if t.nodes >= maxNodes || t.bytes+size > maxTextBytes {
		t.cut = true
		return false
	}
	t.nodes++
	t.bytes += size
	return true
}

// firstChild returns the first child with a local name, or nil.
func (n *node) firstChild(local string) *node {
	for _, c := range n.children {
		if c.name != "" && loosexml.Local(c.name) == local {
			return c
		}
	}
	return nil
}

// dateText returns the text of the first child with the name of a date in any namespace,
// because undeclared prefixes are common.
func (n *node) dateText() string {
	for _, local := range []string{"pubdate", "published", "issued", "date", "created", "updated", "modified"} {
		if c := n.firstChild(local); c != nil {
			return c.plainText()
		}
	}
	return ""
}

// plainText returns all text inside n, trimmed.
func (n *node) plainText() string {
	var b strings.Builder
	n.writePlain(&b)
	return strings.TrimSpace(b.String())
}

func (n *node) writePlain(b *strings.Builder) {
	b.WriteString(n.text)
	for _, c := range n.children {
		c.writePlain(b)
	}
}

// isMixed reports whether n has both text and elements.
func (n *node) isMixed() bool {
	var text, elements bool
	for _, c := range n.children {
		if c.name != "" {
			elements = true
		} else if strings.TrimSpace(c.text) != "" {
			text = true
		}
	}
	return text && elements
}

var (
	escapeText  = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeValue = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\n", "&#10;", "\r", "&#13;", "\t", "&#9;")
)

// markupXML returns the content of n as XML.
func (n *node) markupXML() string {
	w := writer{declarations: math.MaxInt}
	for _, c := range n.children {
		w.writeNode(c)
	}
	return strings.TrimSpace(w.String())
}

// writer writes nodes as well-formed XML.
type writer struct {
	strings.Builder
	// declarations is how many more xmlns attributes are written: gofeed copies those in
	// scope for each element.
	declarations int
}

func (w *writer) writeNode(n *node) {
	switch {
	case n.name == "" && n.cdata:
		w.WriteString("<![CDATA[")
		w.WriteString(strings.ReplaceAll(n.text, "]]>", "]]]]><![CDATA[>"))
		w.WriteString("]]>")
	case n.name == "":
		escapeText.WriteString(w, n.text)
	case !xmlName.MatchString(n.name): // without a valid name only the content is written
		for _, c := range n.children {
			w.writeNode(c)
		}
	default:
		w.writeStartTag(n)
		for _, c := range n.children {
			w.writeNode(c)
		}
		w.writeEndTag(n)
	}
}

func (w *writer) writeStartTag(n *node) {
	w.WriteString("<" + n.name)
	for _, a := range n.attrs {
		if !xmlName.MatchString(a.Name) {
			continue
		}
		if isDeclaration(a.Name) {
			if w.declarations == 0 {
				continue
			}
			w.declarations--
		}
		w.WriteString(" " + a.Name + `="`)
		escapeValue.WriteString(w, a.Value)
		w.WriteString(`"`)
	}
	w.WriteString(">")
}

func (w *writer) writeEndTag(n *node) { w.WriteString("</" + n.name + ">") }

func isDeclaration(attr string) bool {
	return attr == "xmlns" || strings.HasPrefix(attr, "xmlns:")
}

// xmlName matches the names that every XML reader accepts: ASCII letters and digits, at most
// one prefix.
var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*(?::[A-Za-z_][A-Za-z0-9_.-]*)?$`)
