package fetch

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL limits the text of one URL or Location.
const maxURL = 32 << 10

// ParseURL parses a URL as Get does, for callers that judge it before: also one that net/url refuses.
func ParseURL(text string) (*url.URL, error) { return parseURL(text) }

// parseURL parses an absolute http or https URL as browsers do. It accepts and repairs what
// net/url refuses: surrounding spaces, bytes beyond ASCII, bare percent signs in a path and
// Unicode host names.
func parseURL(text string) (*url.URL, error) {
	return resolveURL(nil, text)
}

// resolveURL is parseURL of text that may be relative to base.
func resolveURL(base *url.URL, text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("URL has %d bytes; the limit is %d", len(text), maxURL)
	}
	u, err := url.Parse(repairURL(text))
	if err != nil {
		return nil, err
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("unsupported scheme %q", u.Scheme)
	}
	if u.Opaque != "" || u.Hostname() == "" {
		return nil, errors.New("no host")
	}
	return u, repairHost(u)
}

// repairHost converts the host of u to ASCII and checks its port.
func repairHost(u *url.URL) error {
	port := u.Port()
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fmt.Errorf("invalid port %q", port)
		}
	}
	host := u.Hostname()
	if strings.ContainsAny(host, ":%") { // IPv6
		return nil
	}
	if !utf8.ValidString(host) {
		return fmt.Errorf("invalid host %q", host)
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Some real names break the rules, for example with an underscore.
		if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return fmt.Errorf("invalid host: %w", err)
		}
		ascii = strings.ToLower(host)
	}
	if strings.ContainsAny(ascii, "/\\@?# \t") {
		return fmt.Errorf("invalid host %q", ascii)
	}
	u.Host = ascii
	if port != "" {
		u.Host += ":" + port
	}
	return nil
}

// repairURL prepares text for url.Parse: it drops what browsers drop and escapes invalid bytes
// outside the host.
func repairURL(text string) string {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	host, rest := hostRange(text)
	query, hash := strings.IndexAny(text[rest:], "?#"), strings.IndexByte(text, '#')
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '\t' || c == '\n' || c == '\r':
		case i >= host && i < rest:
			b.WriteByte(c)
		case c == '\\' && (query < 0 || i < rest+query):
			b.WriteByte('/')
		case c <= ' ' || c >= 0x7f || c == '%' && (query < 0 || i < rest+query) && !isEscape(text[i:]):
			fmt.Fprintf(&b, "%%%02X", c)
		case query >= 0 && i > rest+query && (hash < 0 || i < hash) && strings.IndexByte(`"<>'`, c) >= 0: // as browsers send a query
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hostRange returns the start and end of the authority in text, 0 and 0 without one.
func hostRange(text string) (from, to int) {
	at := strings.Index(text, "//")
	if at < 0 || strings.ContainsAny(text[:at], "/?#\\") {
		return 0, 0
	}
	from = at + 2
	if n := strings.IndexAny(text[from:], "/?#\\"); n >= 0 {
		return from, from + n
	}
	return from, len(text)
}

// isEscape reports whether text, which begins with a percent sign, begins with an escape.
func isEscape(text string) bool {
	_, err := url.PathUnescape(text[:min(len(text), 3)])
	return err == nil
}

// sameSite reports whether credentials for a may be sent to b: the same host and port, or
// the same host changed from http to https on the default ports.
func sameSite(a, b *url.URL) bool {
	if !strings.EqualFold(a.Hostname(), b.Hostname()) {
		return false
	}
	if a.Scheme == b.Scheme {
		return portOf(a) == portOf(b)
	}
	return a.Scheme == "http" && portOf(a) == "80" && portOf(b) == "443"
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if u.Scheme == "https" {
		return "443"
	}
	return "80"
}
