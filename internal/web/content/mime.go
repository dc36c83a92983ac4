package content

import (
	"bytes"
	"strings"

	"github.com/gabriel-vasile/mimetype"
)

const (
	typeBinary = "application/octet-stream"
	typeText   = "text/plain"
	typeHTML   = "text/html"
	typeXML    = "text/xml"
	typeRSS    = "application/rss+xml"
	typeAtom   = "application/atom+xml"
	typeRDF    = "application/rdf+xml"
	typeSVG    = "image/svg+xml"
)

const (
	// sniffBytes is how much of a body is examined; the standard asks for 1445.
	sniffBytes = 4096
	// maxType bounds a declared type; RFC 6838 4.2 allows 127 on either side.
	maxType = 255
	// maxDeclared bounds the header value that is read.
	maxDeclared = 8 << 10
)

// Sniff returns the type of a response by the WHATWG MIME Sniffing standard. declared is
// the value of the Content-Type header, several headers joined by commas; it may be empty
// or invalid. The result is never empty.
//
// The declared type counts, with four exceptions. A type without meaning, such as
// "application/unknown", is replaced by Detect. "text/plain" becomes the detected binary
// type if the body has binary bytes, but never HTML. "text/html" may be a feed, and, unlike in
// the standard, a PDF, a ZIP archive or other binary data: decoded as text, they would be destroyed. For images,
// audio and video the body decides on the exact type.
func Sniff(declared string, body []byte) string {
	kind, full := declaredType(declared)
	switch {
	case kind == "":
		return Detect(body)
	case kind == typeText && defaultCharset(full):
		return textOrBinary(body)
	case IsXML(kind):
		return kind
	case kind == typeHTML && isDocument(body):
		return detectMagic(body)
	case kind == typeHTML && isBinaryHTML(body):
		return textOrBinary(body)
	case kind == typeHTML:
		if feed := feedType(body); feed != "" {
			return feed
		}
		return kind
	}
	family, _, _ := strings.Cut(kind, "/")
	switch family {
	case "image", "audio", "video":
		if found := detectMagic(body); strings.HasPrefix(found, family+"/") {
			return found
		}
	}
	return kind
}

// isDocument reports whether body is a PDF or a ZIP archive.
func isDocument(body []byte) bool {
	return bytes.HasPrefix(body, []byte("%PDF-")) || bytes.HasPrefix(body, []byte("PK\x03\x04"))
}

// isBinaryHTML reports whether a body that is declared as HTML is binary data: it has no mark, no HTML
// element begins it, it is not UTF-16, and it has a magic number or more binary bytes than a damaged
// text.
func isBinaryHTML(body []byte) bool {
	body = body[:min(len(body), sniffBytes)]
	if len(body) < 4 || !isBinary(body) || hasMark(body) || body[1] == 0 && body[3] == 0 || body[0] == 0 && body[2] == 0 {
		return false
	}
	if root := rootElement(body); root.name != "" {
		return false
	}
	if found := detectMagic(body); found != typeBinary && !IsText(found) && !IsXML(found) {
		return true
	}
	odd := 0
	for _, c := range body {
		if isBinary([]byte{c}) {
			odd++
		}
	}
	return odd*50 > len(body)
}

// Detect returns the type of the first bytes of a body: "text/plain" for an empty body and
// unknown text, "application/octet-stream" for unknown binary data.
func Detect(body []byte) string {
	body = body[:min(len(body), sniffBytes)]
	if feed := feedType(body); feed != "" {
		return feed
	}
	root := rootElement(body)
	switch {
	case root.name == "html", htmlStarts[root.name] && !root.declared:
		return typeHTML
	case root.name == "svg":
		return typeSVG
	}
	found := detectMagic(body)
	switch {
	case found == typeText && (root.declared || root.name == "urlset" || root.name == "sitemapindex"):
		return typeXML
	case found == typeText && isBinary(body):
		return typeBinary
	case found == typeBinary && !isBinary(body):
		return typeText
	}
	return found
}

// Normal returns the type of a Content-Type value, lower case, without parameters; ""
// without one. The last of several types counts, as in the Fetch standard.
func Normal(declared string) string {
	kind, _ := declaredType(declared)
	return kind
}

// declaredType returns the type of a header value, and the part of the value that holds it.
func declaredType(declared string) (kind, full string) {
	declared = declared[:min(len(declared), maxDeclared)]
	for part := range splitList(declared) {
		essence, _, _ := strings.Cut(part, ";")
		essence = strings.ToLower(strings.Trim(essence, " \t\r\n"))
		if validType(essence) && !meaningless[essence] {
			kind, full = essence, part
		}
	}
	return kind, full
}

