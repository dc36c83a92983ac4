package feed

import (
	"strings"

	"github.com/mmcdole/gofeed/atom"
)

type atomFormat struct{}

func (atomFormat) parseEntry(doc string, n *node, o Options) (Entry, bool) {
	raw, err := (&atom.Parser{}).Parse(strings.NewReader(doc))
	if err != nil || len(raw.Entries) == 0 {
		return Entry{}, false
	}
	item := raw.Entries[0]
	links := atomLinks(item.Links)
	if item.Content != nil && item.Content.Src != "" {
		links = append(links, link{rel: "content", href: strings.TrimSpace(item.Content.Src), mediaType: item.Content.Type})
	}
	if c := n.firstChild("link"); len(links) == 0 && c != nil && isURL(c.plainText()) { // written as in RSS
		links = append(links, link{rel: "alternate", href: c.plainText()})
	}
	chosen := bestLink(links, strings.TrimSpace(item.ID))
	e := Entry{
		URL:         chosen.href,
		ContentType: chosen.mediaType,
		Title:       strings.TrimSpace(item.Title),
		Date: firstDate(
			dateText{item.Published, item.PublishedParsed},
			dateText{item.Updated, item.UpdatedParsed},
			dateText{n.dateText(), nil},
		),
	}
	if o.Standard {
		language := n.attribute("lang")
		if language == "" {
			language = raw.Language
		}
		e.Data, _ = atomStandard(item, links, chosen, language).encodeJSON()
	}
	return e, true
}

// relationName returns the short name of a relation, which may be written as a URI (RFC 4287 4.2.7.2).
func relationName(rel string) string {
	rel = strings.ToLower(strings.TrimSpace(rel))
	for _, registry := range []string{"http://www.iana.org/assignments/relation/", "https://www.iana.org/assignments/relation/"} {
		rel = strings.TrimPrefix(rel, registry)
	}
	return rel
}

func atomLinks(links []*atom.Link) []link {
	var list []link
	for _, l := range links {
		if href := strings.TrimSpace(l.Href); href != "" {
			list = append(list, link{rel: relationName(l.Rel), href: href, mediaType: l.Type, title: l.Title, length: l.Length, language: l.Hreflang})
		}
	}
	return list
}

func (atomFormat) parseHead(doc string, f *Feed) (*object, bool) {
	raw, err := (&atom.Parser{}).Parse(strings.NewReader(doc))
	if err != nil {
		return nil, false
	}
	links := atomLinks(raw.Links)
	f.Title, f.Language = strings.TrimSpace(raw.Title), strings.TrimSpace(raw.Language)
	f.Link = bestLink(links, raw.ID).href
	f.Updated = firstDate(dateText{raw.Updated, raw.UpdatedParsed})
	return atomHead(raw, links, f.Link), true
}
