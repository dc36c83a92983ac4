package sitemap

import (
	"bytes"
	"errors"
	"time"

	"hce/dc/internal/web/loosexml"
)

// Defaults of Options: the limits of the protocol.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20
)

// maxFieldBytes bounds a URL or another text of an entry. A longer one is dropped.
const maxFieldBytes = 8 << 10

// Errors of Parse.
var (
	// ErrFeed: the body is an RSS or Atom feed, for package feed.
	ErrFeed = errors.New("body is a feed, not a sitemap")
	// ErrNoSitemap: the body is neither.
	ErrNoSitemap = errors.New("body is not a sitemap")
)

// Options are the limits of a sitemap. The zero value has those of the protocol.
type Options struct {
	MaxEntries int
	MaxBytes   int64 // of the decompressed body
	// ContentType is the value of the HTTP header; may be empty.
	ContentType string
}

// Sitemap is a parsed sitemap.
type Sitemap struct {
	Index   bool    // the entries are sitemaps, not pages
	Entries []Entry // in document order; each has a Loc
	Cut     bool    // a limit dropped something
}

// Entry is one page or, in an index, one sitemap.
type Entry struct {
	Loc      string    // as written, trimmed; may be relative or invalid
	LastMod  time.Time // UTC; zero if unknown or outside the years 1900-9999
	Priority float64   // 0 to 1; -1 if unknown
}

// Parse parses a sitemap. A broken body gives the entries before the break and no error.
// The caller bounds the size of body, which is not changed. Errors are ErrFeed and
// ErrNoSitemap. Goroutines may call Parse.
func Parse(body []byte, o Options) (Sitemap, error) {
	if o.MaxEntries <= 0 {
		o.MaxEntries = MaxEntries
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = MaxBytes
	}
	body, cut := unpack(body, o.MaxBytes)
	text := loosexml.UTF8(body, o.ContentType)
	var s Sitemap
	var err error
	if looksXML(text) {
		s, err = parseXML(text, o)
	} else {
		if cut { // a truncated URL is a different URL
			text = text[:bytes.LastIndexAny(text, "\r\n")+1]
		}
		s, err = parseText(text, o)
	}
	s.Cut = s.Cut || cut
	return s, err
}

func looksXML(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n\x00")
	return len(text) > 0 && text[0] == '<'
}
