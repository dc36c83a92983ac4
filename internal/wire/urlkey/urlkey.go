// Package urlkey makes the keys of URLs: texts that differ only in their escapes have one key.
//
//	key := urlkey.Of("http://example.com/%7euser") // that of http://example.com/~user
package urlkey

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/hex"
	"strings"
)

// Of returns the key of a URL: the md5, in lower-case hexadecimal, of its text with
// canonical escapes (NormalEscapes). So two texts that differ only in their escapes are one
// row, while the row keeps the text that came first and requests send it. For a text
// without escapes it is the md5 of the text. Source: docs/spec/DECISIONS.md 6.11.
func Of(text string) string {
	return hexSum(Sum(text))
}

// Sum is Of in bytes.
func Sum(text string) [md5.Size]byte {
	if isNormal(text) {
		return md5.Sum([]byte(text))
	}
	var room [256]byte
	return md5.Sum(appendNormal(room[:0], text))
}

// NormalEscapes returns text with canonical escapes (RFC 3986 6.2.2.1, 6.2.2.2): upper-case
// digits, none for an unreserved character, and one for each byte of a character that is not
// ASCII. A percent sign that begins no escape stays, and gets no digits from what follows. It
// is idempotent and allocates nothing for a text that has this form.
func NormalEscapes(text string) string {
	if isNormal(text) {
		return text
	}
	return string(appendNormal(nil, text))
}

// Choose returns the key of text if a message gives none, or the md5 of the text as it is.
// Else it returns the given key.
func Choose(given, text string) string {
	if given == "" || !isNormal(text) && given == hexSum(md5.Sum([]byte(text))) {
		return Of(text)
	}
	return given
}

func hexSum(sum [md5.Size]byte) string { return hex.EncodeToString(sum[:]) }

// isNormal reports whether text has no byte that appendNormal may change.
func isNormal(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 || text[i] == '%' && escapeAt(text, i) != keptEscape {
			return false
		}
	}
	return true
}

// What appendNormal does with a percent sign.
type escape int

const (
	keptEscape  escape = iota // canonical, or no escape
	upperEscape               // its digits become upper case
	plainEscape               // its character takes its place
)

const (
	upperHex   = "0123456789ABCDEF"
	unreserved = "-._~"
)

// escapeAt classifies the percent sign at i.
func escapeAt(text string, i int) escape {
	if i+2 >= len(text) {
		return keptEscape
	}
	high, low := hexDigitValue(text[i+1]), hexDigitValue(text[i+2])
	switch {
	case high < 0 || low < 0 || isBarePercent(text, i-1) || isBarePercent(text, i-2) && hexDigitValue(text[i-1]) >= 0:
		return keptEscape
	case isUnreserved(byte(high<<4 | low)):
		return plainEscape
	case text[i+1] >= 'a' || text[i+2] >= 'a':
		return upperEscape
	}
	return keptEscape
}

// isBarePercent reports whether the character at i is a percent sign that begins no escape. What
// follows it must not become its digits.
func isBarePercent(text string, i int) bool {
	return i >= 0 && text[i] == '%' && (i+2 >= len(text) || hexDigitValue(text[i+1]) < 0 || hexDigitValue(text[i+2]) < 0)
}

func appendNormal(to []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x80 {
			to = append(to, '%', upperHex[c>>4], upperHex[c&15])
			continue
		}
		if c != '%' {
			to = append(to, c)
			continue
		}
		switch escapeAt(text, i) {
		case plainEscape:
			to = append(to, byte(hexDigitValue(text[i+1])<<4|hexDigitValue(text[i+2])))
			i += 2
		case upperEscape:
			to = append(to, '%', upperHex[hexDigitValue(text[i+1])], upperHex[hexDigitValue(text[i+2])])
			i += 2
		default:
			to = append(to, c)
		}
	}
	return to
}

// hexDigitValue returns the value of a hexadecimal digit, -1 for another character.
func hexDigitValue(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c - 'a' + 10)
	case 'A' <= c && c <= 'F':
		return int(c - 'A' + 10)
	}
	return -1
}

func isUnreserved(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || strings.IndexByte(unreserved, c) >= 0
}

// urlSpace is the name space of URLs (RFC 9562 6.6).
const urlSpace = "\x6b\xa7\xb8\x11\x9d\xad\x11\xd1\x80\xb4\x00\xc0\x4f\xd4\x30\xc8"

// UUID returns the name-based UUID of a URL (RFC 9562 5.5): every store and index has the same one.
func UUID(url string) string {
	b := sha1.Sum([]byte(urlSpace + url))
	b[6], b[8] = b[6]&0x0f|0x50, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
