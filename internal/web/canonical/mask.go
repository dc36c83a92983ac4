package canonical

import (
	"errors"
	"strings"
)

// Mask says what Normalize does to a URL. Bits add up; 0 only trims.
// Source: docs/spec/objects.md 4.2.
type Mask int

// The bits of Mask. 0 is NONE.
const (
	SkipWWW   Mask = 1 // remove "www." at the start of the host
	Validate  Mask = 2 // with Main: a malformed URL is an error, not left as it is
	Main      Mask = 4 // the canonical form
	knownMask      = SkipWWW | Validate | Main
)

// Normalize returns raw as the mask of a site property wants it. Outer spaces
// always go. With Main the text takes its canonical form; a text that has none
// stays as it is, unless Validate is set as well: then the error tells why.
// A scheme that s does not list is an error under Main at any time. SkipWWW
// acts last, and only on what stands before the first "?". Bits without a
// meaning are ignored.
//
// Masks are for root URLs (default 0) and collected links (default Main). URLs
// of URL_NEW, URL_STATUS, URL_UPDATE and URL_CONTENT are read as given.
func (s Schemes) Normalize(raw string, m Mask) (string, error) {
	text := strings.TrimSpace(raw)
	m &= knownMask
	if m&Main != 0 {
		u, err := s.Canonical(text)
		switch {
		case err == nil:
			text = u
		case m&Validate != 0 || errors.Is(err, ErrScheme):
			return "", err
		}
	}
	if m&SkipWWW != 0 {
		text = skipWWW(text)
	}
	return text, nil
}

// skipWWW removes "www." after "://", unless nothing that could be a host
// would be left.
func skipWWW(text string) string {
	before, _, _ := strings.Cut(text, "?")
	i := strings.Index(before, "://www.")
	if i < 0 {
		return text
	}
	rest := text[i+len("://www."):]
	if rest == "" || strings.IndexByte("/?#:.", rest[0]) >= 0 {
		return text
	}
	return text[:i] + "://" + rest
}
