package canonical

import (
	"net/url"
	"strings"
)

// Net returns a URL, also a relative one, in the form of net/url. A percent sign that begins no escape,
// which net/url refuses in a path, becomes %25: use Split where the text must stay. All programs read
// URLs of pages with Net or Split, never with url.Parse (package layertest).
func Net(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil || !strings.Contains(text, "%") {
		return u, err
	}
	if again, e := url.Parse(escapePercents(text)); e == nil {
		return again, nil
	}
	return nil, err
}

// escapePercents escapes the percent signs in path and fragment that begin no escape.
func escapePercents(text string) string {
	var b strings.Builder
	path, query := 0, false
	if at := strings.Index(text, "//"); at >= 0 && !strings.ContainsAny(text[:at], "/?#%") {
		path = at + 2 + len(text[at+2:])
		if n := strings.IndexAny(text[at+2:], "/?#"); n >= 0 {
			path = at + 2 + n
		}
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '?':
			query = true
		case c == '#':
			query = false
		case c == '%' && i >= path && !query && !isEscape(text[i:]):
			b.WriteString("%25")
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

func isEscape(text string) bool {
	return len(text) > 2 && hexDigit(text[1]) >= 0 && hexDigit(text[2]) >= 0
}
