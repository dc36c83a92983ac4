package main

import (
	"strings"

	"golang.org/x/net/html"
)

// selector is a name with an id, a class or a role: "main", "div.body", "div#content", "div[role=main]".
type selector struct{ name, key, value string }

type selectorList []selector

// parseSelectors reads a list that commas separate.
func parseSelectors(s string) (list selectorList) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		one := selector{name: part}
		if i := strings.IndexAny(part, ".#["); i >= 0 {
			one.name = part[:i]
			one.key = map[byte]string{'.': "class", '#': "id", '[': "role"}[part[i]]
			one.value = strings.TrimSuffix(strings.TrimPrefix(part[i+1:], "role="), "]")
		}
		list = append(list, one)
	}
	return list
}

func (s selector) matchesNode(n *html.Node) bool {
	if n.Type != html.ElementNode || n.Data != s.name {
		return false
	}
	value := attributeValue(n, s.key)
	return s.key == "" || value == s.value || s.key == "class" && strings.Contains(" "+value+" ", " "+s.value+" ")
}

// matchesAny reports whether one of the selectors fits.
func (l selectorList) matchesAny(n *html.Node) bool {
	for _, s := range l {
		if s.matchesNode(n) {
			return true
		}
	}
	return false
}

// mainOf returns the first element that fits the first selector of the list that fits any; nil if none does.
func mainOf(doc *html.Node, list string) (main *html.Node) {
	for _, s := range parseSelectors(list) {
		forEachElement(doc, func(n *html.Node) {
			if main == nil && s.matchesNode(n) {
				main = n
			}
		})
		if main != nil {
			return main
		}
	}
	return nil
}
