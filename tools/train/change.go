package main

import (
	"bytes"
	"math/rand"

	"golang.org/x/net/html"
)

// Changed copies of pages teach what the pages at hand do not show: sections whose ids and classes are made of words
// such as comments or navigation, pages without ids and classes, pages with little text.

// misleading are words that name parts of the page around an article, and that headings are made of, too.
var misleading = []string{"comments", "tags", "navigation", "navbar", "menu", "cookies", "footer", "related-work", "toc", "copyright", "pagination", "ranking", "replies", "share",
	"sidebar", "social", "hidden-files", "see-also", "advertising", "header", "search", "newsletter", "login", "author", "banner", "widgets", "popup", "print", "credits"}

// changes are made of every third page each.
var changes = []func(p *page, main *html.Node, rng *rand.Rand) bool{renameSections, dropNames, shortenMain}

// changedCopy returns a changed copy of a marked page, or nil. The main element stays marked.
func changedCopy(p *page) *page {
	if !p.isMarked() {
		return nil
	}
	rng := rand.New(rand.NewSource(int64(hashOf(p.ID))))
	doc, err := html.Parse(bytes.NewReader(p.html))
	if err != nil {
		return nil
	}
	main := mainOf(doc, p.Main)
	if main == nil || !changes[rng.Intn(len(changes))](p, main, rng) {
		return nil
	}
	var out bytes.Buffer
	if html.Render(&out, doc) != nil {
		return nil
	}
	c := &page{record: p.record, html: out.Bytes(), weight: 1, title: -1, shadow: true}
	c.ID += "-changed"
	return c
}

// forEachElement calls f for all elements below n.
func forEachElement(n *html.Node, f func(*html.Node)) {
	for c := range n.ChildNodes() {
		if c.Type == html.ElementNode {
			f(c)
		}
		forEachElement(c, f)
	}
}

// renameSections gives sections and headings misleading ids and classes.
func renameSections(p *page, main *html.Node, rng *rand.Rand) bool {
	any, dropped := false, parseSelectors(p.Drop)
	forEachElement(main, func(n *html.Node) {
		if dropped.matchesAny(n) {
			return
		}
		switch n.Data {
		case "section", "div", "h2", "h3", "dl", "table", "ul", "p":
			if rng.Intn(5) > 0 || n.Data != "section" && len(n.Attr) > 0 && attributeValue(n, "id") == "" {
				return
			}
			setAttribute(n, "id", misleading[rng.Intn(len(misleading))])
			if rng.Intn(3) == 0 {
				setAttribute(n, "class", misleading[rng.Intn(len(misleading))])
			}
			any = true
		}
	})
	return any
}

// dropNames removes ids and classes inside of the main element, but those that the generator's marks need.
func dropNames(p *page, main *html.Node, _ *rand.Rand) bool {
	dropped := parseSelectors(p.Drop)
	forEachElement(main, func(n *html.Node) {
		if dropped.matchesAny(n) {
			return
		}
		kept := n.Attr[:0]
		for _, a := range n.Attr {
			if a.Key != "id" && a.Key != "class" {
				kept = append(kept, a)
			}
		}
		n.Attr = kept
	})
	return true
}

// shortenMain leaves the first few elements of the main element.
func shortenMain(_ *page, main *html.Node, rng *rand.Rand) bool {
	if main.Data == "body" {
		return false
	}
	for n := main; n != nil; {
		var list []*html.Node
		for c := range n.ChildNodes() {
			if c.Type == html.ElementNode {
				list = append(list, c)
			}
		}
		if len(list) == 1 {
			n = list[0]
			continue
		}
		keep := 1 + rng.Intn(4)
		if len(list) <= keep {
			return false
		}
		for _, c := range list[keep:] {
			n.RemoveChild(c)
		}
		return true
	}
	return false
}

func attributeValue(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func setAttribute(n *html.Node, key, value string) {
	for i := range n.Attr {
		if n.Attr[i].Key == key {
			n.Attr[i].Val = value
			return
		}
	}
	n.Attr = append(n.Attr, html.Attribute{Key: key, Val: value})
}
