package metadata

import (
	"bytes"
	"strings"

	"hce/dc/internal/process/outline"
	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// head is what a page says about itself. All values are parts of the page.
type Head struct {
	Title, OGTitle, MetaTitle []byte
	Description               []byte
	Canonical, Base, Image    []byte
	Lang, Locale              []byte
	HTMLLang                  []byte
	site                      []byte
	Keywords                  [][]byte
	Authors                   [][]byte
	Times                     int // time elements without a property
	ldTitle, LDDate           []byte
	LDBody, LDDescr, LDImage  []byte
	LDLang, LDKeywords        []byte
	LDAuthors                 [][]byte
	dublin                    []byte
	stated                    []pubdate.Candidate
	timeNodes                 []int32
	timeOfPage                bool   // a time element has the attribute pubdate
	scratch                   []byte // texts of candidates
	LDTypes                   uint32
	OGType                    float32 // 0: none, 1 website, 2 article, 3 product, 4 another
}

// read reads the metadata in one pass over the nodes.
func (h *Head) Read(d *htmltree.Doc) {
	nodes := d.Nodes
	if len(nodes) > 1 {
		h.HTMLLang = d.Attr(&nodes[1], htmltree.KeyLang)
	}
	for i := 1; i < len(nodes); i++ {
		n := &nodes[i]
		switch n.Tag {
		case htmltree.TagTitle:
			if len(h.Title) == 0 && int(n.End) > i+1 && (nodes[n.Parent].Tag == htmltree.TagHead || nodes[n.Parent].Tag == htmltree.TagHTML || nodes[n.Parent].Tag == htmltree.TagBody) {
				h.Title = d.Text(&nodes[i+1])
			}
		case htmltree.TagMeta:
			h.meta(d, i)
		case htmltree.TagBase:
			keep(&h.Base, d.Attr(n, htmltree.KeyHref))
		case htmltree.TagLink:
			rel := d.Attr(n, htmltree.KeyRel)
			if len(rel) == 9 && bytes.EqualFold(rel, []byte("canonical")) {
				keep(&h.Canonical, d.Attr(n, htmltree.KeyHref))
			}
		case htmltree.TagTime:
			h.time(d, i)
		case htmltree.TagScript:
			if int(n.End) > i+1 && bytes.Contains(d.Attr(n, htmltree.KeyType), []byte("ld+json")) {
				h.scanLD(d.Text(&nodes[i+1]))
			}
		default:
			if n.Tag > htmltree.TagOther && n.A < n.B {
				for k := n.A; k < n.B; k++ {
					if a := &d.Attrs[k]; a.Key == htmltree.KeyItemprop {
						h.item(d, i, d.Value(a))
					}
				}
			}
		}
	}
}

// time notes a time element.
func (h *Head) time(d *htmltree.Doc, i int) {
	n := &d.Nodes[i]
	if len(h.timeNodes) < maxPlaces {
		h.timeNodes = append(h.timeNodes, int32(i))
	}
	if name := d.Attr(n, htmltree.KeyItemprop); len(name) > 0 {
		h.item(d, i, name)
	} else if d.Has(n, htmltree.KeyPubdate) {
		h.timeOfPage = true
	} else if len(d.Attr(n, htmltree.KeyDatetime)) > 0 {
		h.Times++
	}
}

func lowerString(b []byte, buf *[48]byte) string {
	if len(b) > len(buf) {
		return ""
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return htmltree.String(buf[:len(b)])
}

func (h *Head) meta(d *htmltree.Doc, i int) {
	n := &d.Nodes[i]
	content := d.Attr(n, htmltree.KeyContent)
	if len(content) == 0 {
		return
	}
	var buf [48]byte
	name := d.Attr(n, htmltree.KeyProperty)
	if len(name) == 0 {
		name = d.Attr(n, htmltree.KeyName)
	}
	if len(name) == 0 {
		name = d.Attr(n, htmltree.KeyItemprop)
		h.item(d, i, name)
	} else if isDateName(lowerString(name, &buf)) {
		h.state(pubdate.Candidate{Source: pubdate.Meta, Name: htmltree.String(name), Text: htmltree.String(content)})
	}
	if len(name) == 0 {
		if v := d.Attr(n, htmltree.KeyHTTPEquiv); len(v) > 0 && lowerString(v, &buf) == "content-language" {
			keep(&h.Lang, content)
		}
		return
	}
	switch lowerString(name, &buf) {
	case "og:title":
		keep(&h.OGTitle, content)
	case "twitter:title", "title", "dc.title", "dcterms.title", "citation_title", "headline", "parsely-title", "sailthru.title":
		keep(&h.MetaTitle, content)
	case "description", "og:description", "twitter:description", "dc.description", "sailthru.description":
		keep(&h.Description, content)
	case "og:image", "twitter:image", "og:image:url", "og:image:secure_url", "twitter:image:src", "image":
		keep(&h.Image, content)
	case "og:type":
		switch {
		case h.OGType != 0:
		case bytes.Contains(content, []byte("article")) || bytes.Contains(content, []byte("blog")):
			h.OGType = 2
		case bytes.Contains(content, []byte("product")):
			h.OGType = 3
		case bytes.Contains(content, []byte("website")):
			h.OGType = 1
		default:
			h.OGType = 4
		}
	case "og:locale":
		keep(&h.Locale, content)
	case "language", "dc.language", "content-language", "inlanguage":
		keep(&h.Lang, content)
	case "og:site_name":
		keep(&h.site, content)
	case "keywords", "news_keywords", "article:tag", "citation_keywords", "parsely-tags", "dc.subject":
		if len(h.Keywords) < 200 {
			h.Keywords = append(h.Keywords, content)
		}
	case "author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author", "sailthru.author", "byl", "creator", "authors":
		if len(h.Authors) < 20 {
			h.Authors = append(h.Authors, content)
		}
	case "dc.date", "dc.date.issued", "dc.date.created", "dcterms.date", "dcterms.issued", "dcterms.created":
		keep(&h.dublin, content)
	}
}

// oneLine collapses white space.
func OneLine(b []byte) string {
	dst, _ := outline.AppendWords(make([]byte, 0, len(b)), b, false, 0)
	return string(dst)
}

// StatedTitle returns the title that the page states for its article, without the name of the site.
func (h *Head) StatedTitle() string {
	if t := strings.Join(strings.Fields(TextOfJSON(h.ldTitle)), " "); t != "" {
		return t
	}
	for _, t := range [][]byte{h.OGTitle, h.MetaTitle, h.Title} {
		if s := OneLine(t); s != "" {
			return h.withoutSite(s)
		}
	}
	return ""
}

// StatedDescription returns the description in meta elements, else that in JSON-LD.
func (h *Head) StatedDescription() string {
	if s := OneLine(h.Description); s != "" {
		return s
	}
	return strings.Join(strings.Fields(TextOfJSON(h.LDDescr)), " ")
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
		split(TextOfJSON(h.LDKeywords))
	}
	return Unique(list)
}

// pageTitle is the title of the article: the heading that is like a title of the page, else the title without the site.
func (h *Head) PageTitle(o *outline.Outline) string {
	if o.Title >= 0 {
		b := &o.Lines[o.Title]
		if b.Title || o.Boxes[b.Box].Tag == htmltree.TagH1 {
			return string(o.AppendText(nil, b))
		}
	}
	if t := h.StatedTitle(); t != "" {
		return t
	}
	for i := range o.Lines {
		if b := &o.Lines[i]; b.Kind == outline.KindHeading {
			return string(o.AppendText(nil, b))
		}
	}
	return ""
}

// withoutSite cuts the name of the site off a title.
func (h *Head) withoutSite(s string) string {
	site := OneLine(h.site)
	for _, sep := range []string{" | ", " - ", " – ", " — ", " · ", " :: ", " » ", " « "} {
		if i := strings.LastIndex(s, sep); i > 0 {
			rest := s[i+len(sep):]
			if site != "" && strings.EqualFold(rest, site) || len(strings.Fields(rest)) <= 4 && len(strings.Fields(s[:i])) >= 3 {
				return s[:i]
			}
		}
	}
	return s
}
