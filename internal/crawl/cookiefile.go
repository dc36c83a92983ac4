package crawl

import "strings"

// ParseCookie reads a cookie file: the first line that is not empty and no
// comment.
func ParseCookie(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
