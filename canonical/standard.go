package canonical

import (
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// parser is read-only after initialisation.
var parser = whatwg.NewParser()

// parseURL resolves ref against base (which may be empty) and returns the serialised URL with
// its fragment. A panic of the library, which indexes arrays by untrusted input, becomes
// ErrSyntax.
func parseURL(base, ref string) (href string, err error) {
	defer func() {
		if p := recover(); p != nil {
			href, err = "", fmt.Errorf("%w: parser: %v", ErrSyntax, p)
		}
	}()
	if hasManyAts(ref) || hasManyAts(base) {
		return "", fmt.Errorf("%w: %.200q", ErrSyntax, ref)
	}
	var u *whatwg.Url
	if base == "" {
		u, err = parser.Parse(ref)
	} else {
		u, err = parser.ParseRef(base, ref)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %.200q", ErrSyntax, ref)
	}
	return u.Href(false), nil
}

// maxAts bounds the "@" of an authority: the parser needs quadratic time in their number.
const maxAts = 32

// hasManyAts reports whether the authority of text has more than maxAts "@". The parser
// accepts any number of slashes before an authority.
func hasManyAts(text string) bool {
	if scheme, ok := schemeOf(text); ok {
		text = text[len(scheme)+1:]
	} else if len(text) < 2 || !isSlash(text[0]) || !isSlash(text[1]) {
		return false
	}
	text = strings.TrimLeft(text, `/\`)
	if i := strings.IndexAny(text, "/?#"); i >= 0 {
		text = text[:i]
	}
	return strings.Count(text, "@") > maxAts
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// defaultPorts lists the ports that docs/spec/objects.md 4.2 drops and the URL standard
// keeps.
var defaultPorts = map[string]string{
	"gopher": "70", "news": "119", "nntp": "119", "prospero": "191", "snews": "563", "snntp": "563",
}

// maxPasses bounds how often adjust parses: twice for a numeric host with trailing dots.
const maxPasses = 3

// adjustURL applies docs/spec/objects.md 4.2 to a serialised URL. If a step gives a new host,
// the URL is parsed again, so that the result is idempotent.
func adjustURL(href string) (string, error) {
	for range maxPasses {
		next, reparse, err := adjustOnce(href)
		if err != nil {
			return "", err
		}
		if !reparse {
			return next, nil
		}
		if href, err = parseURL("", next); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %.200q has no stable form", ErrSyntax, href)
}

func adjustOnce(href string) (u string, reparse bool, err error) {
	scheme, rest, _ := strings.Cut(href, ":")
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	if !strings.HasPrefix(rest, "//") {
		// Opaque URLs such as mailto have no path.
		return strings.TrimRight(scheme+":"+rest, " "), false, nil
	}
	rest, query, _ := strings.Cut(rest[2:], "?")
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		slash = len(rest) // gopher://host
	}
	authority, path := rest[:slash], rest[slash:]

	special := scheme == "http" || scheme == "https" || scheme == "ftp" || scheme == "file"
	if special {
		dotless, changed := trimHostDots(authority)
		if changed {
			if dotless == "" && scheme != "file" {
				return "", false, fmt.Errorf("%w: empty host", ErrSyntax)
			}
			return strings.Replace(href, authority, dotless, 1), true, nil
		}
	} else if port := defaultPorts[scheme]; port != "" {
		authority = strings.TrimSuffix(authority, ":"+port)
	}

	var b strings.Builder
	b.Grow(len(href) + 16)
	b.WriteString(scheme)
	b.WriteString("://")
	b.WriteString(authority)
	writeEncoded(&b, path)
	if query != "" {
		b.WriteByte('?')
		writeEncoded(&b, query)
	} else if hasFragment && fragment == "" {
		b.WriteByte('#')
	}
	return b.String(), false, nil
}

// trimHostDots removes the trailing dots of the host in authority.
func trimHostDots(authority string) (string, bool) {
	at := strings.LastIndexByte(authority, '@') + 1
	host, port := authority[at:], ""
	if colon := strings.LastIndexByte(host, ':'); colon >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:colon], host[colon:]
	}
	bare := strings.TrimRight(host, ".")
	if len(bare) == len(host) {
		return authority, false
	}
	if bare == "" {
		return "", true
	}
	return authority[:at] + bare + port, true
}

// writeEncoded writes a path or query, and encodes the characters that the URL standard
// accepts and RFC 3986 does not.
func writeEncoded(b *strings.Builder, text string) {
	const unsafe = "\"<>\\^`{|}"
	for {
		i := strings.IndexAny(text, unsafe)
		if i < 0 {
			b.WriteString(text)
			return
		}
		b.WriteString(text[:i])
		fmt.Fprintf(b, "%%%02X", text[i])
		text = text[i+1:]
	}
}
