package feed

import (
	"strings"

	"hce/dc/internal/web/loosexml"
)

// original returns an element as an object with the names of the document: attributes, text
// as "value", nested elements as objects (as texts if they hold only text), repeated
// elements as lists of objects.
func original(n *node) *object {
	o := &object{}
	for _, a := range n.attrs {
		if !isDeclaration(a.Name) {
			o.add(a.Name, a.Value)
		}
	}
	if n.isMixed() || isProse(n) {
		if text := n.prose(); text != "" {
			o.add("value", text)
		}
		return o
	}
	var text strings.Builder
	for _, c := range n.children {
		if c.name == "" {
			text.WriteString(c.text)
			continue
		}
		o.add(c.name, originalValue(c))
	}
	if s := strings.TrimSpace(text.String()); s != "" {
		o.add("value", s)
	}
	return o
}

func originalValue(n *node) any {
	o := original(n)
	switch {
	case len(o.members) == 0:
		return ""
	case len(o.members) == 1 && o.members[0].name == "value" && n.attr("value") == "":
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
		return n.attr("url") == ""
	}
	return false
}

// prose returns the text of n, with its markup.
func (n *node) prose() string {
	for _, c := range n.children {
		if c.name != "" {
			return n.markup()
		}
	}
	return n.plain()
}
