package canonical

import (
	"fmt"
	"strings"

	whatwg "github.com/nlnwa/whatwg-url/url"
)

// parser is the standard's URL parser. It is read only after this.
var parser = whatwg.NewParser()

// parse reads ref against base (none when empty) and returns what the standard
// calls the serialised URL, fragment included. The library indexes arrays by
// what it reads; a panic in it is taken for a malformed URL, since every text
// that comes here was written by a stranger.
func parse(base, ref string) (href string, err error) {
	defer func() {
		if p := recover(); p != nil {
			href, err = "", fmt.Errorf("%w: parser: %v", ErrSyntax, p)
		}
	}()
	if crowded(ref) || crowded(base) {
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

// maxAts bounds the "@" of an authority. The parser reads what stands before
// each of them again: a few thousand would cost it most of a second.
const maxAts = 32

// crowded tells whether the authority of a text, if it has one, has more than
// maxAts "@". How many slashes lead to it does not matter to the parser.
func crowded(text string) bool {
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

// defaultPorts names the ports that docs/spec/objects.md 4.2 drops and the standard, which
// knows http, https, ftp and web sockets only, keeps.
var defaultPorts = map[string]string{
	"gopher": "70", "news": "119", "nntp": "119", "prospero": "191", "snews": "563", "snntp": "563",
}

// maxPasses bounds how often adjust parses: once for "#!", and twice for a
// host that is a number below its trailing dots.
const maxPasses = 4

// adjust applies the table of docs/spec/objects.md 4.2 to a serialised URL. A step that may
// give the parser something new to say (a new query, another host) is followed
// by one more parse, so that the result is what Canonical of it would be.
func adjust(href string) (string, error) {
	for range maxPasses {
		next, reparse, err := adjustOnce(href)
		if err != nil {
			return "", err
		}
		if !reparse {
			return next, nil
		}
		if href, err = parse("", next); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%w: %.200q has no stable form", ErrSyntax, href)
}

func adjustOnce(href string) (u string, reparse bool, err error) {
	if strings.Contains(href, "#!") {
		return strings.ReplaceAll(href, "#!", "?_escaped_fragment_="), true, nil
	}
	scheme, rest, _ := strings.Cut(href, ":")
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	if !strings.HasPrefix(rest, "//") {
		// mailto and its like: nothing in them is a path.
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
		path = dropEmptySegments(path)
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

// trimHostDots removes the dots at the end of the host of an authority.
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

// dropEmptySegments makes one slash of several. The path holds no dot segments
// any more, so none can meet.
func dropEmptySegments(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := range len(path) {
		if path[i] == '/' && i > 0 && path[i-1] == '/' {
			continue
		}
		b = append(b, path[i])
	}
	return string(b)
}

// writeEncoded writes a path or query with the few characters encoded that the
// standard lets pass and RFC 3986 does not. All others are encoded by now.
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
