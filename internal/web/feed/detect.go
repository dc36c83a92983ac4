package feed

import (
	"bytes"
	"mime"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// headBytes is how much of a body Detect looks at.
const headBytes = 8 << 10

// Detect tells whether a body is a feed, and of what kind, from its first bytes
// (8 KiB are looked at) and the Content-Type header, which may be empty. The
// bytes decide: feeds are served as text/html, and pages as text/xml. The
// header counts only for JSON without a version and for XML behind rubbish.
func Detect(contentType string, head []byte) Kind {
	if len(head) > headBytes {
		head = head[:headBytes]
	}
	text := loosexml.UTF8(head, contentType)
	if looksJSON(text) {
		if bytes.Contains(text, []byte("jsonfeed.org")) || mediaType(contentType) == "application/feed+json" {
			return JSON
		}
		return None
	}
	kind, _, _ := findRoot(loosexml.NewReader(text), isXMLType(contentType))
	return kind
}

func looksJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n\x00")
	return len(text) > 0 && text[0] == '{'
}

func mediaType(contentType string) string {
	name, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		name, _, _ = strings.Cut(contentType, ";")
	}
	return strings.ToLower(strings.TrimSpace(name))
}

func isXMLType(contentType string) bool {
	name := mediaType(contentType)
	return strings.HasSuffix(name, "xml") && name != "application/xhtml+xml"
}

// maxRubbish is how many tags may stand before the root of a feed: servers put
// warnings of their own there.
const maxRubbish = 50

// findRoot reads up to the root element of a feed. Unless rubbish is allowed it
// must be the first element.
func findRoot(r *loosexml.Reader, rubbish bool) (Kind, loosexml.Token, bool) {
	for tags := 0; tags < maxRubbish; {
		t, ok := r.Next()
		if !ok {
			break
		}
		if t.Kind != loosexml.Start {
			continue
		}
		if kind := rootKind(t); kind != None {
			return kind, t, true
		}
		if tags++; !rubbish || t.Local() == "html" {
			break
		}
	}
	return None, loosexml.Token{}, false
}

func rootKind(t loosexml.Token) Kind {
	switch t.Local() {
	case "rss":
		return RSS
	case "feed":
		return Atom
	case "rdf":
		// RDF says many things; a feed has the names of RSS 1.0, 0.9 or 1.1.
		for _, a := range t.Attrs {
			if v := strings.ToLower(a.Value); strings.Contains(v, "/rss/") || strings.Contains(v, "netscape.com/rdf/simple") || strings.Contains(v, "/rss1.1") {
				return RSS
			}
		}
	}
	return None
}
