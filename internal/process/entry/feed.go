package entry

import (
	"encoding/json"
	"strings"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/result"
	"hce/dc/internal/wire/schema"
)

// Feed returns the tags of a feed entry, as feed.Entry.Document wrote it: one for each field,
// parent_rss_feed and parent_rss_feed_urlMd5. published is the date of the field published, or
// else the one that the crawler found, in UTC; "" if there is no date. With an error the result
// has no tags.
func Feed(md5 string, raw []byte) (r result.Result, published schema.Date, err error) {
	var document struct {
		Entry      prop.Members `json:"entry"`
		Feed       string       `json:"parent_rss_feed"`
		FeedURLMd5 string       `json:"parent_rss_feed_urlMd5"`
		Date       *string      `json:"pubdate"`
	}
	r.ID = md5
	if err := prop.Decode(string(raw), &document); err != nil {
		return r, "", scraperErrorf("the entry of a feed %w", err)
	}
	if document.Entry == nil {
		return r, "", scraperErrorf(`the entry of a feed has no object at "entry"`)
	}
	r.Tags = make([]result.Tag, 0, len(document.Entry)+2)
	add := func(name, value string) {
		r.Add(result.Tag{Name: name, Data: []string{value}, Extractor: result.Feed})
	}
	for _, m := range document.Entry {
		if m.Name != "" {
			add(m.Name, fieldText(m.Name, m.Value))
		}
	}
	add("parent_rss_feed", document.Feed)
	add("parent_rss_feed_urlMd5", document.FeedURLMd5)
	published = dateOf(r.First("published"))
	if published == "" && document.Date != nil {
		published = dateOf(*document.Date)
		if at, ok := published.Time(); ok && published != dateOf(r.First("updated")) { // else an update
			r.Published = dates.InstantOf(at).String()
		}
	}
	return r, published, nil
}

func dateOf(text string) schema.Date {
	t, ok := dates.Parse(text)
	if y := t.Year(); !ok || y < 1900 || y > 9999 {
		return ""
	}
	return schema.DateOf(t)
}

// Members of objects that are the text of a field. The last ones of objectKeys are those of a
// single link or category of Atom.
var (
	objectKeys = []string{"url", "name", "value", "href", "term"}
	listKeys   = []string{"href", "url", "name", "term"}
)

// fieldText returns the text of a field of an entry, "" if it has none
// (docs/spec/processing.md 4.1).
func fieldText(name string, value json.RawMessage) string {
	switch {
	case isObject(value):
		value := memberOf(value, objectKeys...)
		if name == "link" {
			return escapeLink(value)
		}
		return value
	case isList(value):
		return listText(value)
	case name == "link":
		return escapeLink(textOf(value))
	}
	return textOf(value)
}

// listText joins the first member of listKeys that an element has by commas, or else the values
// by spaces. Texts of a list, as in JSON Feed, are joined by commas. Numbers, such as a parsed
// date, have no text.
func listText(value json.RawMessage) string {
	var list []json.RawMessage
	_ = json.Unmarshal(value, &list) // it is a valid list
	for _, key := range listKeys {
		if found := membersOf(list, key); len(found) > 0 {
			return strings.Join(found, ",")
		}
	}
	if found := membersOf(list, "value"); len(found) > 0 {
		return strings.Join(found, " ")
	}
	var found []string
	for _, element := range list {
		if strings.HasPrefix(string(element), `"`) {
			found = append(found, textOf(element))
		}
	}
	return strings.Join(found, ",")
}

// membersOf returns the texts of a member of the objects in a list.
func membersOf(list []json.RawMessage, key string) []string {
	var found []string
	for _, element := range list {
		if !isObject(element) {
			continue
		}
		if v := memberOf(element, key); v != "" {
			found = append(found, v)
		}
	}
	return found
}

// memberOf returns the text of the first of the keys that has one.
func memberOf(object json.RawMessage, keys ...string) string {
	var members prop.Members
	_ = members.UnmarshalJSON(object) // it is a valid object
	for _, key := range keys {
		for _, m := range members {
			if m.Name != key {
				continue
			}
			if s, err := prop.Text(m.Value); err == nil && s != "" {
				return s
			}
		}
	}
	return ""
}
