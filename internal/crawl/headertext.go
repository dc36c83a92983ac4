package crawl

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// headerText returns a block of "Name: value" lines, sorted by name.
func headerText(h http.Header, first string) []byte {
	var b bytes.Buffer
	if first != "" {
		b.WriteString(first + "\r\n")
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			b.WriteString(strings.ToValidUTF8(name+": "+value, "\uFFFD"))
			b.WriteString("\r\n")
		}
	}
	return b.Bytes()
}

// clipTo cuts a text of a server to the size of a column, in bytes.
func clipTo(s string, most int) string {
	return strings.ToValidUTF8(s[:min(len(s), most)], "")
}

// clipLine makes a text of a server fit on one line.
func clipLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, s)
}
