package metadata

import (
	"bytes"
	"slices"
	"strings"

	"hce/dc/internal/process/pubdate"
	"hce/dc/internal/web/htmltree"
)

// object is what is known about an object of JSON-LD when it ends.
type object struct {
	role  []byte    // the member in which it is nested, see roleOf
	types [3][]byte // as written

	id, name, url, headline, body, description, language, image []byte

	keywords [][]byte // at most maxKeywords
	authors  []DataAuthor
	refs     [][]byte    // ids of authors
	dates    [][2][]byte // members and their texts
}

// maxDates bounds the dates of an object.
const maxDates = 4

// roleOf returns the member in which an object is nested, of the object that is no part of the page's
// own; nil for objects at the top, in @graph, and those that the page is about.
func roleOf(key []byte, parent *object) []byte {
	if parent != nil && len(parent.role) > 0 {
		return parent.role
	}
	switch string(key) {
	case "", "@graph", "mainEntity", "mainEntityOfPage":
		return nil
	}
	return key
}

// setText keeps a text of an object.
func (o *object) setText(key, v []byte) {
	switch string(key) {
	case "@type":
		for i := range o.types {
			if len(o.types[i]) == 0 {
				o.types[i] = v
				return
			}
		}
	case "@id":
		keepFirst(&o.id, v)
	case "name":
		keepFirst(&o.name, v)
	case "url", "contentUrl":
		keepFirst(&o.url, v)
	case "headline":
		keepFirst(&o.headline, v)
	case "datePublished", "dateCreated", "uploadDate", "dateModified":
		if len(o.dates) < maxDates {
			o.dates = append(o.dates, [2][]byte{key, v})
		}
	case "articleBody":
		keepFirst(&o.body, v)
	case "description":
		keepFirst(&o.description, v)
	case "keywords":
		if len(o.keywords) < maxKeywords {
			o.keywords = append(o.keywords, v)
		}
	case "inLanguage":
		keepFirst(&o.language, v)
	case "image", "thumbnailUrl":
		keepFirst(&o.image, v)
	case "author", "creator":
		o.addAuthor(DataAuthor{Name: v})
	}
}

// isType reports whether an object has a type whose name ends so: "Article" is NewsArticle too.
func (o *object) isType(names ...string) bool {
	for _, t := range o.types {
		for _, name := range names {
			if len(t) > 0 && bytes.HasSuffix(t, []byte(name)) {
				return true
			}
		}
	}
	return false
}

// Ranks of the objects that describe a page.
const (
	rankNone    = iota
	rankPage    // a WebPage
	rankUntyped // an object without a type, or of one that is not known
	rankThing   // a product, a recipe, a question
	rankArticle
)

// rankObject returns how well an object describes the page.
func (o *object) rankObject() uint8 {
	switch {
	case len(o.role) > 0:
		return rankNone
	case o.isType("Article", "Posting", "Report", "Review", "Recipe", "HowTo"):
		return rankArticle
	case o.isType("Product", "Question", "Course", "SoftwareApplication", "Book", "Movie", "CreativeWork", "Dataset"):
		return rankThing
	case o.isType("Organization", "WebSite", "Person", "BreadcrumbList", "ItemList", "VideoObject", "ImageObject", "AudioObject", "Event", "Place", "Business", "Comment", "Rating"):
		return rankNone
	case o.isType("Page"):
		return rankPage
	}
	return rankUntyped
}

// LDTypes are words in types of JSON-LD that tell the kind of a page.
var LDTypes = [...]string{"Article", "BlogPosting", "Product", "ItemList", "CollectionPage", "QAPage", "DiscussionForum", "FAQPage", "Recipe", "Offer", "Review", "Course", "Service", "Organization",
	"WebPage", "BreadcrumbList", "Person", "Question", "SoftwareApplication", "TechArticle", "HowTo", "Event"}

