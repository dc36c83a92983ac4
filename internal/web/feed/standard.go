package feed

import (
	"maps"
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
	"github.com/mmcdole/gofeed/atom"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"
)

// Standard mode uses the names of Python's feedparser: title, link, links, id, published,
// published_parsed, updated, updated_parsed, summary, content, author, author_detail,
// authors, contributors, tags, enclosures, comments, rights, source, language, and
// prefix_name for extensions. A parsed date is a list of nine numbers. Members without a
// value are left out.

func rssStandard(item *rss.Item, common *gofeed.Item, n *node, links []link, chosen link) *object {
	o := &object{}
	o.setIfMissing("title", common.Title)
	o.setIfMissing("link", chosen.href)
	o.setIfMissing("links", linkList(links, ""))
	if item.GUID != nil {
		o.setIfMissing("id", item.GUID.Value)
		o.setIfMissing("guidislink", chosen.href != "" && chosen.href == item.GUID.Value)
	}
	setDate(o, "published", dateText{common.Published, common.PublishedParsed})
	setDate(o, "updated", dateText{common.Updated, common.UpdatedParsed})
	o.setIfMissing("summary", common.Description)
	if common.Content != "" {
		o.setIfMissing("content", []any{contentObject("text/html", common.Content)})
	}
	setPersons(o, "author", personsFrom(common.Authors))
	o.setIfMissing("tags", tagList(rssTags(item.Categories, common.Categories)))
	o.setIfMissing("enclosures", linkList(links, "enclosure"))
	o.setIfMissing("comments", item.Comments)
	if item.Source != nil {
		o.setIfMissing("source", newObject("title", item.Source.Title, "href", item.Source.URL))
	}
	language := n.attribute("lang")
	if dc := item.DublinCoreExt; language == "" && dc != nil && len(dc.Language) > 0 {
		language = dc.Language[0]
	}
	o.setIfMissing("language", language)
	setExtensions(o, item.Extensions)
	for _, name := range slices.Sorted(maps.Keys(item.Custom)) {
		o.setIfMissing(strings.ToLower(name), item.Custom[name])
	}
	return o
}

type tag struct{ term, scheme, label string }

// rssTags returns the categories of RSS, and without a scheme the terms that gofeed found
// elsewhere.
func rssTags(categories []*rss.Category, terms []string) []tag {
	var tags []tag
	for _, c := range categories {
		tags = append(tags, tag{c.Value, c.Domain, ""})
	}
	for _, term := range terms[min(len(tags), len(terms)):] {
		tags = append(tags, tag{strings.TrimSpace(term), "", ""})
	}
	return tags
}

func rssHead(raw *rss.Feed, common *gofeed.Feed) *object {
	o := &object{}
	o.setIfMissing("title", common.Title)
	o.setIfMissing("link", common.Link)
	var links []link
	for _, href := range raw.Links {
		links = append(links, link{rel: "alternate", href: href})
	}
	o.setIfMissing("links", linkList(append(links, embeddedLinks(raw.Extensions)...), ""))
	o.setIfMissing("subtitle", common.Description)
	o.setIfMissing("language", common.Language)
	o.setIfMissing("rights", common.Copyright)
	o.setIfMissing("generator", common.Generator)
	setDate(o, "published", dateText{common.Published, common.PublishedParsed})
	setDate(o, "updated", dateText{common.Updated, common.UpdatedParsed})
	setPersons(o, "author", personsFrom(common.Authors))
	o.setIfMissing("tags", tagList(rssTags(nil, common.Categories)))
	if common.Image != nil {
		o.setIfMissing("image", newObject("href", common.Image.URL, "title", common.Image.Title))
	}
	o.setIfMissing("docs", raw.Docs)
	o.setIfMissing("ttl", raw.TTL)
	setExtensions(o, raw.Extensions)
	return o
}

func atomStandard(item *atom.Entry, links []link, chosen link, language string) *object {
	o := &object{}
	o.setIfMissing("title", item.Title)
	o.setIfMissing("link", chosen.href)
	o.setIfMissing("links", linkList(links, ""))
	o.setIfMissing("id", item.ID)
	setDate(o, "published", dateText{item.Published, item.PublishedParsed})
	setDate(o, "updated", dateText{item.Updated, item.UpdatedParsed})
	o.setIfMissing("summary", item.Summary)
	if c := item.Content; c != nil && (c.Value != "" || c.Src != "") {
		body := contentObject(c.Type, c.Value)
		body.setIfMissing("src", c.Src)
		o.setIfMissing("content", []any{body})
	}
	setPersons(o, "author", atomPersons(item.Authors))
	setPersons(o, "contributor", atomPersons(item.Contributors))
	o.setIfMissing("tags", tagList(atomTags(item.Categories)))
	o.setIfMissing("enclosures", linkList(links, "enclosure"))
	o.setIfMissing("rights", item.Rights)
	if s := item.Source; s != nil {
		href := bestLink(atomLinks(s.Links), s.ID).href
		o.setIfMissing("source", newObject("title", s.Title, "id", s.ID, "href", href, "updated", s.Updated))
	}
	o.setIfMissing("language", language)
	setExtensions(o, item.Extensions)
	return o
}

