package main

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/net/html"
)

// judged is what a text keeps of the main element of a page of documentation.
type judged struct {
	f1          float64            // of words
	kept, whole map[string]float64 // blocks by kind: heading, paragraph, item, row, code, all
}

// blockKinds are the elements that are counted.
var blockKinds = map[string]string{"h1": "heading", "h2": "heading", "h3": "heading", "h4": "heading", "h5": "heading", "h6": "heading",
	"p": "paragraph", "dd": "paragraph", "dt": "paragraph", "li": "item", "tr": "row", "pre": "code"}

// unseenElements have no text that a reader sees.
var unseenElements = map[string]bool{"script": true, "style": true, "noscript": true, "template": true, "svg": true, "button": true, "input": true, "select": true, "head": true}

const blockShare = 0.9 // of the groups of three words of a block that is kept

var targets = regexp.MustCompile(`\]\((?:<[^>]*>|[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?: "[^"]*")?\)`)

// judgeWords are the words of Markdown or text.
func judgeWords(s string) []string {
	s = strings.ReplaceAll(targets.ReplaceAllString(s, "] "), `\`, "")
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}

// judgePage compares Markdown with the main element of a page that a generator made; nil if the page has none.
func judgePage(page []byte, mainSelector, drop, markdown string) *judged {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil
	}
	main := mainOf(doc, mainSelector)
	if main == nil {
		return nil
	}
	j := &judged{kept: map[string]float64{}, whole: map[string]float64{}}
	found, gold := judgeWords(markdown), judgeWords(textOf(main, parseSelectors(drop), ""))
	j.f1 = f1Score(countCommonWords(found, gold), len(found), len(gold))
	j.countBlocks(main, parseSelectors(drop), newGroups(found))
	return j
}

// countBlocks counts the blocks below n.
func (j *judged) countBlocks(n *html.Node, drop selectorList, found groups) {
	for c := range n.ChildNodes() {
		if c.Type != html.ElementNode || unseenElements[c.Data] || drop.matchesAny(c) {
			continue
		}
		kind := blockKinds[c.Data]
		if c.Data == "tr" && containsElement(c, "tr") || c.Data == "p" && isWithin(c, "li", "td", "th", "dd") {
			kind = "" // a table of the layout; a part of another block
		}
		if kind != "" {
			if w := judgeWords(textOf(c, drop, kind)); len(w) > 0 {
				for _, k := range []string{kind, "all"} {
					j.whole[k]++
					if found.hasWords(w) {
						j.kept[k]++
					}
				}
			}
		}
		if kind != "row" && kind != "code" {
			j.countBlocks(c, drop, found)
		}
	}
}

func containsElement(n *html.Node, name string) (any bool) {
	forEachElement(n, func(c *html.Node) { any = any || c.Data == name })
	return any
}

// isWithin reports whether one of the next parents of n has one of the names.
func isWithin(n *html.Node, names ...string) bool {
	if n.Parent == nil {
		return false
	}
	for _, name := range names {
		if n.Parent.Data == name {
			return true
		}
	}
	return false
}

// inlineElements do not end a word.
var inlineElements = map[string]bool{"a": true, "b": true, "i": true, "em": true, "strong": true, "code": true, "span": true, "tt": true, "var": true, "kbd": true, "samp": true, "font": true,
	"u": true, "small": true, "sup": true, "sub": true, "abbr": true, "cite": true, "q": true, "wbr": true, "big": true, "s": true, "mark": true, "del": true, "ins": true, "dfn": true, "acronym": true, "label": true}

// textOf returns the text below n without what drop fits; that of an item or a paragraph ends where further blocks begin.
func textOf(n *html.Node, drop selectorList, kind string) string {
	var b strings.Builder
	var walk func(*html.Node) bool
	walk = func(n *html.Node) bool {
		for c := range n.ChildNodes() {
			switch {
			case c.Type == html.TextNode:
				b.WriteString(c.Data)
			case c.Type != html.ElementNode || unseenElements[c.Data] || drop.matchesAny(c):
			case (kind == "item" || kind == "paragraph") && b.Len() > 0 && strings.TrimSpace(b.String()) != "" && !inlineElements[c.Data] && c.Data != "br" && c.Data != "img":
				return false
			default:
				if !inlineElements[c.Data] {
					b.WriteByte(' ')
				}
				if !walk(c) {
					return false
				}
				if !inlineElements[c.Data] {
					b.WriteByte(' ')
				}
			}
		}
		return true
	}
	walk(n)
	return b.String()
}

// groups are the words of a text, and its groups of three words.
type groups struct {
	text   string
	threes map[[3]string]bool
}

func newGroups(w []string) groups {
	g := groups{" " + strings.Join(w, " ") + " ", map[[3]string]bool{}}
	for i := range max(0, len(w)-2) {
		g.threes[[3]string(w[i:i+3])] = true
	}
	return g
}

// hasWords reports whether words are in the text, in their order.
func (g groups) hasWords(w []string) bool {
	if len(w) < 4 {
		return strings.Contains(g.text, " "+strings.Join(w, " ")+" ")
	}
	hits := 0
	for i := range len(w) - 2 {
		if g.threes[[3]string(w[i:i+3])] {
			hits++
		}
	}
	return float64(hits) >= blockShare*float64(len(w)-2)
}