// endObject takes what an object says about the page, or about the object in which it is nested.
func (h *Head) endObject(o *object, key []byte, parent *object) {
	h.noteTypes(o)
	h.stateDates(o)
	switch string(key) {
	case "author", "creator":
		switch {
		case parent == nil:
		case len(o.name) > 0:
			parent.addAuthor(DataAuthor{o.name, o.isType(organizations...)})
		case len(o.id) > 0 && len(parent.refs) < maxValues:
			parent.refs = append(parent.refs, o.id)
		}
		h.ldRefs.addPerson(o)
		return
	case "image":
		if parent != nil {
			keepFirst(&parent.image, o.url)
		}
		return
	case "publisher", "isPartOf":
		h.site.addData(o.name)
	}
	if o.isType("WebSite", "Organization") {
		h.site.addData(o.name)
	}
	h.ldRefs.addPerson(o)
	if rank := o.rankObject(); rank > h.ldRank || rank == rankPage && h.ldRank == rankPage {
		h.takeObject(o, rank)
	} else if rank != rankNone {
		h.fillObject(o)
	}
}

// stateDates adds the dates of an object to the candidates.
func (h *Head) stateDates(o *object) {
	for _, date := range o.dates {
		h.addStated(pubdate.Candidate{
			Source: pubdate.JSONLD, Type: string(bytes.TrimSpace(bytes.Join(o.types[:], []byte(" ")))), Role: htmltree.String(o.role),
			Name: htmltree.String(date[0]), Text: TextOfJSON(date[1]),
		})
	}
}

// noteTypes sets the bits of LDTypes.
func (h *Head) noteTypes(o *object) {
	for _, t := range o.types {
		for k := range LDTypes {
			if len(t) > 0 && strings.Contains(string(t), LDTypes[k]) {
				h.LDTypes |= 1 << k
			}
		}
	}
}

func (o *object) addAuthor(author DataAuthor) {
	if len(o.authors) < maxValues {
		o.authors = append(o.authors, author)
	}
}

// organizations are the types of authors that are no persons.
var organizations = []string{"Organization", "Corporation", "Business"}

// takeObject takes the values of an object before those of others.
func (h *Head) takeObject(o *object, rank uint8) {
	h.ldRank = rank
	set := func(at *[]byte, v []byte) {
		if len(v) > 0 {
			*at = v
		}
	}
	set(&h.LDTitle, o.headline)
	if rank >= rankThing {
		set(&h.LDName, o.name)
		if len(o.authors)+len(o.refs) > 0 {
			h.LDAuthors, h.ldRefs.wanted = o.authors, o.refs
		}
	}
	set(&h.LDBody, o.body)
	set(&h.LDDescription, o.description)
	set(&h.LDImage, o.image)
	set(&h.LDLang, o.language)
	if len(o.keywords) > 0 {
		h.LDKeywords = o.keywords
	}
}

// fillObject takes the values of an object that no other has.
func (h *Head) fillObject(o *object) {
	keepFirst(&h.LDTitle, o.headline)
	keepFirst(&h.LDBody, o.body)
	keepFirst(&h.LDDescription, o.description)
	keepFirst(&h.LDImage, o.image)
	keepFirst(&h.LDLang, o.language)
	if len(h.LDKeywords) == 0 {
		h.LDKeywords = o.keywords
	}
	if len(h.LDAuthors)+len(h.ldRefs.wanted) == 0 && len(o.headline) > 0 {
		h.LDAuthors, h.ldRefs.wanted = o.authors, o.refs
	}
}

// authorRefs finds the names of authors that an article has by their ids.
type authorRefs struct {
	ids     [][]byte
	authors []DataAuthor // of the ids, at most maxValues
	wanted  [][]byte
}

func (r *authorRefs) addPerson(o *object) {
	if len(o.id) > 0 && len(o.name) > 0 && len(r.ids) < maxValues {
		r.ids = append(r.ids, o.id)
		r.authors = append(r.authors, DataAuthor{o.name, o.isType(organizations...)})
	}
}

// resolveAuthors adds the names of the wanted authors.
func (r *authorRefs) resolveAuthors(h *Head) {
	for _, id := range r.wanted {
		if k := slices.IndexFunc(r.ids, func(known []byte) bool { return bytes.Equal(known, id) }); k >= 0 && len(h.LDAuthors) < maxValues {
			h.LDAuthors = append(h.LDAuthors, r.authors[k])
		}
	}
}
