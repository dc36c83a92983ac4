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
// type if the body has binary bytes, but never HTML. "text/html" may be a feed. For images,
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
	case kind == typeHTML:
		if feed := feedType(body); feed != "" {
			return feed
		}
		return kind
	}
	family, _, _ := strings.Cut(kind, "/")
	switch family {
	case "image", "audio", "video":
		if found := magic(body); strings.HasPrefix(found, family+"/") {
			return found
		}
	}
	return kind
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
	found := magic(body)
	switch {
	case found == typeText && (root.declared || root.name == "urlset" || root.name == "sitemapindex"):
		return typeXML
	case found == typeText && binary(body):
		return typeBinary
	case found == typeBinary && !binary(body):
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
	if hasMark(body) || !binary(body) {
		return typeText
	}
	found := magic(body)
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

// binary reports whether body has a binary data byte (MIME Sniffing 4).
func binary(body []byte) bool {
	for _, c := range body {
		if c <= 0x08 || c == 0x0B || 0x0E <= c && c <= 0x1A || 0x1C <= c && c <= 0x1F {
			return true
		}
	}
	return false
}

// magic detects the type from the magic numbers of some hundred formats.
func magic(body []byte) (kind string) {
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
