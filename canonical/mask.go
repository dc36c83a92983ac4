package canonical

import (
	"errors"
	"strings"
)

// Mask selects what Normalize does to a URL. Bits add up. Source: docs/spec/objects.md 4.2.
type Mask int

// The bits of Mask. Mask 0 (NONE) only trims spaces.
const (
	SkipWWW  Mask = 1 // remove "www." at the start of the host
	Validate Mask = 2 // with Main: a malformed URL is an error instead of unchanged
	Main     Mask = 4 // the canonical form
)

// Normalize applies the mask of a site property to raw. It always trims outer spaces. With
// Main it returns the canonical form; a malformed text stays as it is, or with Validate is
// an error. Under Main a scheme outside s is always an error. SkipWWW applies last, and
// only before the first "?". Unknown bits are ignored.
//
// Masks apply to root URLs (default 0) and collected links (default Main), not to the URLs
// of URL_NEW, URL_STATUS, URL_UPDATE and URL_CONTENT.
func (s Schemes) Normalize(raw string, m Mask) (string, error) {
	text := strings.TrimSpace(raw)
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

// skipWWW removes "www." after "://", unless no host would remain.
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