func atomHead(raw *atom.Feed, links []link, href string) *object {
	o := &object{}
	o.setIfMissing("title", raw.Title)
	o.setIfMissing("link", href)
	o.setIfMissing("links", linkList(links, ""))
	o.setIfMissing("id", raw.ID)
	o.setIfMissing("subtitle", raw.Subtitle)
	o.setIfMissing("language", raw.Language)
	o.setIfMissing("rights", raw.Rights)
	if raw.Generator != nil {
		o.setIfMissing("generator", raw.Generator.Value)
	}
	setDate(o, "updated", dateText{raw.Updated, raw.UpdatedParsed})
	setPersons(o, "author", atomPersons(raw.Authors))
	setPersons(o, "contributor", atomPersons(raw.Contributors))
	o.setIfMissing("tags", tagList(atomTags(raw.Categories)))
	o.setIfMissing("icon", raw.Icon)
	o.setIfMissing("logo", raw.Logo)
	setExtensions(o, raw.Extensions)
	return o
}

func atomTags(categories []*atom.Category) []tag {
	var tags []tag
	for _, c := range categories {
		tags = append(tags, tag{c.Term, c.Scheme, c.Label})
	}
	return tags
}

func contentObject(mediaType, value string) *object {
	switch mediaType {
	case "", "text":
		mediaType = "text/plain"
	case "html":
		mediaType = "text/html"
	case "xhtml":
		mediaType = "application/xhtml+xml"
	}
	return newObject("type", mediaType, "value", value)
}

// setDate sets the text of a date and, if it is valid, Python's time tuple in UTC.
func setDate(o *object, name string, date dateText) {
	o.setIfMissing(name, date.text)
	t := firstDate(date)
	if t.IsZero() {
		return
	}
	monday := (int(t.Weekday()) + 6) % 7
	o.setIfMissing(name+"_parsed", []int{t.Year(), int(t.Month()), t.Day(), t.Hour(), t.Minute(), t.Second(), monday, t.YearDay(), 0})
}

// linkList lists the links of one relation, or all if rel is "".
func linkList(links []link, rel string) []any {
	var list []any
	for _, l := range links {
		if rel != "" && l.rel != rel {
			continue
		}
		if rel != "" {
			l.rel = "" // redundant
		}
		list = append(list, newObject("rel", l.rel, "type", l.mediaType, "href", l.href,
			"title", l.title, "length", l.length, "hreflang", l.language))
	}
	return list
}

func tagList(tags []tag) []any {
	var list []any
	for _, t := range tags {
		if o := newObject("term", t.term, "scheme", t.scheme, "label", t.label); !isEmpty(o) {
			list = append(list, o)
		}
	}
	return list
}

type person struct{ name, email, href string }

func personsFrom(from []*gofeed.Person) []person {
	var list []person
	for _, p := range from {
		list = append(list, person{p.Name, p.Email, ""})
	}
	return list
}

func atomPersons(from []*atom.Person) []person {
	var list []person
	for _, p := range from {
		list = append(list, person{p.Name, p.Email, p.URI})
	}
	return list
}

// setPersons sets the list of persons of a role. For authors it also sets the first one as
// text and in detail.
func setPersons(o *object, role string, from []person) {
	var list []any
	for _, p := range from {
		detail := newObject("name", p.name, "email", p.email, "href", p.href)
		if isEmpty(detail) {
			continue
		}
		if role == "author" && len(list) == 0 {
			text := p.name
			switch {
			case text == "":
				text = p.email
			case p.email != "":
				text += " (" + p.email + ")"
			}
			o.setIfMissing("author", text)
			o.setIfMissing("author_detail", detail)
		}
		list = append(list, detail)
	}
	o.setIfMissing(role+"s", list)
}

// setExtensions sets the elements of other namespaces as prefix_name, with the customary
// prefix of the namespace.
func setExtensions(o *object, extensions ext.Extensions) {
	for _, prefix := range slices.Sorted(maps.Keys(extensions)) {
		elements := extensions[prefix]
		for _, name := range slices.Sorted(maps.Keys(elements)) {
			key := strings.ToLower(name)
			if prefix != "" {
				key = strings.ToLower(prefix) + "_" + key
			}
			o.setIfMissing(key, extensionValue(elements[name]))
		}
	}
}

// extensionValue returns the text of a single plain element, the object of a single other
// element, or the list of all.
func extensionValue(elements []ext.Extension) any {
	var list []any
	for _, e := range elements {
		list = append(list, extensionObject(e))
	}
	if len(list) != 1 {
		return list
	}
	if e := elements[0]; len(e.Attrs) == 0 && len(e.Children) == 0 {
		return e.Value
	}
	return list[0]
}

func extensionObject(e ext.Extension) *object {
	o := &object{}
	for _, name := range slices.Sorted(maps.Keys(e.Attrs)) {
		o.setIfMissing(name, e.Attrs[name])
	}
	o.setIfMissing("value", e.Value)
	for _, name := range slices.Sorted(maps.Keys(e.Children)) {
		o.setIfMissing(strings.ToLower(name), extensionValue(e.Children[name]))
	}
	return o
}
