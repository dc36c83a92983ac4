package content

import (
	"bytes"
	"strings"
)

// root is the start of a markup document.
type root struct {
	name     string // of the first element, lower case; "html" for an HTML doctype
	declared bool   // there is an XML declaration before the element
	rest     []byte // body from the element on
}

// htmlStarts are the first elements that identify HTML (MIME Sniffing 7.1).
var htmlStarts = map[string]bool{
	"html": true, "head": true, "script": true, "iframe": true, "h1": true, "div": true, "font": true,
	"table": true, "a": true, "style": true, "title": true, "b": true, "body": true, "br": true, "p": true,
	"meta": true, "link": true, "base": true, "noscript": true,
}

// rootElement finds the first element in the first sniffBytes of body. It skips comments,
// instructions and white space.
func rootElement(body []byte) root {
	var r root
	b := bytes.TrimPrefix(body[:min(len(body), sniffBytes)], []byte("\xEF\xBB\xBF"))
	for {
		b = bytes.TrimLeft(b, " \t\r\n\f")
		var end string
		switch {
		case len(b) < 2 || b[0] != '<':
			return r
		case bytes.HasPrefix(b, []byte("<!--")):
			end = "-->"
		case b[1] == '?':
			r.declared = r.declared || hasFold(b, "<?xml")
			end = "?>"
		case hasFold(b, "<!doctype"):
			words := strings.Fields(strings.ToLower(string(b[:min(len(b), 64)])))
			if len(words) > 1 && strings.HasPrefix(words[1], "html") {
				r.name, r.rest = "html", b
				return r
			}
			end = ">"
		default:
			n := bytes.IndexAny(b[1:], " \t\r\n\f/>")
			if n < 1 {
				return r
			}
			r.name, r.rest = strings.ToLower(string(b[1:1+n])), b
			return r
		}
		_, after, closed := bytes.Cut(b, []byte(end))
		if !closed {
			return r
		}
		b = after
	}
}

// feedType returns the type of the feed at the start of body, "" for others. RDF is a feed
// only with a namespace of RSS (MIME Sniffing 8.3).
func feedType(body []byte) string {
	r := rootElement(body)
	switch r.name {
	case "rss":
		return typeRSS
	case "feed", "atom:feed":
		return typeAtom
	case "rdf:rdf":
		if bytes.Contains(r.rest, []byte("http://purl.org/rss/1.0/")) || bytes.Contains(r.rest, []byte("http://my.netscape.com/rdf/simple/0.9/")) {
			return typeRDF
		}
	}
	return ""
}

// hasFold reports whether b begins with the lower-case text, in any case.
func hasFold(b []byte, text string) bool {
	return len(b) >= len(text) && strings.EqualFold(string(b[:len(text)]), text)
}
