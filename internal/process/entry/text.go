package entry

import (
	"encoding/json"
	"html"
	"regexp"
	"slices"

	"hce/dc/internal/wire/prop"
)

// Text is what the entry of a feed says, as HTML; fields are "" if it does not say it.
type Text struct{ Title, Summary, Body string }

// bodyNames are the members with the whole text of an entry, the best first; summaryNames those with a
// short one. In RSS a description is either.
var (
	bodyNames    = []string{"content:encoded", "content_html", "content", "body", "xhtml:body", "content_encoded", "content_text", "description"}
	summaryNames = []string{"summary", "description", "subtitle", "itunes:summary", "itunes:subtitle", "media:description"}
)

// plainNames are members whose text is no HTML.
var plainNames = []string{"content_text", "itunes:summary", "itunes:subtitle"}

// TextOf returns the texts of a feed entry, as feed.Entry.Document wrote it.
func TextOf(raw []byte) Text {
	var document struct {
		Entry prop.Members `json:"entry"`
	}
	if prop.Decode(string(raw), &document) != nil {
		return Text{}
	}
	members := map[string]json.RawMessage{}
	for _, m := range document.Entry {
		members[m.Name] = m.Value
	}
	_, isRSS := members["description"]
	for _, name := range []string{"guid", "pubDate", "content:encoded"} {
		_, has := members[name]
		isRSS = isRSS || has
	}
	_, normalized := members["links"] // names of RSS_FEEDPARSER_MODE: the type of a title is lost
	first := func(names ...string) string {
		for _, name := range names {
			plain := slices.Contains(plainNames, name) || name == "title" && !isRSS && !(normalized && ends.Match(members[name]))
			if text := markupOf(members[name], plain); text != "" {
				return text
			}
		}
		return ""
	}
	t := Text{Title: first("title"), Summary: first(summaryNames...), Body: first(bodyNames...)}
	if t.Body == "" {
		t.Body = t.Summary
	}
	return t
}

// markup is what only HTML has: an end tag, a frequent start tag, an entity.
var markup = regexp.MustCompile(`(?i)</[a-z]|<(?:a|b|br|code|em|i|img|p|span|strong|sub|sup)\b[^<>]*>|&(?:#\d+|#x[0-9a-f]+|[a-z]+\d?);`)

// ends is what a title about HTML, such as "Use <b>", has not.
var ends = regexp.MustCompile(`(?i)</[a-z]|&(?:#\d+|#x[0-9a-f]+|[a-z]+\d?);`)

// markupOf returns a text construct as HTML. An object says its type; a list has the same text in several
// types. plain means that a text without a type is no HTML.
func markupOf(value json.RawMessage, plain bool) string {
	switch {
	case isList(value):
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list) // it is a valid list
		best := ""
		for _, element := range list {
			if text := markupOf(element, plain); len(text) > len(best) {
				best = text
			}
		}
		return best
	case isObject(value):
		switch kind := memberOf(value, "type"); kind {
		case "html", "xhtml", "text/html", "application/xhtml+xml":
			return memberOf(value, "value")
		case "text", "text/plain":
			plain = true
		case "":
		default: // a picture or a document in base64
			return ""
		}
		value, _ = json.Marshal(memberOf(value, "value"))
	}
	text, err := prop.Text(value)
	if err != nil {
		return ""
	}
	if plain || !markup.MatchString(text) {
		return html.EscapeString(text)
	}
	return text
}
