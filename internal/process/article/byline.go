package article

import (
	"strings"

	"golang.org/x/net/html"

	"hce/dc/internal/process/author"
)

// byline is an element that names an author by its class, rel or itemprop.
type byline struct {
	node  *html.Node
	block int // the first block in it
}

// bylineWords are words in such attributes, in some languages.
var bylineWords = wordSet("author authors byline writer reporter autor auteur autore autora verfasser firma signature firmante yazar skribent")

// names reports whether an element names an author.
func (o *outline) names(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "rel", "itemprop":
			if a.Val == "author" {
				return true
			}
		case "class", "id":
			if len(a.Val) <= 200 && o.isByline(a.Val) {
				return true
			}
		}
	}
	return false
}

// isByline reports whether a class or id says that an element names an author.
func (o *outline) isByline(value string) bool {
	found, known := o.signed[value]
	if known {
		return found
	}
	for name := range strings.FieldsSeq(value) {
		parts := words(name)
		for i, word := range parts {
			found = found || bylineWords[word] && !(i > 0 && parts[i-1] == "about") && !(i+1 < len(parts) && aboutAuthors[parts[i+1]])
		}
	}
	o.signed[value] = found
	return found
}

// aboutAuthors follow "author" in the class of a text about an author.
var aboutAuthors = wordSet("bio box description about card info image avatar link links social")

// manyBylines is the number of names from which on a page is of many authors, such as a forum.
const manyBylines = 3

// zone returns the blocks around the title in which a page says who wrote it, and when.
func (o *outline) zone() (start, end int) {
	start = max(0, o.title-3)
	end = min(len(o.blocks), max(o.title, 0)+12)
	return start, end
}

// author returns the author in the bylines of the page, or in a line near the title that says
// "by". many means that the page has many authors.
func (o *outline) author() (name string, many bool) {
	start, end := o.zone()
	var near []*html.Node
	count, last := 0, -1
	for _, b := range o.bylines {
		if b.block < start || b.block == last {
			continue
		}
		last = b.block
		count++
		if b.block < end {
			near = append(near, b.node)
		}
	}
	if count >= manyBylines {
		return "", true
	}
	var found []string
	for _, n := range near {
		line, _, _ := strings.Cut(VisibleText(n, nil), "\n")
		found = append(found, line)
	}
	if name = author.Names(found); name != "" {
		return name, false
	}
	for i := start; i < end; i++ {
		if b := &o.blocks[i]; b.size < byLineSize && i != o.title {
			if name := author.Credited(o.text(i)); len(strings.Fields(name)) > 1 {
				return name, false
			}
		}
	}
	return "", false
}
