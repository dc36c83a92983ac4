package document

import (
	"bytes"
	"strings"

	"hce/dc/internal/web/content"
)

// Format is what reads a content.
type Format int

// Formats of raw contents.
const (
	Other  Format = iota // nothing reads it
	HTML                 // package article
	Text                 // package article, as it is
	PDF                  // package pdf
	ZIP                  // package office
	Broken               // the declared type has a reader, but the content is something else
)

// maxHeader is how many bytes may come before the mark of a PDF (ISO 32000-1 annex H 3.4.1).
const maxHeader = 1024

// FormatOf decides by the first bytes, then by the declared type: a PDF declared as
// application/octet-stream is a PDF, a page declared as application/pdf is HTML.
func FormatOf(kind string, body []byte) Format {
	kind = content.Normal(kind)
	start := bytes.TrimLeft(body[:min(len(body), maxHeader)], " \t\r\n\f\x00\xEF\xBB\xBF")
	switch {
	case bytes.HasPrefix(start, []byte("%PDF-")), kind == "application/pdf" && bytes.Contains(start, []byte("%PDF-")):
		return PDF
	case bytes.HasPrefix(body, []byte("PK\x03\x04")):
		return ZIP
	case bytes.HasPrefix(start, []byte(`{\rtf`)), bytes.HasPrefix(start, []byte("%!PS")):
		return Other
	case strings.Contains(kind, "html"), content.IsXML(kind) && isXHTML(body):
		return HTML
	case content.IsText(kind), content.IsXML(kind):
		return Text
	}
	return formatOfContent(kind, body)
}

// formatOfContent decides about a body whose type says that it is no text.
func formatOfContent(kind string, body []byte) Format {
	family, _, _ := strings.Cut(kind, "/")
	found := content.Detect(body)
	binary := bytes.IndexByte(body, 0) >= 0 || content.IsBinary(found)
	switch {
	case family == "image", family == "audio", family == "video", family == "font":
		return Other
	case documents[kind] && binary, documents[kind] && len(bytes.TrimSpace(body)) == 0:
		return Broken
	case binary:
		return Other
	case content.IsHTML(found) && content.IsBinary(kind):
		return HTML
	}
	return Text
}

// documents are the declared types that package pdf or office reads.
var documents = map[string]bool{
	"application/pdf": true,
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   true,
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": true,
	"application/vnd.oasis.opendocument.text":                                   true,
	"application/vnd.oasis.opendocument.presentation":                           true,
	"application/vnd.oasis.opendocument.spreadsheet":                            true,
}
