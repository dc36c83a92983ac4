package feed

import (
	"bytes"
	"strings"

	"hce/dc/internal/web/loosexml"
)

func looksJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n\x00")
	return len(text) > 0 && text[0] == '{'
}

// maxLeadingTags is how many tags may precede the root of a feed: some servers print
// warnings there.
const maxLeadingTags = 50

// findRoot reads up to the root element of a feed.
func findRoot(r *loosexml.Reader) (Kind, loosexml.Token, bool) {
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
		if tags++; t.Local() == "html" {
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
