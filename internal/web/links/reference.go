package links

import (
	"bytes"

	"golang.org/x/net/html"
)

// unescapeValue resolves the character references of an attribute value: "&name" without ";"
// only if the whole name is known and no "=" follows (HTML standard, 13.2.5.73).
func unescapeValue(value []byte) []byte {
	i := bytes.IndexByte(value, '&')
	if i < 0 {
		return value
	}
	out := make([]byte, 0, len(value))
	for ; i >= 0; i = bytes.IndexByte(value, '&') {
		n := i + referenceLen(value[i:])
		out = append(out, value[:i]...)
		out = append(out, resolveReference(value[i:n], value[n:])...)
		value = value[n:]
	}
	return append(out, value...)
}

// referenceLen returns the length of "&name", "&#1" or "&#xF" with an optional ";".
func referenceLen(b []byte) int {
	i, digit := 1, isAlphanumeric
	if i < len(b) && b[i] == '#' {
		i, digit = i+1, isDecimal
		if i < len(b) && b[i]|0x20 == 'x' {
			i, digit = i+1, isHexadecimal
		}
	}
	for i < len(b) && digit(b[i]) {
		i++
	}
	if i < len(b) && b[i] == ';' {
		i++
	}
	return i
}

// resolveReference returns the text of a reference, or the reference itself.
func resolveReference(reference, rest []byte) string {
	text := html.UnescapeString(string(reference))
	if len(reference) < 2 || reference[1] == '#' {
		return text
	}
	// UnescapeString also resolves the start of a name, and leaves the end of the name.
	last := text[len(text)-1]
	if reference[len(reference)-1] == ';' {
		if last == ';' && text != ";" {
			return string(reference)
		}
	} else if isAlphanumeric(last) || len(rest) > 0 && rest[0] == '=' {
		return string(reference)
	}
	return text
}

// normaliseNewlines replaces "\r\n" and "\r" by "\n".
func normaliseNewlines(b []byte) []byte {
	if bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

// replaceNUL replaces NUL characters by U+FFFD.
func replaceNUL(b []byte) []byte {
	if bytes.IndexByte(b, 0) < 0 {
		return b
	}
	return bytes.ReplaceAll(b, []byte{0}, []byte("\uFFFD"))
}

func isDecimal(c byte) bool      { return '0' <= c && c <= '9' }
func isAlphanumeric(c byte) bool { return isLetter(c) || isDecimal(c) }
func isHexadecimal(c byte) bool  { return isDecimal(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
