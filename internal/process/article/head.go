package article

import (
	"regexp"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// head is what the mark-up of a page says about it, by the usual vocabularies:
// HTML, OpenGraph, Dublin Core, schema.org.
type head struct {
	title, heading, description, author, siteName, image, language string
	alternative                                                    string // texts of images, for pages without words
	keywords                                                       []string
	date                                                           time.Time
	dateZoned                                                      bool
	timeElement                                                    string // first time element, a weaker statement
}

// maxAlternative bounds head.alternative.
const maxAlternative = 4 << 10

// readHead walks the whole tree, as bodies hold metadata too.
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

// datePublished finds the date in a JSON-LD script. Such scripts are often not
// quite JSON, so they are searched and not parsed.
var datePublished = regexp.MustCompile(`"datePublished"\s*:\s*"([^"]{4,40})"`)

// metaNames maps the names of meta elements, in lower case, to what they state.
var metaNames = map[string]string{
	"og:title": "title", "dc.title": "title", "dcterms.title": "title", "twitter:title": "title",
	"description": "description", "og:description": "description", "dc.description": "description",
	"dcterms.description": "description", "twitter:description": "description",
	"author": "author", "article:author": "author", "dc.creator": "author", "dcterms.creator": "author",
	"og:site_name": "site", "application-name": "site",
	"og:image": "image", "og:image:url": "image", "twitter:image": "image",
	"content-language": "language", "og:locale": "language", "dc.language": "language", "dcterms.language": "language",
	"keywords": "keywords", "news_keywords": "keywords", "article:tag": "keywords", "dc.subject": "keywords",
	"article:published_time": "date", "og:published_time": "date", "datepublished": "date", "date": "date",
	"dc.date": "date", "dc.date.issued": "date", "dc.date.created": "date", "dcterms.issued": "date",
	"dcterms.created": "date", "dcterms.date": "date", "citation_publication_date": "date", "citation_date": "date",
	"pubdate": "date", "publishdate": "date", "publish_date": "date", "publication_date": "date",
	"sailthru.date": "date", "parsely-pub-date": "date", "article.published": "date",
}

// meta reads one meta element; of equal statements the first counts.
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
		case "site":
			field = &h.siteName
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

// maxKeywords stops pages that are made of keywords.
const maxKeywords = 200

// published takes a date unless there is one or it cannot be read.
func (h *head) published(text string) {
	if h.date.IsZero() {
		h.date, h.dateZoned, _ = parseDate(text)
	}
}

// attr returns the value of an attribute of n, "" when it has none.
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
	for _, a := range n.Attr {
		if a.Key == key {
			return true
		}
	}
	return false
}
