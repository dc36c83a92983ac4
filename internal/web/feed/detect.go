package feed

import (
	"bytes"
	"mime"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// headBytes is how much of a body Detect reads.
const headBytes = 8 << 10

// Detect returns the kind of a feed, or None, from the first 8 KiB of a body and the
// Content-Type header, which may be empty. The bytes decide, because feeds are served as
// text/html and pages as text/xml. The header only decides on JSON without a version and on
// XML after other markup.
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

// maxLeadingTags is how many tags may precede the root of a feed: some servers print
// warnings there.
const maxLeadingTags = 50

// findRoot reads up to the root element of a feed. It must be the first element unless
// skipMarkup is set.
func findRoot(r *loosexml.Reader, skipMarkup bool) (Kind, loosexml.Token, bool) {
	for tags := 0; tags < maxLeadingTags; {
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
		if tags++; !skipMarkup || t.Local() == "html" {
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
		// RDF has many uses; a feed has a namespace of RSS 1.0, 0.9 or 1.1.
		for _, a := range t.Attrs {
			if v := strings.ToLower(a.Value); strings.Contains(v, "/rss/") || strings.Contains(v, "netscape.com/rdf/simple") || strings.Contains(v, "/rss1.1") {
				return RSS
			}
		}
	}
	return None
}
