package charset

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Encode returns the bodies that Decode may have converted to text, without those that cannot be: text in
// the named charset, alone and behind a byte order mark.
func Encode(text []byte, name string) (bodies [][]byte) {
	enc, canonical, known := lookupEncoding(name)
	if !known {
		return nil
	}
	body := text
	if enc != nil && canonical != "utf-8" {
		var err error
		if body, err = enc.NewEncoder().Bytes(text); err != nil {
			return nil
		}
	}
	bodies = append(bodies, body)
	if mark := marks[canonical]; mark != "" {
		bodies = append(bodies, slices.Concat([]byte(mark), body))
	}
	return bodies
}

// marks are the byte order marks of charsets.
var marks = map[string]string{"utf-8": "\xEF\xBB\xBF", "utf-16le": "\xFF\xFE", "utf-16be": "\xFE\xFF"}

var (
	metaCharset = regexp.MustCompile(`(?is)<meta\b[^>]*?\bcharset\s*=\s*["']?\s*([^\s"'/>;]+)`)
	xmlCharset  = regexp.MustCompile(`(?is)^\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([^"']+)`)
)

// declaredIn is how far into a page its charset may be declared.
const declaredIn = 4 << 10

// DeclareUTF8 returns an HTML page in UTF-8 with utf-8 as the charset that its meta elements and its XML
// declaration declare.
func DeclareUTF8(page []byte) []byte {
	head := page[:min(len(page), declaredIn)]
	var places [][]int
	for _, form := range []*regexp.Regexp{xmlCharset, metaCharset} {
		for _, m := range form.FindAllSubmatchIndex(head, -1) {
			if m[3] < len(head) && !strings.EqualFold(string(head[m[2]:m[3]]), "utf-8") {
				places = append(places, m[2:4])
			}
		}
	}
	if places == nil {
		return page
	}
	var b bytes.Buffer
	last := 0
	for _, place := range places {
		b.Write(page[last:place[0]])
		b.WriteString("utf-8")
		last = place[1]
	}
	b.Write(page[last:])
	return b.Bytes()
}
