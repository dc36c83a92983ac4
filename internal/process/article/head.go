package article

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// head is the metadata of a page in HTML, OpenGraph, Dublin Core and schema.org.
type head struct {
	title, heading, description, author, image, language string
	alternative                                          string // alt texts of images, for pages without text
	keywords                                             []string
	date                                                 time.Time
	timeElement                                          string // of the first time element, used if there is no other date
}

// maxAlternative is the most bytes of head.alternative.
const maxAlternative = 4 << 10

// readHead walks the whole tree, because bodies contain metadata too.
func readHead(doc *html.Node) head {
	var h head
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.DataAtom {
		case atom.Meta:
			h.meta(n)
		case atom.Time:
			if v := attr(n, "datetime"); v != "" {
				if attr(n, "itemprop") == "datePublished" || has(n, "pubdate") {
					h.published(v)
				} else if h.timeElement == "" {
					h.timeElement = v
				}
			}
		case atom.Script:
			if h.date.IsZero() && strings.EqualFold(attr(n, "type"), "application/ld+json") && n.FirstChild != nil {
				if m := datePublished.FindStringSubmatch(n.FirstChild.Data); m != nil {
					h.published(m[1])
				}
			}
		case atom.H1, atom.H2, atom.H3:
			if h.heading == "" {
				h.heading = oneLine(nodeText(n))
			}
		case atom.Img:
			if alt := oneLine(attr(n, "alt")); alt != "" && len(h.alternative)+len(alt) < maxAlternative {
				h.alternative = strings.TrimLeft(h.alternative+"\n"+alt, "\n")
			}
		}
	}
	if h.date.IsZero() && h.timeElement != "" {
		h.published(h.timeElement)
	}
	return h
}

// datePublished finds the date in a JSON-LD script. Such scripts are often invalid JSON, so
// they are not parsed.
var datePublished = regexp.MustCompile(`"datePublished"\s*:\s*"([^"]{4,40})"`)

// metaNames maps the lower-case names of meta elements to fields of head.
var metaNames = map[string]string{
	"og:title": "title", "dc.title": "title", "dcterms.title": "title", "twitter:title": "title",
	"description": "description", "og:description": "description", "dc.description": "description",
	"dcterms.description": "description", "twitter:description": "description",
	"author": "author", "article:author": "author", "dc.creator": "author", "dcterms.creator": "author",
	"og:image": "image", "og:image:url": "image", "twitter:image": "image",
	"content-language": "language", "og:locale": "language", "dc.language": "language", "dcterms.language": "language",
	"keywords": "keywords", "news_keywords": "keywords", "article:tag": "keywords", "dc.subject": "keywords",
	"article:published_time": "date", "og:published_time": "date", "datepublished": "date", "date": "date",
	"dc.date": "date", "dc.date.issued": "date", "dc.date.created": "date", "dcterms.issued": "date",
	"dcterms.created": "date", "dcterms.date": "date", "citation_publication_date": "date", "citation_date": "date",
	"pubdate": "date", "publishdate": "date", "publish_date": "date", "publication_date": "date",
	"sailthru.date": "date", "parsely-pub-date": "date", "article.published": "date",
}

// meta reads one meta element. The first value of a field counts.
func (h *head) meta(n *html.Node) {
	content := strings.TrimSpace(attr(n, "content"))
	if content == "" {
		return
	}
	for _, key := range [...]string{"property", "name", "itemprop", "http-equiv"} {
		name := strings.ToLower(strings.TrimSpace(attr(n, key)))
		var field *string
		switch metaNames[name] {
		case "title":
			field = &h.title
		case "description":
			field = &h.description
		case "author":
			field = &h.author
		case "image":
			field = &h.image
		case "language":
			field = &h.language
		case "keywords":
			if len(h.keywords) < maxKeywords {
				h.keywords = append(h.keywords, strings.FieldsFunc(content, func(r rune) bool { return r == ',' || r == ';' })...)
			}
			return
		case "date":
			h.published(content)
			return
		default:
			continue
		}
		if *field == "" {
			*field = content
		}
		return
	}
}

// maxKeywords is the number of keywords after which meta elements are ignored.
const maxKeywords = 200

// published sets the date if it is not set and text is a valid date.
func (h *head) published(text string) {
	if h.date.IsZero() {
		h.date = parseDate(text)
	}
}

// attr returns the value of an attribute of n, or "".
func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// has reports whether n has the attribute.
func has(n *html.Node, key string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == key })
}
