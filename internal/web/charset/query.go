package charset

import (
	"fmt"
	"strings"

	"golang.org/x/text/encoding"
)

// EncodeQuery returns a URL of an HTML page with the characters of its query that are not ASCII
// percent-encoded in the charset of the page, as browsers send them. A character that the charset
// lacks becomes a reference such as %26%231046%3B. name is a charset as Decode returns it; with
// UTF-8, UTF-16 or an unknown name the URL is unchanged. Source: URL standard 4.3, 5.1
// ("percent-encode after encoding").
func EncodeQuery(url, name string) string {
	at := strings.IndexByte(url, '?')
	if at < 0 || IsASCII(url[at:]) {
		return url
	}
	enc, name, ok := lookupEncoding(name)
	if !ok || name == nameUTF8 || !asciiBased(name) {
		return url
	}
	query, fragment := url[at:], ""
	if i := strings.IndexByte(query, '#'); i >= 0 {
		query, fragment = query[:i], query[i:]
	}
	var b strings.Builder
	b.WriteString(url[:at])
	for len(query) > 0 {
		n := strings.IndexFunc(query, func(r rune) bool { return r >= 0x80 })
		if n < 0 {
			n = len(query)
		}
		b.WriteString(query[:n])
		query = query[n:]
		if n = strings.IndexFunc(query, func(r rune) bool { return r < 0x80 }); n < 0 {
			n = len(query)
		}
		writeEncoded(&b, query[:n], enc)
		query = query[n:]
	}
	return b.String() + fragment
}

// writeEncoded writes a text without ASCII characters.
func writeEncoded(b *strings.Builder, text string, enc encoding.Encoding) {
	encoded, err := enc.NewEncoder().String(text)
	if err != nil { // a character is not in the charset
		encoded = ""
		for _, r := range text {
			if part, err := enc.NewEncoder().String(string(r)); err == nil {
				encoded += part
			} else {
				encoded += fmt.Sprintf("&#%d;", r)
			}
		}
	}
	for i := range len(encoded) {
		if c := encoded[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(b, "%%%02X", c)
		}
	}
}

// IsASCII reports whether a text has ASCII characters only.
func IsASCII[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
