package links

import (
	"strings"
	"time"
)

// maxDelay, in seconds, bounds the delay to avoid an overflow of time.Duration.
const maxDelay = 365 * 24 * 60 * 60

// refresh parses the content of a meta refresh such as `5; url='next.html'` by the HTML
// standard (4.2.5.3). The URL is empty if the page only reloads itself or the value is
// invalid.
func refresh(content string) (url string, delay time.Duration) {
	rest := strings.TrimLeft(content, " \t\r\n\f")
	seconds, digits := 0, 0
	for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
		seconds = min(seconds*10+int(rest[digits]-'0'), maxDelay)
		digits++
	}
	if digits == 0 && !strings.HasPrefix(rest, ".") {
		return "", 0
	}
	rest = strings.TrimLeft(rest[digits:], "0123456789.")
	trimmed := strings.TrimLeft(rest, " \t\r\n\f")
	if trimmed != "" && trimmed[0] != ';' && trimmed[0] != ',' && len(trimmed) == len(rest) {
		return "", 0
	}
	if trimmed != "" && (trimmed[0] == ';' || trimmed[0] == ',') {
		trimmed = strings.TrimLeft(trimmed[1:], " \t\r\n\f")
	}

	url = trimmed
	if len(url) >= 3 && strings.EqualFold(url[:3], "url") {
		value, ok := strings.CutPrefix(strings.TrimLeft(url[3:], " \t\r\n\f"), "=")
		if ok {
			url = strings.TrimLeft(value, " \t\r\n\f")
		}
	}
	if url != "" && (url[0] == '"' || url[0] == '\'') {
		url, _, _ = strings.Cut(url[1:], url[:1])
	}
	return url, time.Duration(seconds) * time.Second
}
