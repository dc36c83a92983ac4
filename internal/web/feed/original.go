package feed

import (
	"strings"

	"hce/dc/internal/web/loosexml"
)

// originalObject returns an element as an object with the names of the document: attributes, text
// as "value", nested elements as objects (as texts if they hold only text), repeated
// elements as lists of objects.
func originalObject(n *node) *object {
	o := &object{}
	for _, a := range n.attrs {
		if !isDeclaration(a.Name) {
			o.addValue(a.Name, a.Value)
		}
	}
	if n.isMixed() || isProse(n) {
		if text := n.textWithMarkup(); text != "" {
			o.addValue("value", text)
		}
		return o
	}
	var text strings.Builder
	for _, c := range n.children {
		if c.name == "" {
			text.WriteString(c.text)
			continue
		}
		o.addValue(c.name, originalValue(c))
	}
	if s := strings.TrimSpace(text.String()); s != "" {
		o.addValue("value", s)
	}
	return o
}

func originalValue(n *node) any {
	o := originalObject(n)
	switch {
	case len(o.members) == 0:
		return ""
	case len(o.members) == 1 && o.members[0].name == "value" && n.attribute("value") == "":
		if text, ok := o.members[0].value.(string); ok {
			return text
		}
	}
	return o
}

// isProse reports whether elements inside n are markup of its text.
func isProse(n *node) bool {
	switch loosexml.Local(n.name) {
	case "description", "summary", "encoded", "body", "subtitle", "tagline", "rights":
		return true
	case "title", "content":
		return n.attribute("url") == ""
	}
	return false
}

// textWithMarkup returns the text of n, with its markup.
func (n *node) textWithMarkup() string {
	for _, c := range n.children {
		if c.name != "" {
			return n.markupXML()
		}
	}
	return n.plainText()
}
