package crawl

import "strings"

// ParseCookie returns the first line of a cookie file that is not empty and not a comment.
func ParseCookie(text string) string {
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return line
		}
	}
	return ""
}
