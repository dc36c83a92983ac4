package feed

import (
	"slices"
	"strings"

	"github.com/mmcdole/gofeed"
	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"
)

type rssFormat struct{}

// readRSS parses a document into gofeed's RSS object and its universal object.
func readRSS(doc string) (*rss.Feed, *gofeed.Feed, bool) {
	raw, err := (&rss.Parser{}).Parse(strings.NewReader(doc))
	if err != nil {
		return nil, nil, false
	}
	// A search for images would parse the content as HTML.
	universal, err := (&gofeed.DefaultRSSTranslator{DisableContentImageScan: true}).Translate(raw)
	return raw, universal, err == nil
}

func (rssFormat) parseEntry(doc string, n *node, o Options) (Entry, bool) {
	raw, universal, ok := readRSS(doc)
	if !ok || len(raw.Items) == 0 || len(universal.Items) == 0 {
		return Entry{}, false
	}
	item, common := raw.Items[0], universal.Items[0]
	links := rssLinks(item)
	chosen := rssBest(item, n, links)
	e := Entry{
		URL:         chosen.href,
		ContentType: chosen.mediaType,
		Title:       strings.TrimSpace(common.Title),
		Date: firstDate(
			dateText{item.PubDate, item.PubDateParsed},
			dateText{common.Published, common.PublishedParsed},
			dateText{common.Updated, common.UpdatedParsed},
			dateText{n.dateText(), nil},
		),
	}
	if g := item.GUID; e.URL == "" && g != nil && isURL(strings.TrimSpace(g.Value)) {
		e.GUID = strings.TrimSpace(g.Value)
	}
	if o.Standard {
		e.Data, _ = rssStandard(item, common, n, links, chosen).encodeJSON()
	}
	return e, true
}

// link is one link of an entry, with the names of Atom.
type link struct{ rel, href, mediaType, title, length, language string }

// rssLinks returns the links of an item: its own, embedded Atom links, enclosures.
func rssLinks(item *rss.Item) []link {
	var links []link
	for _, href := range item.Links {
		if href = strings.TrimSpace(href); href != "" {
			links = append(links, link{rel: "alternate", href: href})
		}
	}
	links = append(links, embeddedLinks(item.Extensions)...)
	for _, e := range item.Enclosures {
		if href := strings.TrimSpace(e.URL); href != "" {
			links = append(links, link{rel: "enclosure", href: href, mediaType: e.Type, length: e.Length})
		}
	}
	return links
}

// embeddedLinks returns the Atom links inside RSS.
func embeddedLinks(extensions ext.Extensions) []link {
	var links []link
	for _, prefix := range []string{"atom", "atom10", "atom03"} {
		for _, l := range extensions[prefix]["link"] {
			a := l.Attrs
			if href := strings.TrimSpace(a["href"]); href != "" {
				rel := relationName(a["rel"])
				if rel == "" {
					rel = "alternate"
				}
				links = append(links, link{rel, href, a["type"], a["title"], a["length"], a["hreflang"]})
			}
		}
	}
	return links
}

func rssBest(item *rss.Item, n *node, links []link) link {
	if href := strings.TrimSpace(item.Link); href != "" { // the last of several, as in feedparser
		return link{rel: "alternate", href: href}
	}
	id := n.attribute("about") // of RSS 1.0
	if g := item.GUID; g != nil && !strings.EqualFold(strings.TrimSpace(g.IsPermalink), "false") {
		id = strings.TrimSpace(g.Value)
	}
	if len(links) == 0 {
		for _, m := range item.Extensions["media"]["content"] {
			if href := strings.TrimSpace(m.Attrs["url"]); href != "" {
				links = append(links, link{rel: "enclosure", href: href, mediaType: m.Attrs["type"]})
			}
		}
	}
	return bestLink(links, id)
}

// bestLink chooses the main link of an entry. id is its identifier if that may be a link.
func bestLink(links []link, id string) link {
	for _, l := range links {
		if l.rel == "alternate" && (l.mediaType == "" || strings.Contains(l.mediaType, "html")) {
			return l
		}
	}
	hasRel := func(rel string) int {
		return slices.IndexFunc(links, func(l link) bool { return l.rel == rel })
	}
	if i := hasRel("alternate"); i >= 0 {
		return links[i]
	}
	if isURL(id) {
		return link{rel: "alternate", href: id}
	}
	if i := hasRel("enclosure"); i >= 0 {
		return links[i]
	}
	if len(links) > 0 {
		return links[0]
	}
	return link{}
}

func (rssFormat) parseHead(doc string, f *Feed) (*object, bool) {
	raw, universal, ok := readRSS(doc)
	if !ok {
		return nil, false
	}
	f.Title = strings.TrimSpace(universal.Title)
	f.Language = strings.TrimSpace(universal.Language)
	if f.Link = strings.TrimSpace(universal.Link); f.Link == "" {
		f.Link = strings.TrimSpace(universal.FeedLink)
	}
	f.Updated = firstDate(
		dateText{universal.Updated, universal.UpdatedParsed},
		dateText{universal.Published, universal.PublishedParsed},
	)
	return rssHead(raw, universal), true
}
