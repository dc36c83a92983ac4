package feed

import (
	"encoding/json"
	"errors"
	"time"

	"hce/dc/internal/web/loosexml"
)

// MaxItems is the number of entries read when Options do not say.
const MaxItems = 10_000

// Limits of one entry, and of all that stands outside the entries. What lies
// beyond them is dropped and sets Feed.Cut.
const (
	maxNodes     = 10_000  // elements and pieces of text
	maxTextBytes = 1 << 20 // of names, attributes and text together
	maxAllNodes  = 500_000 // of all entries; where they are reached the reading ends
)

// ErrNoFeed says that a body is no feed of a known kind.
var ErrNoFeed = errors.New("the body is no RSS, Atom or JSON feed")

// Kind is the family of a feed's format.
type Kind string

// The kinds of feeds. RSS is 0.9x, 1.0 (RDF) and 2.0; None is no feed.
const (
	None Kind = ""
	RSS  Kind = "rss"
	Atom Kind = "atom"
	JSON Kind = "json"
)

// Options say how a feed is read. The zero value is good.
type Options struct {
	// ContentType is the value of the HTTP header; it may be empty.
	ContentType string
	// Standard gives entries the names of feedparser (RSS_FEEDPARSER_MODE > 0)
	// and not those of the document.
	Standard bool
	// ZeroItem makes the feed itself the first entry (RSS_FEED_ZERO_ITEM = 1).
	// It does not count for MaxItems.
	ZeroItem bool
	// MaxItems limits the entries; 0 means MaxItems, the constant.
	MaxItems int
}

// Feed is a feed as read. All texts are UTF-8 and as long as the server liked.
type Feed struct {
	Kind     Kind
	Title    string
	Link     string // the site's page, as written; may be relative or empty
	Language string
	Updated  time.Time // UTC; zero when unknown
	Items    []Entry   // in the order of the document
	Cut      bool      // something was dropped for a limit
}

// Entry is one entry of a feed.
type Entry struct {
	// URL is the best link: the alternate one, else a GUID that is a permanent
	// link, else the first enclosure, else any. It is as written, trimmed, but
	// resolved where the document itself gives a base (xml:base); it may be
	// relative, and empty when the entry links to nothing.
	URL string
	// ContentType is what the document says of the type of URL; "" is unknown,
	// which RSS always is for pages.
	ContentType string
	// Date is the entry's date, UTC: when it was published, else updated; zero
	// when there is none that can be read or it lies outside the years 1900-9999.
	Date  time.Time
	Title string
	// Data is the entry as one JSON object, in the names that Options chose.
	Data json.RawMessage
}

// Parse reads a feed. A body that breaks off or breaks gives the entries before
// that place and no error. The only error is ErrNoFeed. The caller bounds the
// size of body, which is not changed. Safe for several goroutines.
// Source: docs/spec/crawling.md 5.10.
func Parse(body []byte, o Options) (Feed, error) {
	if o.MaxItems <= 0 {
		o.MaxItems = MaxItems
	}
	text := loosexml.UTF8(body, o.ContentType)
	if looksJSON(text) {
		return parseJSON(text, o)
	}
	return parseXML(text, o)
}
