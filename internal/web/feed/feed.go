package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/web/loosexml"
)

// MaxItems is the default of Options.MaxItems.
const MaxItems = 10_000

// Limits of one entry, and of everything outside the entries. The rest is dropped and sets
// Feed.Cut.
const (
	maxNodes     = 10_000  // elements and texts
	maxTextBytes = 1 << 20 // of names, attributes and text together
	maxAllNodes  = 500_000 // of all entries; parsing stops there
)

// ErrNoFeed says that a body is not a feed of a known kind.
var ErrNoFeed = errors.New("body is not an RSS, Atom or JSON feed")

// Kind is the format family of a feed.
type Kind string

// Kinds of feeds. RSS covers 0.9x, 1.0 (RDF) and 2.0. None is not a feed.
const (
	None Kind = ""
	RSS  Kind = "rss"
	Atom Kind = "atom"
	JSON Kind = "json"
)

// Options control Parse. The zero value is usable.
type Options struct {
	// ContentType is the value of the HTTP header; may be empty.
	ContentType string
	// Standard gives entries the names of feedparser (RSS_FEEDPARSER_MODE > 0) instead of
	// those of the document.
	Standard bool
	// ZeroItem makes the feed itself the first entry (RSS_FEED_ZERO_ITEM = 1), in addition
	// to MaxItems entries.
	ZeroItem bool
	// MaxItems bounds the entries; 0 means the constant MaxItems.
	MaxItems int
}

// Feed is a parsed feed. All texts are UTF-8, of any length.
type Feed struct {
	Kind     Kind
	Title    string
	Link     string // of the site, as written; may be relative or empty
	Language string
	Updated  time.Time // UTC; zero if unknown
	Items    []Entry   // in document order
	Cut      bool      // a limit dropped something
}

type Entry struct {
	// URL is the best link: the alternate one, else a permanent GUID, else the first
	// enclosure, else any. It is trimmed and resolved against xml:base only; it may be
	// relative or empty.
	URL string
	// GUID is an absolute web URL in the guid of an RSS item that has no other address and says
	// that its guid is no permanent link; else "".
	GUID string `json:",omitempty"`
	// ContentType is the type of URL that the document states, "" if unknown, as for pages
	// in RSS.
	ContentType string
	// Date is the publication date, else the update, in UTC; zero if there is no valid date
	// in the years 1900-9999.
	Date  time.Time
	Title string
	// Data is the entry as a JSON object, with the names that Options chose.
	Data json.RawMessage
}

// Parse parses a feed. A truncated or broken body gives the entries before the break and no
// error. The only error is ErrNoFeed. The caller bounds the size of body, which is not
// changed. Goroutines may call Parse. Source: docs/spec/crawling.md 5.10.
func Parse(body []byte, o Options) (Feed, error) {
	if o.MaxItems <= 0 {
		o.MaxItems = MaxItems
	}
	text := loosexml.UTF8(body, o.ContentType)
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n\x00"), []byte("{")) {
		return parseJSON(text, o)
	}
	return parseXML(text, o)
}

// Document returns the raw content of a FEED_PARSER row: a JSON object with the members
// entry, urlMd5, pubdate, parent_rss_feed and parent_rss_feed_urlMd5. The pubdate is Date
// as "YYYY-MM-DD hh:mm:ss" in UTC, null if unknown. Source: docs/spec/crawling.md 5.10,
// docs/spec/processing.md 4.1.
func (e Entry) Document(urlMd5, feedURL, feedMd5 string) ([]byte, error) {
	entry := e.Data
	if len(entry) == 0 {
		entry = json.RawMessage("{}")
	}
	o := &object{}
	o.appendMember("entry", entry)
	o.appendMember("urlMd5", urlMd5)
	var date any
	if !e.Date.IsZero() {
		date = e.Date.UTC().Format(time.DateTime)
	}
	o.appendMember("pubdate", date)
	o.appendMember("parent_rss_feed", feedURL)
	o.appendMember("parent_rss_feed_urlMd5", feedMd5)
	return o.encodeJSON()
}

// firstDate returns the first valid date of the candidates in UTC, or zero. gofeed's own
// result is the second choice: it knows more layouts, but reads an unknown zone as UTC. The last one
// are dates of no protocol.
func firstDate(candidates ...dateText) time.Time {
	for _, c := range candidates {
		t, ok := dates.Parse(c.text)
		if !ok && c.parsed != nil {
			t, ok = correctZone(c.text, *c.parsed), true
		}
		if !ok { // as people write it: Di, 05 Mär 2024; 1709634000; 2024年3月5日
			t, _ = datetext.Parse(c.text, datetext.Options{})
			t = t.UTC()
		}
		if y := t.Year(); y >= 1900 && y <= 9999 {
			return t
		}
	}
	return time.Time{}
}

// correctZone returns the moment of a date that gofeed has parsed: it reads the abbreviation of a zone that the
// machine does not have, such as MSK or IST, as UTC.
func correctZone(text string, parsed time.Time) time.Time {
	if _, offset := parsed.Zone(); offset != 0 {
		return parsed.UTC()
	}
	for _, word := range strings.Fields(text) {
		word = strings.Trim(word, "()")
		if east, known := dates.Zone(word); known && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			return parsed.Add(-east).UTC()
		}
	}
	return parsed.UTC()
}

type dateText struct {
	text   string
	parsed *time.Time
}