// meaningless holds the declared types that mean "unknown".
var meaningless = map[string]bool{
	"unknown/unknown": true, "application/unknown": true, "*/*": true,
	"text/*": true, "application/*": true, "application/x-unknown": true,
	"application/x-unknown-content-type": true, "content/unknown": true,
	"none/none": true, "null/null": true, "text/unknown": true,
}

// splitList yields the parts of a comma-separated list. Commas in quotes do not separate.
func splitList(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		begin, quoted := 0, false
		for i := 0; i < len(list); i++ {
			switch c := list[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case c == ',' && !quoted:
				if !yield(list[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
		yield(list[begin:])
	}
}

// validType reports whether kind is "type/subtype" of token characters.
func validType(kind string) bool {
	family, sub, both := strings.Cut(kind, "/")
	return both && len(kind) <= maxType && isToken(family) && isToken(sub)
}

// isToken reports whether s is a token (RFC 9110 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"(),/:;<=>?@[\]{}`, c) >= 0 {
			return false
		}
	}
	return s != ""
}

// defaultCharset reports whether full is a value that servers send for files of unknown
// type: without a charset, or with a server's default charset.
func defaultCharset(full string) bool {
	_, parameters, some := strings.Cut(full, ";")
	if !some {
		return true
	}
	switch strings.ToLower(strings.ReplaceAll(strings.Trim(parameters, " \t;"), `"`, "")) {
	case "", "charset=iso-8859-1", "charset=utf-8":
		return true
	}
	return false
}

// textOrBinary returns the type of a body declared as text/plain. The result is never a
// type that can carry scripts.
func textOrBinary(body []byte) string {
	body = body[:min(len(body), sniffBytes)]
	if hasMark(body) || !isBinary(body) {
		return typeText
	}
	found := detectMagic(body)
	family, _, _ := strings.Cut(found, "/")
	if IsHTML(found) || IsXML(found) || family == "text" {
		return typeBinary
	}
	return found
}

// hasMark reports whether body begins with a byte order mark.
func hasMark(body []byte) bool {
	return bytes.HasPrefix(body, []byte("\xFE\xFF")) || bytes.HasPrefix(body, []byte("\xFF\xFE")) ||
		bytes.HasPrefix(body, []byte("\xEF\xBB\xBF"))
}

// isBinary reports whether body has a binary data byte (MIME Sniffing 4).
func isBinary(body []byte) bool {
	for _, c := range body {
		if c <= 0x08 || c == 0x0B || 0x0E <= c && c <= 0x1A || 0x1C <= c && c <= 0x1F {
			return true
		}
	}
	return false
}

// detectMagic detects the type from the magic numbers of some hundred formats.
func detectMagic(body []byte) (kind string) {
	defer func() {
		if recover() != nil { // the body is untrusted
			kind = typeBinary
		}
	}()
	kind, _, _ = strings.Cut(mimetype.Detect(body[:min(len(body), sniffBytes)]).String(), ";")
	return strings.ToLower(kind)
}

// IsText reports whether bodies of the type are decoded and stored as UTF-8 text
// (docs/spec/crawling.md 2.7).
func IsText(kind string) bool {
	return strings.HasPrefix(kind, "text/") || kind == "application/xhtml+xml"
}

// IsHTML reports whether the type is HTML or XHTML.
func IsHTML(kind string) bool {
	return kind == typeHTML || kind == "application/xhtml+xml"
}

// IsXML reports whether the type is any kind of XML.
func IsXML(kind string) bool {
	return kind == typeXML || kind == "application/xml" || strings.HasSuffix(kind, "+xml")
}

// IsBinary reports whether bodies of the type contain no text to search for words or links.
func IsBinary(kind string) bool {
	if IsText(kind) || IsXML(kind) {
		return false
	}
	_, sub, _ := strings.Cut(kind, "/")
	switch strings.TrimPrefix(sub, "x-") {
	case "json", "ndjson", "javascript", "ecmascript", "yaml", "sh", "www-form-urlencoded", "x509-ca-cert", "rtf", "sql", "tex", "latex":
		return false
	}
	return !strings.HasSuffix(sub, "+json") && !strings.HasSuffix(sub, "+yaml") && !strings.HasPrefix(kind, "message/")
}

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
