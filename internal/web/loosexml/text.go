package loosexml

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/web/charset"
)

// UTF8 returns body as UTF-8 without a byte order mark; only a truncated last character may
// be invalid. contentType is the value of the header and may be empty. UTF-8 bytes stay
// UTF-8 whatever the header or the XML declaration says. UTF-16 is recognised by its mark
// or by a first "<", "{" or "[". The result may share memory with body, which is not
// changed.
func UTF8(body []byte, contentType string) []byte {
	if mark := missingMark(body); mark != nil {
		body = append(mark, body...)
	}
	if isUTF8(body) {
		return bytes.TrimPrefix(body, []byte("\ufeff"))
	}
	text, _, _ := charset.Decode(body, contentType) // an error is only a warning
	return bytes.TrimPrefix(text, []byte("\ufeff"))
}

// isUTF8 reports whether body is UTF-8, except for a truncated last character. An escape
// means another seven-bit charset (ISO-2022-JP).
func isUTF8(body []byte) bool {
	for i := 1; i < utf8.UTFMax && i <= len(body); i++ {
		if last := body[len(body)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				body = body[:len(body)-i]
			}
			break
		}
	}
	return utf8.Valid(body) && bytes.IndexByte(body, 0x1B) < 0
}

// missingMark returns the byte order mark that a UTF-16 text lacks, or nil.
func missingMark(body []byte) []byte {
	if len(body) < 4 {
		return nil
	}
	switch {
	case isOpening(body[0]) && body[1] == 0 && body[2] != 0 && body[3] == 0:
		return []byte{0xFF, 0xFE}
	case body[0] == 0 && isOpening(body[1]) && body[2] == 0 && body[3] != 0:
		return []byte{0xFE, 0xFF}
	}
	return nil
}

func isOpening(c byte) bool { return c == '<' || c == '{' || c == '[' }

// Clean returns s without the characters that XML forbids: control characters except tab
// and line ends, U+FFFE and U+FFFF. Invalid UTF-8 becomes U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s)
}

// entity is an HTML entity or a character reference with its ";": "?a=1&copy=2" is a URL.
var entity = regexp.MustCompile(`&[#0-9A-Za-z]{1,38};`)

// decodeEntities decodes the entities in s. Unknown ones stay.
func decodeEntities(s string) string { return entity.ReplaceAllStringFunc(s, decodeEntity) }

// decodeEntity decodes one entity with its ";". HTML also accepts some names without ";"
// ("&copyright;" as "©right;"); these stay as they are.
func decodeEntity(entity string) string {
	text := html.UnescapeString(entity)
	if len(text) > 1 && strings.HasSuffix(text, ";") {
		return entity
	}
	if text == "\ufffd" { // a reference to no character, such as "&#0;"
		return ""
	}
	return text
}
