// Package canonical turns one URL text into its canonical form.
//
// Two texts that name the same page must give one row, one file and one fetch;
// so every URL passes here before it is compared, stored or hashed. Whoever
// found the URL (extract), judges it (filter) or keeps it (store) is unknown
// to this package: text in, text out, no clock and no network.
//
//	u, err := canonical.Resolve("http://example.com/a/b.html", "../c?d=1#top")
//	// u == "http://example.com/c?d=1"
//
// # The form
//
// A URL is parsed, resolved and written by the WHATWG URL standard. On that
// form the table of docs/spec/objects.md 4.2 is applied where it says more:
//
//   - a text without a scheme gets "http://" (Canonical only);
//   - "#!" becomes "?_escaped_fragment_="; any other fragment is dropped;
//   - trailing dots of the host, empty path segments and an empty query go;
//   - what RFC 3986 does not allow in a path or query is percent-encoded.
//
// It departs from that table in four places:
//
//   - No Unicode normalisation (NFC) of path and query: it changes the bytes
//     that a browser would send, and so the page that is named.
//   - An apostrophe in a query becomes %27, as the standard writes it.
//   - All trailing dots of a host are removed, since removing one at a time is
//     not idempotent. Dot segments are resolved before empty ones are dropped.
//   - A bare final "#" is kept by Canonical, as the table asks, but dropped by
//     Resolve: the link "#" names the page it stands on, and a crawler that
//     kept it would fetch every such page twice.
//
// For every u that Canonical or Resolve returned, Canonical(u) == u. What the
// standard leaves alone stays: user and password, the case of %xx, a percent
// sign that begins no escape (net/url refuses such a path; see its Opaque).
// A query is encoded as UTF-8 whatever the charset of the page.
//
// # Speed
//
// Nearly all links are plain ASCII and need no repair. plain.go recognises
// those and copies them; everything else takes the road through the parser.
// Tests and a fuzz target hold both roads to the same answers.
package canonical

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxLength is the greatest length in bytes of a canonical URL: what the URL
// column holds (docs/spec/storage.md 1.5).
const MaxLength = 4096

// maxInput bounds the text that is parsed at all. Percent-encoding only makes
// a text longer, but dot segments and a fragment may make it shorter.
const maxInput = 2 * MaxLength

// Why a text has no canonical form. Errors of this package wrap one of these.
var (
	// ErrSyntax: the text is no URL, or the base is none.
	ErrSyntax = errors.New("canon: malformed URL")
	// ErrScheme: the URL is well-formed, its scheme is not wanted.
	ErrScheme = errors.New("canon: scheme not allowed")
	// ErrRelative: the text needs a base and there is none.
	ErrRelative = errors.New("canon: relative URL without a base")
	// ErrLength: longer than MaxLength.
	ErrLength = errors.New("canon: URL too long")
)

// Schemes is the list of schemes that are kept, lower case, without ":".
// The nil list keeps every scheme. It is read only: goroutines may share it.
type Schemes []string

// Web is what a crawler fetches, and the list of Canonical and Resolve.
var Web = Schemes{"http", "https"}

// Canonical returns the canonical form of an http or https URL.
// See Schemes.Canonical.
func Canonical(raw string) (string, error) { return Web.Canonical(raw) }

// Resolve returns the canonical URL of an http or https link. See
// Schemes.Resolve.
func Resolve(base, ref string) (string, error) { return Web.Resolve(base, ref) }

// Canonical returns the canonical form of an absolute URL, at most MaxLength
// bytes, ASCII. Outer spaces and control characters, and tabs and line ends
// anywhere, are dropped. A text without a scheme is taken for an http one;
// one that begins with "/", "\" or "-" is not (ErrRelative). On an error the
// text returned is empty. Source: docs/spec/objects.md 4.2, docs/spec/crawling.md 5.4.
func (s Schemes) Canonical(raw string) (string, error) {
	if p, ok := scanAbsolute(raw); ok && s.allow(p.scheme()) {
		return p.text(), nil
	}
	return s.canonical(raw)
}

