package revalidate

import (
	"net/http"
	"strings"
)

// maxETag is the room that the row has for an entity tag.
const maxETag = 255

// ETag returns the entity tag of a response as the row keeps it: without quotes,
// a weak one with W/ in front (`"a"` is a, `W/"a"` is W/a). Of several the first
// counts. It is "" when there is none, or none that could be sent back as it came.
//
// A tag whose own text looks like something else, as `"W/a"`, keeps its quotes.
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
		weak, text = "W/", rest // against the rules, and understood
	}
	if rest, ok := strings.CutPrefix(text, `"`); ok {
		if text, _, ok = strings.Cut(rest, `"`); !ok {
			return ""
		}
	} else { // no quotes, against the rules
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

// entityTag returns the tag that a row keeps as it is sent, "" for none. Rows of
// old have lost W/, or kept one quote or the other.
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

// isOpaque reports whether text may stand between the quotes of an entity tag
// (RFC 9110 8.8.3). Bytes beyond ASCII may by the letter, but do not come
// through a database as they were.
func isOpaque(text string) bool {
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c == '"' || c >= 0x7f {
			return false
		}
	}
	return text != ""
}
