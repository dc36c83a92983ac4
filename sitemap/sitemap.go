package sitemap

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"time"

	"hce/dc/internal/web/loosexml"
)

// Defaults of Options: the limits of the protocol.
const (
	MaxEntries = 50_000
	MaxBytes   = 50 << 20
)

const (
	// maxFieldBytes bounds a URL or another text of an entry. A longer one is dropped.
	maxFieldBytes = 8 << 10
	// maxRatio bounds the decompression ratio, after the first ratioFrom bytes. Real
	// sitemaps stay below 100; a bomb reaches 1,000.
	maxRatio  = 250
	ratioFrom = 1 << 20
	// maxLayers bounds nested gzip: some servers compress a ".gz" file again.
	maxLayers = 2
)

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
	// URL is that of the sitemap. It tells addresses without a scheme from relative ones, and
	// gives them its scheme; may be empty.
	URL string
}

// Sitemap is a parsed sitemap.
type Sitemap struct {
	Index   bool    // the entries are sitemaps, not pages
	Entries []Entry // in document order; each has a Loc
	Cut     bool    // a limit dropped something
}

// Entry is one page or, in an index, one sitemap.
type Entry struct {
	Loc      string    // as written, trimmed, with a scheme if only that is missing; may be relative or invalid
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
	body, cut := decompress(body, o.MaxBytes)
	text := loosexml.UTF8(body, o.ContentType)
	var s Sitemap
	var err error
	if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n\x00"), []byte("<")) {
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

// decompress decompresses body to at most max bytes, and reports whether something is missing.
// A broken stream gives the bytes before the break.
func decompress(body []byte, max int64) (text []byte, cut bool) {
	for range maxLayers {
		if !bytes.HasPrefix(body, []byte{0x1F, 0x8B}) {
			break
		}
		r, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, false
		}
		limit := min(max, maxRatio*int64(len(body))+ratioFrom)
		unpacked, _ := io.ReadAll(io.LimitReader(r, limit+1)) // an error means a broken end
		if int64(len(unpacked)) > limit {
			unpacked, cut = unpacked[:limit], true
		}
		body = unpacked
	}
	if int64(len(body)) > max {
		body, cut = body[:max], true
	}
	return body, cut
}

// parseText parses a text with one URL per line, with or without a scheme. It ignores other
// lines; a text without a URL is not a sitemap.
func parseText(text []byte, o Options) (Sitemap, error) {
	var s Sitemap
	home := homeOf(o.URL)
	for line := range strings.FieldsFuncSeq(string(text), func(c rune) bool { return c == '\r' || c == '\n' }) {
		if line = strings.TrimSpace(line); len(line) > maxFieldBytes || s.Cut {
			continue
		}
		if line = home.absoluteAddress(line); isURL(line) {
			s.addEntry(Entry{Loc: loosexml.Clean(line), Priority: -1}, o)
		}
	}
	if len(s.Entries) == 0 {
		return Sitemap{}, ErrNoSitemap
	}
	return s, nil
}

// isURL reports whether line is one absolute web URL.
func isURL(line string) bool {
	scheme, _, absolute := strings.Cut(line, "://")
	return absolute && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) && !strings.ContainsAny(line, " \t<>\"")
}

// addEntry adds an entry, unless the sitemap is full.
func (s *Sitemap) addEntry(e Entry, o Options) {
	if s.Cut = len(s.Entries) == o.MaxEntries; !s.Cut {
		s.Entries = append(s.Entries, e)
	}
}
