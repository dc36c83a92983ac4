package scraper

import (
	"time"

	"hce/dc/internal/wire"
	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/schema"
)

// Page is the newest raw content of a URL, and what its extraction depends on.
type Page struct {
	ID, URL   string
	Base      string // URL of its links; "": URL
	Type      string // content type
	Charset   string // that the page had; its Text is in UTF-8
	Processor string // PROCESSOR_NAME in upper case
	Text      []byte
	Header    []byte // lines of the response header, if Rules.Needs says so
	Entry     bool   // Text is an entry of a feed
	Asked     bool   // Text is a page, whatever it is: it or its type was asked for
	Root      bool   // the site begins here: Text is a page, unless it is a sitemap or a feed
	Depth     int
	Fields    map[string]string // of the row, by JSON name, if Rules.Needs says so

	CrawlingTime time.Duration
	Mask         errormask.Mask // of the row
	Now          time.Time
	Fetched      time.Time // when the page was there for certain, at the earliest; zero: Now

	// Chain are the stored contents of the parts of a page that continues in other pages, the first
	// part first. With it the page is not extracted again.
	Chain [][]byte

	// Explain asks for Output.Explained.
	Explain bool

	// Templates are those of TEMPLATE_SOURCE that are due.
	Templates []SourceTemplate

	// Resolved are the targets of links that Output.Links of an earlier call named, if
	// LINK_RESOLVE asks for them.
	Resolved map[string]string

	// Row, Limits and Room are for pages with several items, if Rules.Needs says so: the row, the
	// limits and counters of its site, and the number of items that may be added (-1: no limit).
	Row    *wire.URL
	Limits *wire.Site
	Room   int64
}

// SourceTemplate is the text of a source of TEMPLATE_SOURCE.
type SourceTemplate struct{ Source, Name, Text string } // Source is for messages

// Output is what was found in a page.
type Output struct {
	Item    Item                 // of the page
	Items   []wire.ExtractedItem // further rows
	Refused bool                 // a filter refuses the content
	// Resource says that the content is for programs, such as a script or JSON: it has no text, and no error.
	Resource bool
	Bits     errormask.Mask
	Message  string   // the reason for Bits, for the log
	Links    []string // that LINK_RESOLVE asks to resolve, absolute, each once
	Dropped  []string // media that filters and limits of the site exclude, with the reason

	Explained *Explanation // nil unless Page.Explain
}

// Item is what is stored for a page.
type Item struct {
	Content             []byte // JSON; nil: there are no tags
	TagsCount, TagsMask int64
	Published           schema.Date
	Hash                string // ContentURLMd5, or ""
}

// Fail adds error bits and their reasons.
func (o *Output) Fail(bits errormask.Mask, reasons ...error) {
	o.Bits |= bits
	for _, reason := range reasons {
		if o.Message != "" {
			o.Message += "; "
		}
		o.Message += reason.Error()
	}
}