// canonical is Canonical without the shortcut.
func (s Schemes) canonical(raw string) (string, error) {
	if len(raw) > maxInput {
		return "", ErrLength
	}
	raw = strip(raw)
	if raw == "" {
		return "", ErrSyntax
	}
	raw = strings.TrimPrefix(raw, "://")
	scheme, ok := schemeOf(raw)
	if ok && !hasPort(raw, scheme) {
		if !s.allow(scheme) {
			return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
		}
	} else {
		if raw == "" || strings.IndexByte(`/\-`, raw[0]) >= 0 {
			return "", ErrRelative
		}
		raw = "http://" + raw
		if !s.allow("http") {
			return "", fmt.Errorf("%w: %q", ErrScheme, "http")
		}
	}
	u, err := parse("", raw)
	if err != nil {
		return "", err
	}
	return s.finish(u)
}

// Resolve returns the canonical URL of the link ref found on a page whose base
// URL is base. ref may be absolute; then base may be anything. An empty ref,
// and "#", name base itself. Errors are those of Canonical. Source: WHATWG URL
// 4.4, docs/spec/crawling.md 5.3.
func (s Schemes) Resolve(base, ref string) (string, error) {
	if u, ok := s.resolvePlain(base, ref); ok {
		return u, nil
	}
	return s.resolve(base, ref)
}

// resolve is Resolve without the shortcut.
func (s Schemes) resolve(base, ref string) (string, error) {
	// Before anything else: data and javascript links may be megabytes.
	scheme, absolute := schemeOf(ref)
	if absolute && !s.allow(scheme) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if len(ref) > maxInput || len(base) > maxInput {
		return "", ErrLength
	}
	ref = strip(ref)
	// A link "example.com:80" has an unknown scheme; as a text it is a host.
	if scheme, absolute = schemeOf(ref); absolute && (!s.allow(scheme) || hasPort(ref, scheme)) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if base = strip(base); base == "" && !absolute {
		return "", ErrRelative
	}
	u, err := parse(base, ref)
	if err != nil && absolute {
		u, err = parse("", ref)
	}
	if err != nil {
		return "", err
	}
	u, err = s.finish(u)
	return strings.TrimSuffix(u, "#"), err
}

// finish applies the table to a URL that the parser wrote, and checks scheme
// and length of the result.
func (s Schemes) finish(href string) (string, error) {
	u, err := adjust(href)
	if err != nil {
		return "", err
	}
	if scheme, _ := schemeOf(u); !s.allow(scheme) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if len(u) > MaxLength {
		return "", ErrLength
	}
	return u, nil
}

// allow tells whether scheme, in lower case, is kept.
func (s Schemes) allow(scheme string) bool { return s == nil || slices.Contains(s, scheme) }

// strip drops what the standard's parser drops from a text before it reads it:
// outer C0 controls and spaces, tabs and line ends inside.
func strip(raw string) string {
	raw = strings.TrimFunc(raw, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(raw, "\t\n\r") {
		return raw
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' {
			return -1
		}
		return r
	}, raw)
}

// schemeOf returns the scheme that text begins with, in lower case without
// ":", and whether there is one.
func schemeOf(text string) (string, bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return strings.ToLower(text[:i]), true
		default:
			return "", false
		}
	}
	return "", false
}

// hasPort tells whether the scheme that text seems to begin with is rather a
// host before a port, as in "example.com:8080/x" and "localhost:80". Digits
// must follow, and the name must be longer than a usual scheme or have a dot.
func hasPort(text, scheme string) bool {
	if len(scheme) < 7 && !strings.Contains(scheme, ".") {
		return false
	}
	rest := text[len(scheme)+1:]
	n := 0
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	return n > 0 && (n == len(rest) || strings.IndexByte(`/\?#`, rest[n]) >= 0)
}
