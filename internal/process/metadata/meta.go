package metadata

import (
	"bytes"
	"strings"

	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// metaKind is what the name of a meta element means.
type metaKind uint8

const (
	metaNothing metaKind = iota
	metaOGTitle
	metaTitle
	metaDescription
	metaImage
	metaOGType
	metaLocale
	metaLanguage
	metaSite
	metaAppName
	metaKeywords
	metaAuthor
	metaDublin
)

// metaKinds are the names of meta elements in lower case.
var metaKinds = func() map[string]metaKind {
	kinds := map[string]metaKind{}
	for kind, names := range map[metaKind]string{
		metaOGTitle:     "og:title",
		metaTitle:       "twitter:title title dc.title dcterms.title citation_title headline parsely-title sailthru.title",
		metaDescription: "description og:description twitter:description dc.description dcterms.description sailthru.description",
		metaImage:       "og:image twitter:image og:image:url og:image:secure_url twitter:image:src image",
		metaOGType:      "og:type",
		metaLocale:      "og:locale",
		metaLanguage:    "language dc.language dcterms.language content-language inlanguage",
		metaSite:        "og:site_name",
		metaAppName:     "application-name apple-mobile-web-app-title al:ios:app_name citation_journal_title",
		metaKeywords:    "keywords news_keywords article:tag citation_keywords parsely-tags dc.subject",
		metaAuthor:      "author article:author dc.creator dcterms.creator citation_author parsely-author sailthru.author byl creator authors",
		metaDublin:      "dc.date dc.date.issued dc.date.created dcterms.date dcterms.issued dcterms.created",
	} {
		for name := range strings.FieldsSeq(names) {
			kinds[name] = kind
		}
	}
	return kinds
}()

// maxName is the longest name of a meta element that is known.
const maxName = 48

// lowerName returns a name in lower case, in buf; "" for a long one.
func lowerName(name []byte, buf *[maxName]byte) string {
	name = bytes.TrimSpace(name)
	if len(name) > len(buf) {
		return ""
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		buf[i] = c
	}
	return htmltree.String(buf[:len(name)])
}

// readMeta reads a meta element. The first of its names that is known counts.
func (h *Head) readMeta(d *htmltree.Doc, i int) {
	n := &d.Nodes[i]
	content := d.Attr(n, htmltree.KeyContent)
	if len(content) == 0 {
		return
	}
	var buf [maxName]byte
	for _, key := range [...]htmltree.Key{htmltree.KeyProperty, htmltree.KeyName, htmltree.KeyItemprop} {
		name := d.Attr(n, key)
		if len(name) == 0 {
			continue
		}
		lower := lowerName(name, &buf)
		switch kind := metaKinds[lower]; {
		case key == htmltree.KeyItemprop:
			h.readItem(d, i, name)
			h.setMeta(kind, content)
			return
		case isDateName(lower):
			h.addStated(pubdate.Candidate{Source: pubdate.Meta, Name: htmltree.String(name), Text: htmltree.String(content)})
			h.setMeta(kind, content)
			return
		case kind != metaNothing:
			h.setMeta(kind, content)
			return
		case key == htmltree.KeyName:
			h.addRobots(name, content)
			return
		}
	}
	if lowerName(d.Attr(n, htmltree.KeyHTTPEquiv), &buf) == "content-language" {
		keepFirst(&h.Lang, content)
	}
}

// setMeta keeps what a meta element says.
func (h *Head) setMeta(kind metaKind, content []byte) {
	switch kind {
	case metaOGTitle:
		keepFirst(&h.OGTitle, content)
	case metaTitle:
		keepFirst(&h.MetaTitle, content)
	case metaDescription:
		keepFirst(&h.Description, content)
	case metaImage:
		keepFirst(&h.Image, content)
	case metaLocale:
		keepFirst(&h.Locale, content)
	case metaLanguage:
		keepFirst(&h.Lang, content)
	case metaSite:
		keepFirst(&h.SiteName, content)
		h.site.addName(content)
	case metaAppName:
		h.site.addName(content)
	case metaOGType:
		h.setType(content)
	case metaKeywords:
		if len(h.Keywords) < maxKeywords {
			h.Keywords = append(h.Keywords, content)
		}
	case metaAuthor:
		appendValue(&h.Authors, content)
	case metaDublin:
		keepFirst(&h.dublinDate, content)
	}
}

// setType reads og:type.
func (h *Head) setType(content []byte) {
	if h.OGType != OGNone {
		return
	}
	h.OGType = OGOther
	for _, t := range [...]struct {
		word string
		kind int
	}{{"article", OGArticle}, {"blog", OGArticle}, {"product", OGProduct}, {"website", OGWebsite}} {
		if bytes.Contains(content, []byte(t.word)) {
			h.OGType = t.kind
			return
		}
	}
}

// robotsWords begin the rules for robots.
var robotsWords = map[string]bool{"all": true, "index": true, "noindex": true, "follow": true, "nofollow": true, "none": true, "noarchive": true,
	"nosnippet": true, "noimageindex": true, "noodp": true, "notranslate": true, "max-snippet": true, "max-image-preview": true, "max-video-preview": true}

// addRobots keeps rules for robots. The first word of the content tells them from other meta elements.
func (h *Head) addRobots(name, content []byte) {
	word := bytes.TrimSpace(content)
	if i := bytes.IndexAny(word, ",: "); i >= 0 {
		word = word[:i]
	}
	var buf [maxName]byte
	if len(h.Robots) < maxValues && robotsWords[lowerName(word, &buf)] {
		h.Robots = append(h.Robots, RobotsRule{Agent: name, Content: content})
	}
}
