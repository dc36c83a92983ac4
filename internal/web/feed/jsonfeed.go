package feed

import (
	"bytes"
	"encoding/json"
	"strings"

	jsonfeed "github.com/mmcdole/gofeed/json"

	"hce/dc/internal/web/loosexml"
)

// parseJSON reads a JSON Feed by member and entry, up to its end or the first syntax error.
func parseJSON(text []byte, o Options) (Feed, error) {
	x := &jsonFeed{Options: o, feed: Feed{Kind: JSON}, head: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Feed{}, ErrNoFeed
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			break
		}
		name := token.(string) // the decoder returns keys as strings
		if name == "items" {
			if !x.readItems(d) {
				break
			}
			continue
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		x.keepMember(name, value)
	}
	if !x.isFeed() {
		return Feed{}, ErrNoFeed
	}
	x.parseHeadMembers()
	return x.feed, nil
}

// jsonFeed is the state of one parse.
type jsonFeed struct {
	Options
	feed      Feed
	head      map[string]json.RawMessage // all members except items
	headBytes int
}

func (x *jsonFeed) keepMember(name string, value json.RawMessage) {
	size := len(name) + len(value)
	if len(x.head) >= maxNodes || x.headBytes+size > maxTextBytes {
		x.feed.Cut = true
		return
	}
	x.headBytes += size
	x.head[name] = value
}

// isFeed distinguishes a JSON Feed from another object with items.
func (x *jsonFeed) isFeed() bool {
	return len(x.feed.Items) > 0 || bytes.Contains(x.head["version"], []byte("jsonfeed.org"))
}

// readItems reads the array of entries. It returns false at a syntax error or a limit.
func (x *jsonFeed) readItems(d *json.Decoder) bool {
	t, err := d.Token()
	if err != nil {
		return false
	}
	if t != json.Delim('[') {
		return t != json.Delim('{') // ignore any other value
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return false
		}
		if len(x.feed.Items) == x.MaxItems {
			x.feed.Cut = true
			return false
		}
		x.addEntry(raw)
	}
	_, err = d.Token()
	return err == nil
}

// addEntry reads one entry. It ignores values that are not objects and objects without link,
// identifier and content.
func (x *jsonFeed) addEntry(raw json.RawMessage) {
	if len(raw) > maxTextBytes {
		x.feed.Cut = true
		return
	}
	item, ok := recoverParse(func() (*jsonfeed.Item, bool) { return readItem(raw) })
	if !ok {
		return
	}
	links := jsonLinks(item)
	chosen := bestLink(links, item.ID)
	e := Entry{
		URL:         loosexml.Clean(chosen.href),
		ContentType: loosexml.Clean(chosen.mediaType),
		Title:       loosexml.Clean(item.Title),
		Date:        firstDate(dateText{item.DatePublished, nil}, dateText{item.DateModified, nil}),
	}
	if x.Standard {
		e.Data, _ = jsonStandard(item, links, chosen).encodeJSON()
	} else {
		e.Data = compactJSON(raw)
	}
	x.feed.Items = append(x.feed.Items, e)
}

func compactJSON(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// readItem reads one entry without its members of the wrong type.
func readItem(raw json.RawMessage) (*jsonfeed.Item, bool) {
	item := &jsonfeed.Item{}
	if json.Unmarshal(raw, item) != nil { // it read the other members, except the identifier
		var only struct {
			ID json.RawMessage `json:"id"`
		}
		alone := &jsonfeed.Item{}
		if json.Unmarshal(raw, &only) == nil {
			id, _ := json.Marshal(only)
			_ = json.Unmarshal(id, alone) // any identifier becomes a text
		}
		item.ID = alone.ID
	}
	return item, item.ID != "" || item.URL != "" || item.ExternalURL != "" || item.ContentHTML != "" || item.ContentText != "" || item.Attachments != nil
}

func jsonLinks(item *jsonfeed.Item) []link {
	var links []link
	for _, href := range []string{item.URL, item.ExternalURL} {
		if href = strings.TrimSpace(href); href != "" {
			links = append(links, link{rel: "alternate", href: href})
		}
	}
	if len(links) == 2 {
		links[1].rel = "related"
	}
	if item.Attachments != nil {
		for _, a := range *item.Attachments {
			if href := strings.TrimSpace(a.URL); href != "" {
				links = append(links, link{rel: "enclosure", href: href, mediaType: a.MimeType, title: a.Title})
			}
		}
	}
	return links
}

func jsonStandard(item *jsonfeed.Item, links []link, chosen link) *object {
	o := &object{}
	o.setIfMissing("title", item.Title)
	o.setIfMissing("link", chosen.href)
	o.setIfMissing("links", linkList(links, ""))
	o.setIfMissing("id", item.ID)
	setDate(o, "published", dateText{item.DatePublished, nil})
	setDate(o, "updated", dateText{item.DateModified, nil})
	o.setIfMissing("summary", item.Summary)
	var bodies []any
	if item.ContentHTML != "" {
		bodies = append(bodies, contentObject("html", item.ContentHTML))
	}
	if item.ContentText != "" {
		bodies = append(bodies, contentObject("text", item.ContentText))
	}
	o.setIfMissing("content", bodies)
	setPersons(o, "author", jsonPersons(item.Author, item.Authors))
	var tags []tag
	for _, term := range item.Tags {
		tags = append(tags, tag{term, "", ""})
	}
	o.setIfMissing("tags", tagList(tags))
	o.setIfMissing("enclosures", linkList(links, "enclosure"))
	o.setIfMissing("language", item.Language)
	o.setIfMissing("image", newObject("href", item.Image))
	return o
}

func jsonPersons(one *jsonfeed.Author, more []*jsonfeed.Author) []person {
	if len(more) == 0 && one != nil {
		more = []*jsonfeed.Author{one}
	}
	var list []person
	for _, a := range more {
		if a != nil {
			list = append(list, person{a.Name, "", a.URL})
		}
	}
	return list
}

// parseHeadMembers reads the members outside the items.
func (x *jsonFeed) parseHeadMembers() {
	text := func(name string) string {
		var s string
		if json.Unmarshal(x.head[name], &s) != nil {
			return ""
		}
		return strings.TrimSpace(loosexml.Clean(s))
	}
	f := &x.feed
	f.Title, f.Language = text("title"), text("language")
	if f.Link = text("home_page_url"); f.Link == "" {
		f.Link = text("feed_url")
	}
	if !x.ZeroItem {
		return
	}
	zero := Entry{URL: f.Link, Title: f.Title}
	if x.Standard {
		zero.Data, _ = newObject("title", f.Title, "link", f.Link, "subtitle", text("description"),
			"language", f.Language, "icon", text("icon")).encodeJSON()
	} else {
		var b bytes.Buffer
		if writeJSON(&b, x.head) == nil {
			zero.Data = b.Bytes()
		}
	}
	f.Items = append([]Entry{zero}, f.Items...)
}
