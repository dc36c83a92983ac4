package revalidate

import (
	"net/http"
	"strings"
)

// maxETag is the size of the row's column for an entity tag, in bytes.
const maxETag = 255

// ETag returns the entity tag of a response in the form of the row: without quotes, a weak
// tag with W/ in front (`"a"` gives a, `W/"a"` gives W/a). The first of several counts. It
// returns "" without a tag, and for a tag that could not be sent back unchanged. A strong
// tag that looks like another form, such as `"W/a"`, keeps its quotes.
func ETag(header http.Header) string {
	values := header["Etag"] // the canonical form of the name
	if len(values) == 0 {
		return ""
	}
	text := strings.TrimSpace(values[0])
	weak := ""
	if rest, ok := strings.CutPrefix(text, "W/"); ok {
		weak, text = "W/", rest
	} else if rest, ok := strings.CutPrefix(text, "w/"); ok {
		weak, text = "W/", rest // not allowed, but unambiguous
	}
	if rest, ok := strings.CutPrefix(text, `"`); ok {
		if text, _, ok = strings.Cut(rest, `"`); !ok {
			return ""
		}
	} else { // not allowed, but common
		text, _, _ = strings.Cut(text, ",")
		text = strings.TrimSpace(text)
	}
	stored := weak + text
	if weak == "" && (strings.HasPrefix(text, "W/") || strings.TrimSpace(text) != text) {
		stored = `"` + text + `"`
	}
	if !isOpaque(text) || len(stored) > maxETag {
		return ""
	}
	return stored
}

// entityTag returns the tag of a row as it is sent, or "". Old rows lack W/, or have only
// one of the quotes.
func entityTag(stored string) string {
	stored = strings.TrimSpace(stored)
	weak, text := "", stored
	if len(stored) > 2 && strings.HasPrefix(stored, `"`) && strings.HasSuffix(stored, `"`) {
		text = stored[1 : len(stored)-1]
	} else if rest, ok := strings.CutPrefix(stored, "W/"); ok {
		weak, text = "W/", strings.Trim(rest, `"`)
	} else {
		text = strings.Trim(stored, `"`)
	}
	if !isOpaque(text) {
		return ""
	}
	return weak + `"` + text + `"`
}

// codedTag lists what servers append to the tag of a response that they have compressed: Apache and
// Jetty.
var codedTag = []string{"--gzip", "-gzip", "-br", "-deflate", "-zstd"}

// withPlain returns the value of If-None-Match for a tag. Apache answers 304 only to the tag of the
// uncompressed page, but sends that of the compressed one: both are asked for.
func withPlain(tag string) string {
	for _, suffix := range codedTag {
		if plain, ok := strings.CutSuffix(tag, suffix+`"`); ok && !strings.HasSuffix(plain, `"`) {
			return tag + ", " + plain + `"`
		}
	}
	return tag
}

// isOpaque reports whether text is valid between the quotes of an entity tag (RFC 9110
// 8.8.3). Non-ASCII bytes are rejected, because the database may change them.
func isOpaque(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == '"' || c >= 0x7f {
			return false
		}
	}
	return text != ""
}
