package feed

import (
	"strings"

	"hce/dc/internal/web/loosexml"
)

// rootKind returns the kind of the feed that begins with the tag t, or None.
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
