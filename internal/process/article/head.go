package article

import (
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hce/dc/internal/web/jsonld"
)

// head is the metadata of a page in JSON-LD, HTML, OpenGraph, Dublin Core and schema.org.
type head struct {
	title, heading, description, image, language string
	dublinDate                                   string // the date in Dublin Core
	body                                         string // the text of the article in JSON-LD
	alternative                                  string // alt texts of images, for pages without text
	authors, keywords                            []string
	dates                                        []string  // of publication, as written
	date                                         time.Time // from dateText, which is one of dates
	dateText                                     string
	times                                        []string // of time elements, used if there is no other date
	metaDates                                    []string
}

const (
	maxAlternative = 4 << 10 // bytes of head.alternative after which images are ignored
	maxKeywords    = 200     // after which meta elements are ignored
	maxAuthors     = 20
	maxDates       = 10 // of each source
)

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
			h.time(n)
		case atom.Script:
			if isJSONLD(n) && n.FirstChild != nil {
				h.script(n.FirstChild.Data)
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
	h.dates = slices.Concat(h.dates, h.metaDates, h.times)
	h.visible(nil)
	return h
}

// visible adds visible dates, and chooses the first date that can be read.
func (h *head) visible(dates []string) {
	h.dates = unique(append(h.dates, dates...))
	for _, text := range h.dates {
		if !h.date.IsZero() {
			return
		}
		h.date, h.dateText = parseDate(text), text
	}
	if h.date.IsZero() {
		h.dateText = ""
	}
}

// time reads a time element. One of a publication counts as metadata.
func (h *head) time(n *html.Node) {
	value := first(attr(n, "datetime"), attr(n, "content"))
	list := &h.times
	if attr(n, "itemprop") == "datePublished" || has(n, "pubdate") {
		list = &h.metaDates
	}
	if value != "" && len(*list) < maxDates {
		*list = append(*list, value)
	}
}

// articleTypes are the types of schema.org whose objects describe the article of a page.
var articleTypes = []string{
	"Article", "NewsArticle", "BlogPosting", "Report", "TechArticle", "ScholarlyArticle", "ReportageNewsArticle", "OpinionNewsArticle",
	"AnalysisNewsArticle", "ReviewNewsArticle", "BackgroundNewsArticle", "SocialMediaPosting", "DiscussionForumPosting", "LiveBlogPosting",
	"Recipe", "Product", "HowTo", "Question", "Review", "Event", "VideoObject", "WebPage", "AdvertiserContentArticle", "MedicalWebPage",
}

// script reads the data of a JSON-LD script. The first value of a field counts.
func (h *head) script(text string) {
	for _, o := range jsonld.Objects(text) {
		if len(h.dates) < maxDates {
			h.dates = append(h.dates, slices.Concat(o.Texts("datePublished"), o.Texts("dateCreated"), o.Texts("uploadDate"))...)
		}
		if !o.Is(articleTypes...) {
			continue
		}
		set := func(field *string, keys ...string) {
			for _, key := range keys {
				if *field == "" {
					*field = o.Text(key)
				}
			}
		}
		set(&h.body, "articleBody")
		if o.Is("WebPage") {
			continue // its name and author are those of the site
		}
		set(&h.title, "headline", "name")
		set(&h.description, "description")
		if len(h.authors) < maxAuthors {
			h.authors = append(h.authors, o.Names("author")...)
		}
		if images := o.URLs("image"); h.image == "" && len(images) > 0 {
			h.image = images[0]
		}
		if len(h.keywords) < maxKeywords {
			for _, k := range o.Texts("keywords") {
				h.keywords = append(h.keywords, splitKeywords(k)...)
			}
		}
	}
}

// splitKeywords splits a list of keywords.
func splitKeywords(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ';' || r == '、' || r == '，' })
}

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
			if len(h.authors) < maxAuthors {
				h.authors = append(h.authors, content)
			}
			return
		case "image":
			field = &h.image
		case "language":
			field = &h.language
		case "keywords":
			if len(h.keywords) < maxKeywords {
				h.keywords = append(h.keywords, splitKeywords(content)...)
			}
			return
		case "date":
			if h.dublinDate == "" && strings.HasPrefix(name, "dc") {
				h.dublinDate = content
			}
			if len(h.metaDates) < maxDates {
				h.metaDates = append(h.metaDates, content)
			}
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

// isJSONLD reports whether a script element has data in JSON-LD.
func isJSONLD(n *html.Node) bool {
	return strings.EqualFold(strings.TrimSpace(attr(n, "type")), "application/ld+json")
}
