package sitemap

import (
	"bytes"
	"errors"
	"time"

	"hce/dc/internal/web/loosexml"
)

// What Options mean where they do not say. Both are the limits of the protocol.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20
)

// Limits of one entry; what lies beyond them is dropped.
const (
	maxFieldBytes = 8 << 10 // of a URL or any other text
	maxAlternates = 500
	maxImages     = 1000
)

// Errors of Parse.
var (
	// ErrFeed: the body is an RSS or Atom feed, for package feed to read.
	ErrFeed = errors.New("the body is a feed, not a sitemap")
	// ErrNoSitemap: the body is nothing of the kind.
	ErrNoSitemap = errors.New("the body is no sitemap")
)

// Options are the limits of a sitemap. The zero value means those of the
// protocol.
type Options struct {
	MaxEntries int
	MaxBytes   int64 // of the body, unpacked
	// ContentType is the value of the HTTP header; it may be empty.
	ContentType string
}

// Sitemap is a sitemap as read.
type Sitemap struct {
	Index   bool    // the entries are sitemaps, not pages
	Entries []Entry // in the order of the document; each has a Loc
	Cut     bool    // something was dropped for a limit
}

// Entry is one page or, in an index, one sitemap.
type Entry struct {
	Loc        string    // as written, trimmed; may be relative or no URL at all
	LastMod    time.Time // UTC; zero when unknown or outside the years 1900-9999
	Priority   float64   // 0 to 1; -1 when unknown
	ChangeFreq string    // one of the protocol's words, "always" to "never"; else ""
	Alternates []string  // URLs of the page in other languages
	Images     []string  // URLs of the page's images
}

// Parse reads a sitemap. A body that breaks gives what stands before that place
// and no error. The caller bounds the size of body, which is not changed. Errors
// are ErrFeed and ErrNoSitemap. Safe for several goroutines.
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
		if cut { // half a URL is another URL
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
