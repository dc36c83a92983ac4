package links

import "strings"

// refresh returns the URL in the content of a meta refresh such as `5; url='next.html'` by
// the HTML standard (4.2.5.3). It returns "" if the page only reloads itself or the value is
// invalid.
func refresh(content string) string {
	delay := strings.TrimLeft(content, " \t\r\n\f")
	rest := strings.TrimLeft(delay, "0123456789.")
	if rest == delay {
		return ""
	}
	trimmed := strings.TrimLeft(rest, " \t\r\n\f")
	if trimmed != "" && trimmed[0] != ';' && trimmed[0] != ',' && len(trimmed) == len(rest) {
		return ""
	}
	if trimmed != "" && (trimmed[0] == ';' || trimmed[0] == ',') {
		trimmed = strings.TrimLeft(trimmed[1:], " \t\r\n\f")
	}

	url := trimmed
	if len(url) >= 3 && strings.EqualFold(url[:3], "url") {
		value, ok := strings.CutPrefix(strings.TrimLeft(url[3:], " \t\r\n\f"), "=")
		if ok {
			url = strings.TrimLeft(value, " \t\r\n\f")
		}
	}
	if url != "" && (url[0] == '"' || url[0] == '\'') {
		url, _, _ = strings.Cut(url[1:], url[:1])
	}
	return url
}
