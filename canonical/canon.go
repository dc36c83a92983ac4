// Package canonical converts URL text to a canonical form.
//
// Every link passes through this package before it is compared, stored or hashed, so that
// two texts for one page give one row, one file and one fetch. The canonical form keeps the
// escapes of a link, because a request sends them as they were written; urlkey.Of, the key
// of a row, does not depend on them.
//
//	u, err := canonical.Web.Resolve("http://example.com/a/b.html", "../c?d=1#top")
//	// u == "http://example.com/c?d=1"
//
// # Canonical form
//
// The WHATWG URL standard defines parsing, resolution and serialisation. The table of
// docs/spec/objects.md 4.2 adds:
//
//   - a text without a scheme gets "http://" (Canonical only);
//   - the fragment is dropped;
//   - trailing dots of the host and an empty query are removed;
//   - characters that RFC 3986 does not allow in a path or query are percent-encoded.
//
// The package departs from that table in six places:
//
//   - It keeps empty path segments: a server may serve other pages at /a//b and /a/b.
//   - "#!" begins a fragment like any other: no server reads _escaped_fragment_ any more.
//   - It does not normalise path and query to NFC, because that changes the bytes that a
//     browser would send.
//   - An apostrophe in a query becomes %27, as in the standard.
//   - It removes all trailing dots of a host, because removing one is not idempotent.
//   - Canonical keeps a bare final "#", as in the table. Resolve drops it: the link "#" names
//     the page that contains it, and keeping it would fetch such a page twice.
//
// For every u that Canonical or Resolve returns, Canonical(u) == u. Unchanged are user and
// password, the case of %xx, and a percent sign that begins no escape (net/url rejects such
// a path; see url.URL.Opaque). A query is encoded as UTF-8 whatever the charset of the
// page.
//
// # Speed
//
// Most links are plain ASCII and need no repair. plain.go recognises and copies them; the
// parser handles the rest. Tests and a fuzz target compare the answers of both paths.
package canonical

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxLength is the maximum length in bytes of a canonical URL: the size of the URL column
// (docs/spec/storage.md 1.5).
const MaxLength = 4096

// maxInput bounds the text that is parsed. It exceeds MaxLength because removing dot
// segments and a fragment makes a text shorter.
const maxInput = 2 * MaxLength

// Reasons why a text has no canonical form. Errors of this package wrap one of these.
var (
	// ErrSyntax: the text or the base is not a URL.
	ErrSyntax = errors.New("malformed URL")
	// ErrScheme: the URL is well-formed, but its scheme is not in Schemes.
	ErrScheme = errors.New("scheme not allowed")
	// ErrRelative: the text needs a base and base is empty.
	ErrRelative = errors.New("relative URL without a base")
	// ErrLength: the URL is longer than MaxLength.
	ErrLength = errors.New("URL too long")
)

// Schemes lists the accepted schemes, lower case, without ":". A nil list accepts every
// scheme. Goroutines may share an unchanged list.
type Schemes []string

// Web lists the schemes that the function Canonical accepts.
var Web = Schemes{"http", "https"}

// Canonical is Web.Canonical.
func Canonical(raw string) (string, error) { return Web.Canonical(raw) }

// Canonical returns the canonical form of an absolute URL: ASCII, at most MaxLength bytes,
// "" on error. It drops outer spaces and control characters, and tabs and line ends
// anywhere. A text without a scheme gets http; if it begins with "/", "\" or "-", the error
// is ErrRelative. Source: docs/spec/objects.md 4.2, docs/spec/crawling.md 5.4.
func (s Schemes) Canonical(raw string) (string, error) {
	if p, ok := scanAbsolute(raw); ok && s.allowsScheme(p.scheme()) {
		return p.text(), nil
	}
	return s.canonicalSlow(raw)
}

// canonicalSlow is Canonical without the fast path.
func (s Schemes) canonicalSlow(raw string) (string, error) {
	if len(raw) > maxInput {
		return "", ErrLength
	}
	raw = stripIgnored(raw)
	if raw == "" {
		return "", ErrSyntax
	}
	raw = strings.TrimPrefix(raw, "://")
	scheme, ok := schemeOf(raw)
	if ok && !hasPort(raw, scheme) {
		if !s.allowsScheme(scheme) {
			return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
		}
	} else {
		if raw == "" || strings.IndexByte(`/\-`, raw[0]) >= 0 {
			return "", ErrRelative
		}
		raw = "http://" + raw
		if !s.allowsScheme("http") {
			return "", fmt.Errorf("%w: %q", ErrScheme, "http")
		}
	}
	u, err := parseURL("", raw)
	if err != nil {
		return "", err
	}
	return s.finishURL(u)
}

// Resolve returns the canonical URL of the link ref on a page with the given base URL. If
// ref is absolute, base may be anything. An empty ref and "#" resolve to base. Errors are
// those of Canonical. Source: WHATWG URL 4.4, docs/spec/crawling.md 5.3.
func (s Schemes) Resolve(base, ref string) (string, error) {
	if u, ok := s.resolvePlain(base, ref); ok {
		return u, nil
	}
	return s.resolveSlow(base, ref)
}

// resolveSlow is Resolve without the fast path.
func (s Schemes) resolveSlow(base, ref string) (string, error) {
	// Check the scheme first: data and javascript links may be megabytes long.
	scheme, absolute := schemeOf(ref)
	if absolute && !s.allowsScheme(scheme) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if len(ref) > maxInput || len(base) > maxInput {
		return "", ErrLength
	}
	ref = stripIgnored(ref)
	// In a link, "example.com:80" has an unknown scheme; in Canonical it is a host and a
	// port.
	if scheme, absolute = schemeOf(ref); absolute && (!s.allowsScheme(scheme) || hasPort(ref, scheme)) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if base = stripIgnored(base); base == "" && !absolute {
		return "", ErrRelative
	}
	u, err := parseURL(base, ref)
	if err != nil && absolute {
		u, err = parseURL("", ref)
	}
	if err != nil {
		return "", err
	}
	u, err = s.finishURL(u)
	return strings.TrimSuffix(u, "#"), err
}

// finishURL applies docs/spec/objects.md 4.2 to a serialised URL, then checks the scheme and
// length of the result.
func (s Schemes) finishURL(href string) (string, error) {
	u, err := adjustURL(href)
	if err != nil {
		return "", err
	}
	if scheme, _ := schemeOf(u); !s.allowsScheme(scheme) {
		return "", fmt.Errorf("%w: %.20q", ErrScheme, scheme)
	}
	if len(u) > MaxLength {
		return "", ErrLength
	}
	return u, nil
}

func (s Schemes) allowsScheme(scheme string) bool { return s == nil || slices.Contains(s, scheme) }

// stripIgnored removes what the standard's parser ignores: outer C0 controls and spaces, and tabs
// and line ends anywhere.
func stripIgnored(raw string) string {
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

// schemeOf returns the scheme at the start of text, lower case, without ":".
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

// hasPort reports whether scheme is really a host name before a port, as in
// "example.com:8080/x" or "localhost:80". Digits must follow, and the name must be longer
// than a usual scheme or contain a dot.
func hasPort(text, scheme string) bool {
	if len(scheme) < 7 && !strings.Contains(scheme, ".") {
		return false
	}
	port := text[len(scheme)+1:]
	rest := strings.TrimLeft(port, "0123456789")
	return len(rest) < len(port) && (rest == "" || strings.IndexByte(`/\?#`, rest[0]) >= 0)
}
