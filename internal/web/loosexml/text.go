package loosexml

import (
	"bytes"
	"html"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/web/charset"
)

// UTF8 returns body as UTF-8 without a byte order mark; all but a last character
// that is cut is valid. The contentType is
// the value of the header and may be empty. Bytes that are UTF-8 already stay
// so, whatever the header or an XML declaration says; UTF-16 is known by its
// mark or by its first character, when that is "<" or "{". The body is never
// changed, and may be returned as it is.
func UTF8(body []byte, contentType string) []byte {
	if mark := missingMark(body); mark != nil {
		body = append(mark, body...)
	}
	if isUTF8(body) {
		return bytes.TrimPrefix(body, []byte("\ufeff"))
	}
	text, _, _ := charset.Decode(body, contentType) // its errors are remarks; the text is always usable
	return bytes.TrimPrefix(text, []byte("\ufeff"))
}

// isUTF8 reports whether body is UTF-8, but for a last character that is cut.
// Text of seven bits that holds an escape is of another charset (ISO-2022-JP).
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

// missingMark returns the byte order mark that a UTF-16 text begins without.
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

// Clean returns s without the characters that XML does not allow: control
// characters other than tab and line ends, U+FFFE and U+FFFF. Bytes that are
// not UTF-8 become U+FFFD.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, isForbidden) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isForbidden(r) {
			return -1
		}
		return r
	}, s)
}

func isForbidden(r rune) bool {
	return r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7F || r == 0xFFFE || r == 0xFFFF
}

// maxEntity is longer than any entity of HTML, "&" and ";" included.
const maxEntity = 40

// unescape replaces the entities of HTML and the character references in s. One
// that lacks its ";" or is unknown stays as it is: "?a=1&copy=2" is a URL.
func unescape(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := entityLength(s)
		if n == 0 {
			n = 1
			b.WriteByte('&')
		} else {
			b.WriteString(decodeEntity(s[:n]))
		}
		s = s[n:]
	}
}

// entityLength is the length of the entity or reference that s, which opens
// with "&", begins with; 0 when it is none.
func entityLength(s string) int {
	for i := 1; i < len(s) && i < maxEntity; i++ {
		c := s[i]
		switch {
		case c == ';':
			if i == 1 {
				return 0
			}
			return i + 1
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '#':
		default:
			return 0
		}
	}
	return 0
}

// decodeEntity decodes one entity that ends with ";". HTML also reads some names
// without the ";" ("&copyright;" as "©right;"), which is never meant here.
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
