package metadata

import (
	"bytes"
	"encoding/json"

	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// scanLD reads the values of interest out of JSON-LD in one pass, without building anything. Broken JSON gives what
// was read before.
func (h *Head) scanLD(s []byte) {
	p := ldScanner{s: s, h: h}
	p.value(nil, 0, nil)
}

type ldScanner struct {
	s    []byte
	i    int
	h    *Head
	role []byte // the member with the outermost object that is not the page; nil: none
}

func (p *ldScanner) blank() {
	for p.i < len(p.s) && p.s[p.i] <= ' ' {
		p.i++
	}
}

// str reads a string, without its quotes and undecoded.
func (p *ldScanner) str() ([]byte, bool) {
	p.i++
	from := p.i
	for p.i < len(p.s) {
		j := bytes.IndexByte(p.s[p.i:], '"')
		if j < 0 {
			p.i = len(p.s)
			return nil, false
		}
		p.i += j
		back := 0
		for k := p.i - 1; k >= from && p.s[k] == '\\'; k-- {
			back++
		}
		p.i++
		if back%2 == 0 {
			return p.s[from : p.i-1], true
		}
	}
	return nil, false
}

// object is what is known about an object when it ends.
type ldObject struct {
	kind, name, url                           []byte
	headline, published, body, descr, keyword []byte
	created, uploaded, modified               []byte
	lang, section                             []byte
	authors                                   [][]byte
	image                                     []byte
	strict                                    bool
}

// value reads a value. key is the member that it is; parent gets what it says.
func (p *ldScanner) value(key []byte, depth int, parent *ldObject) bool {
	p.blank()
	if p.i >= len(p.s) || depth > 40 {
		p.i = len(p.s)
		return false
	}
	switch p.s[p.i] {
	case '{':
		p.i++
		if p.role == nil && !ofPage(key) {
			p.role = key
			defer func() { p.role = nil }()
		}
		var o ldObject
		for {
			p.blank()
			if p.i >= len(p.s) {
				p.end(&o, key, parent)
				return false
			}
			if p.s[p.i] == '}' {
				p.i++
				p.end(&o, key, parent)
				return true
			}
			if p.s[p.i] == ',' {
				p.i++
				continue
			}
			if p.s[p.i] != '"' {
				return false
			}
			k, ok := p.str()
			if !ok {
				return false
			}
			p.blank()
			if p.i >= len(p.s) || p.s[p.i] != ':' {
				return false
			}
			p.i++
			if !p.value(k, depth+1, &o) {
				p.end(&o, key, parent)
				return false
			}
		}
	case '[':
		p.i++
		for {
			p.blank()
			if p.i >= len(p.s) {
				return false
			}
			if p.s[p.i] == ']' {
				p.i++
				return true
			}
			if p.s[p.i] == ',' {
				p.i++
				continue
			}
			if !p.value(key, depth+1, parent) {
				return false
			}
		}
	case '"':
		v, ok := p.str()
		if ok && parent != nil {
			parent.member(key, v)
		}
		return ok
	default:
		from := p.i
		for p.i < len(p.s) && p.s[p.i] != ',' && p.s[p.i] != '}' && p.s[p.i] != ']' && p.s[p.i] > ' ' {
			p.i++
		}
		return p.i > from
	}
}

func keep(at *[]byte, v []byte) {
	if len(*at) == 0 {
		*at = v
	}
}

func (o *ldObject) member(key, v []byte) {
	switch string(key) {
	case "@type":
		keep(&o.kind, v)
	case "name":
		keep(&o.name, v)
	case "url", "contentUrl":
		keep(&o.url, v)
	case "headline":
		keep(&o.headline, v)
	case "datePublished":
		keep(&o.published, v)
	case "dateCreated":
		keep(&o.created, v)
	case "uploadDate":
		keep(&o.uploaded, v)
	case "dateModified":
		keep(&o.modified, v)
	case "articleBody":
		keep(&o.body, v)
	case "description":
		keep(&o.descr, v)
	case "keywords":
		keep(&o.keyword, v)
	case "inLanguage":
		keep(&o.lang, v)
	case "image", "thumbnailUrl":
		keep(&o.image, v)
	case "author", "creator":
		if len(o.authors) < 20 {
			o.authors = append(o.authors, v)
		}
	}
}

// ofPage reports whether the object of a member may be the page itself.
func ofPage(key []byte) bool {
	return len(key) == 0 || string(key) == "@graph" || string(key) == "mainEntity" || string(key) == "mainEntityOfPage"
}

// dates adds the dates of an object to the candidates.
func (p *ldScanner) dates(o *ldObject) {
	add := func(name string, v []byte) {
		if len(v) == 0 {
			return
		}
		text := htmltree.String(v)
		if bytes.IndexByte(v, '\\') >= 0 || bytes.IndexByte(v, '&') >= 0 {
			text = TextOfJSON(v)
		}
		p.h.state(pubdate.Candidate{Source: pubdate.JSONLD, Type: htmltree.String(o.kind), Role: htmltree.String(p.role), Name: name, Text: text})
	}
	add("datePublished", o.published)
	add("dateCreated", o.created)
	add("uploadDate", o.uploaded)
	add("dateModified", o.modified)
}

// end is the end of an object.
func (p *ldScanner) end(o *ldObject, key []byte, parent *ldObject) {
	if len(o.kind) > 0 {
		for k, t := range LDTypes {
			if bytes.Contains(o.kind, []byte(t)) {
				p.h.LDTypes |= 1 << k
			}
		}
	}
	p.dates(o)
	switch string(key) {
	case "author", "creator":
		if len(o.name) > 0 && parent != nil && len(parent.authors) < 20 {
			parent.authors = append(parent.authors, o.name)
		}
		return
	case "image":
		if parent != nil {
			keep(&parent.image, o.url)
		}
		return
	case "publisher", "isPartOf", "comment", "review", "reviews", "logo", "video", "itemListElement", "mentions", "hasPart", "contributor", "editor":
		return
	}
	if len(o.headline)+len(o.published)+len(o.body) == 0 {
		if bytes.Contains(o.kind, []byte("Product")) && len(o.descr) > 0 {
			keep(&p.h.LDDescr, o.descr)
		}
		return
	}
	h := p.h
	keep(&h.ldTitle, o.headline)
	keep(&h.LDDate, o.published)
	keep(&h.LDDate, o.created)
	keep(&h.LDDate, o.uploaded)
	keep(&h.LDBody, o.body)
	keep(&h.LDDescr, o.descr)
	keep(&h.LDImage, o.image)
	keep(&h.LDLang, o.lang)
	keep(&h.LDKeywords, o.keyword)
	if len(h.LDAuthors) == 0 {
		h.LDAuthors = o.authors
	}
}

// ldTypes are types of JSON-LD that tell the type of a page.
var LDTypes = [...]string{"Article", "BlogPosting", "Product", "ItemList", "CollectionPage", "QAPage", "DiscussionForum", "FAQPage", "Recipe", "Offer", "Review", "Course", "Service", "Organization",
	"WebPage", "BreadcrumbList", "Person", "Question", "SoftwareApplication", "TechArticle", "HowTo", "Event"}

// ldText decodes a string of JSON, which may have references too.
func TextOfJSON(v []byte) string {
	if bytes.IndexByte(v, '\\') < 0 && bytes.IndexByte(v, '&') < 0 {
		return string(v)
	}
	var s string
	q := append(append([]byte{'"'}, v...), '"')
	if json.Unmarshal(q, &s) != nil {
		s = string(v)
	}
	return string(htmltree.AppendDecoded(nil, []byte(s), false))
}
