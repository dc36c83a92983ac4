package metadata

import (
	"bytes"
	"strings"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// Bounds of the lists of a Head.
const (
	maxValues   = 20  // authors, dates of one source, rules for robots
	maxKeywords = 200 // elements with keywords
)

// Values of Head.OGType.
const (
	OGNone = iota
	OGWebsite
	OGArticle
	OGProduct
	OGOther
)

// Head is what a page says about itself. Values are parts of the page, with its white space; those
// whose names begin with LD are texts of JSON-LD with their escapes (TextOfJSON). A value that the
// page does not have is empty. A Head is read once and not safe for concurrent use.
type Head struct {
	Title     []byte // the title element
	OGTitle   []byte // og:title
	MetaTitle []byte // the title in another meta element

	Description     []byte
	Canonical, Base []byte   // URLs as written
	Image           []byte   // the main image, a URL as written
	HTMLLang        []byte   // lang of the html element
	Lang            []byte   // content-language, language, DC.language
	Locale          []byte   // og:locale
	SiteName        []byte   // og:site_name, else application-name
	Keywords        [][]byte // lists of keywords
	Robots          []RobotsRule
	OGType          int
	Authors         [][]byte // in meta elements
	Times           int      // time elements that do not say what they are

	LDTypes       uint32 // types of objects in JSON-LD, bits by their index in LDTypes
	LDTitle       []byte // headline
	LDName        []byte // the name of a product, a recipe or the like
	LDBody        []byte // the text of the article
	LDDescription []byte
	LDImage       []byte
	LDLang        []byte
	LDKeywords    [][]byte
	LDAuthors     []DataAuthor

	ldRank uint8 // of the object that has given the values so far
	ldRefs authorRefs
	site   site

	dublinDate []byte
	stated     []pubdate.Candidate
	timeNodes  []int32
	timeOfPage bool   // a time element has the attribute pubdate
	scratch    []byte // texts of candidates
}

// RobotsRule is a meta element with rules for robots.
type RobotsRule struct {
	Agent   []byte // "robots", or the name of one robot
	Content []byte // such as "noindex, nofollow"
}

// DataAuthor is an author in JSON-LD.
type DataAuthor struct {
	Name         []byte
	Organization bool // not a person
}

// Read reads the metadata in one pass over the nodes. pageURL is absolute, or "".
func (h *Head) Read(d *htmltree.Doc, pageURL string) {
	nodes := d.Nodes
	if len(nodes) > 1 {
		h.HTMLLang = d.Attr(&nodes[1], htmltree.KeyLang)
	}
	h.site.setURL(pageURL)
	for i := 1; i < len(nodes); i++ {
		n := &nodes[i]
		if n.Tag <= htmltree.TagOther {
			continue
		}
		switch n.Tag {
		case htmltree.TagTitle:
			h.readTitle(d, i)
		case htmltree.TagMeta:
			h.readMeta(d, i)
		case htmltree.TagBase:
			keepFirst(&h.Base, d.Attr(n, htmltree.KeyHref))
		case htmltree.TagLink:
			if isCanonical(d.Attr(n, htmltree.KeyRel)) {
				keepFirst(&h.Canonical, d.Attr(n, htmltree.KeyHref))
			}
		case htmltree.TagTime:
			h.readTime(d, i)
		case htmltree.TagA:
			h.site.readLink(d, int32(i))
		case htmltree.TagScript:
			if int(n.End) > i+1 && bytes.Contains(d.Attr(n, htmltree.KeyType), []byte("ld+json")) {
				h.readData(d.Text(&nodes[i+1]))
			}
		default:
			if name := d.Attr(n, htmltree.KeyItemprop); len(name) > 0 {
				h.readItem(d, i, name)
			}
		}
	}
	h.ldRefs.resolveAuthors(h)
}

// readTitle keeps the first title element of the page; those of SVG are others.
func (h *Head) readTitle(d *htmltree.Doc, i int) {
	n := &d.Nodes[i]
	if len(h.Title) > 0 || int(n.End) <= i+1 {
		return
	}
	switch d.Nodes[n.Parent].Tag {
	case htmltree.TagHead, htmltree.TagHTML, htmltree.TagBody:
		h.Title = d.Text(&d.Nodes[i+1])
	}
}

// isCanonical reports whether a rel has the word canonical.
func isCanonical(rel []byte) bool {
	for len(rel) >= len("canonical") {
		word := rel
		if i := bytes.IndexAny(rel, " \t\r\n\f"); i >= 0 {
			word, rel = rel[:i], rel[i+1:]
		} else {
			rel = nil
		}
		if len(word) == len("canonical") && bytes.EqualFold(word, []byte("canonical")) {
			return true
		}
	}
	return false
}

// keepFirst sets a value that is still empty.
func keepFirst(at *[]byte, v []byte) {
	if len(*at) == 0 {
		*at = v
	}
}

// appendValue appends to a list of at most maxValues values.
func appendValue(list *[][]byte, v []byte) {
	if len(*list) < maxValues {
		*list = append(*list, v)
	}
}

// HasBody reports whether the page states the text of its article.
func (h *Head) HasBody() bool { return len(h.LDBody) > 0 }

// HasAuthor reports whether the page states an author in its metadata.
func (h *Head) HasAuthor() bool { return len(h.Authors)+len(h.LDAuthors) > 0 }

// StatedDescription returns the description in meta elements, else that in JSON-LD.
func (h *Head) StatedDescription() string {
	if s := OneLine(h.Description); s != "" {
		return s
	}
	return oneLine(TextOfJSON(h.LDDescription))
}

// StatedKeywords returns the keywords in meta elements, else those in JSON-LD, each once.
func (h *Head) StatedKeywords() (list []string) {
	split := func(s string) {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ';' || r == '、' || r == '，' }) {
			list = append(list, strings.TrimSpace(w))
		}
	}
	for _, k := range h.Keywords {
		split(OneLine(k))
	}
	if len(list) == 0 {
		for _, k := range h.LDKeywords {
			split(TextOfJSON(k))
		}
	}
	return uniqueTexts(list)
}

// Languages returns the language tags that the page declares, as written, the most reliable first:
// the html element, meta elements, JSON-LD, OpenGraph. An empty one declares nothing.
func (h *Head) Languages() [4]string {
	return [...]string{string(h.HTMLLang), string(h.Lang), TextOfJSON(h.LDLang), string(h.Locale)}
}

// OneLine returns a text without white space at its ends and with single spaces.
func OneLine(b []byte) string {
	dst, _ := outline.AppendWords(make([]byte, 0, len(b)), b, false, 0)
	return string(dst)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// uniqueTexts returns the texts that are not empty, each once, in their order.
func uniqueTexts(list []string) []string {
	if len(list) == 0 {
		return list
	}
	seen := make(map[string]bool, len(list))
	out := list[:0]
	for _, s := range list {
		if s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
