// Package search has the terms of the search engine: what a document is, what a person asks, and
// what the answer has.
//
//	a := search.Ask{Op: search.OpSearch, Kind: search.Pages, Text: "crawler - proxy", Limit: 10}
//	r := processor.Run(a) // search.Reply
//
// The parts, each a package of its own and most of them a process of their own:
//
//	cluster --feed--> index (one writer) --snapshots--> processors <--ZMQ--> manager <-- front end
//
// The writer publishes immutable snapshots of the index; processors open them read-only. A processor
// joins the manager at run time and takes questions of its kinds; the front end asks the manager.
package search

import (
	"strings"
	"time"

	"hce/dc/internal/wire/urlkey"
)

// Kind is a kind of resource, and the value of the form field opt.
type Kind string

// Kinds of resources.
const (
	Pages     Kind = "pages"     // HTML
	Images    Kind = "images"    // image files
	Documents Kind = "documents" // all other files
)

// Kinds are all kinds, in the order of the form.
var Kinds = []Kind{Pages, Images, Documents}

// Valid reports whether k is one of Kinds.
func (k Kind) Valid() bool { return k == Pages || k == Images || k == Documents }

// KindOf returns the kind of a MIME type; parameters are ignored.
func KindOf(mimeType string) Kind {
	mimeType, _, _ = strings.Cut(strings.ToLower(mimeType), ";")
	switch mimeType = strings.TrimSpace(mimeType); {
	case mimeType == "text/html", mimeType == "application/xhtml+xml":
		return Pages
	case strings.HasPrefix(mimeType, "image/"):
		return Images
	}
	return Documents
}

// Document is one page or file of the index. URL identifies it.
type Document struct {
	UUID        string    `json:"uuid"` // of the URL; see UUIDOf
	Kind        Kind      `json:"kind"`
	URL         string    `json:"url"`
	Site        string    `json:"site,omitempty"` // id of the site in the cluster; "" for a document from elsewhere
	Key         string    `json:"key,omitempty"`  // URLMd5 in the cluster
	Host        string    `json:"host"`           // with the port, if the URL has one
	Title       string    `json:"title,omitempty"`
	Description string    `json:"description,omitempty"`
	Keywords    string    `json:"keywords,omitempty"`
	Name        string    `json:"name,omitempty"` // of a file, without extension
	Format      string    `json:"format,omitempty"`
	MIMEType    string    `json:"mimeType,omitempty"`
	Size        int64     `json:"size"`               // bytes
	Language    string    `json:"language,omitempty"` // ISO 639-1; "" for unknown
	Date        time.Time `json:"date,omitzero"`      // of publication, in UTC; zero if the page does not state it. A day is its midnight
	Seen        time.Time `json:"seen,omitzero"`      // last visit of a crawler
	Hash        string    `json:"hash,omitempty"`     // of the content: equal for duplicates
	Version     string    `json:"version,omitempty"`  // changes with the stored content
	Cached      bool      `json:"cached"`             // a copy can be shown

	Text string `json:"-"` // the visible text; the index keeps its first part
	Copy string `json:"-"` // the HTML code of a page that is not in the cluster
}

// UUIDOf returns the name-based UUID of a URL (RFC 9562 5.5, name space URL), so that it is the same
// in each index.
func UUIDOf(url string) string { return urlkey.UUID(url) }

// ValidUUID reports whether text has the form of a UUID in lower case.
func ValidUUID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		default:
			return false
		}
	}
	return true
}

// Ops of a question.
const (
	OpSearch = "search"
	OpGet    = "get"
)

// Limits of a question.
const (
	MaxText   = 512  // bytes of the words
	MaxLimit  = 100  // results of one answer
	MaxOffset = 1000 // further results are not shown
)

// Ask is one question.
type Ask struct {
	Op     string `json:"op"`
	Kind   Kind   `json:"kind,omitempty"` // of OpSearch
	Text   string `json:"text,omitempty"` // of OpSearch, see package query
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	UUID   string `json:"uuid,omitempty"` // of OpGet
}

// Hit is one result.
type Hit struct {
	Document
	Score   float64   `json:"score"`
	Excerpt []Segment `json:"excerpt,omitempty"`
	Copies  []string  `json:"copies,omitempty"` // UUIDs of duplicates that were joined
}

// Segment is a part of an excerpt. Match marks a word of the question.
type Segment struct {
	Text  string `json:"text"`
	Match bool   `json:"match,omitempty"`
}

// Reply is the answer to an Ask.
type Reply struct {
	Error string `json:"error,omitempty"` // why there is no answer
	// Refused: the question has the mistake, not the service.
	Refused bool   `json:"refused,omitempty"`
	Count   int    `json:"count"`           // results, without joined duplicates
	About   bool   `json:"about,omitempty"` // Count may include duplicates
	Words   string `json:"words"`           // the question as it was understood
	Hits    []Hit  `json:"hits"`
	Copy    string `json:"copy,omitempty"` // of OpGet: the HTML code, if the index has it
	// Processor is the name of the processor that answered.
	Processor string `json:"processor,omitempty"`
}
