package target

import (
	"fmt"
	"regexp"
	"strings"

	"hce/dc/internal/web/pyregexp"
)

// regexpPrefix starts a pattern that is a regular expression.
const regexpPrefix = "re:"

// Expression returns the regular expression of a pattern, which matches anywhere in a URL.
func Expression(pattern string) (string, error) {
	if text, ok := strings.CutPrefix(pattern, regexpPrefix); ok {
		if strings.ContainsAny(text, "\r\n") || text == "" {
			return "", fmt.Errorf("pattern %q is empty or has several lines", pattern)
		}
		if _, err := pyregexp.Compile(text); err != nil {
			return "", fmt.Errorf("pattern %q is no regular expression: %w", pattern, err)
		}
		return text, nil
	}
	if pattern == "" || strings.ContainsAny(pattern, " \t\r\n") {
		return "", fmt.Errorf("pattern %q is empty or has a blank; write a glob such as /docs/** or *.zip, or re: and a regular expression", pattern)
	}
	return globPattern(pattern), nil
}

// origin matches scheme and host of a URL.
const origin = `^https?://[^/?#]+`

// end ends a glob that names a file: a query may follow.
const end = `(?:[?#].*)?$`

func globPattern(pattern string) string {
	body := globBody(strings.TrimSuffix(pattern, "/"))
	stop := end
	switch {
	case strings.HasSuffix(pattern, "/"): // everything below
		stop = `/.*$`
	case strings.Contains(pattern, "?"):
		stop = `$`
	}
	switch {
	case strings.Contains(pattern, "://"):
		return "^" + body + stop
	case strings.HasPrefix(pattern, "/"):
		return origin + body + stop
	}
	return origin + `(?:/[^?#]*)?/` + body + stop
}

// globBody translates the characters of a glob.
func globBody(pattern string) string {
	var b strings.Builder
	for pattern != "" {
		switch {
		case strings.HasPrefix(pattern, "**"):
			b.WriteString(".*")
			pattern = strings.TrimLeft(pattern, "*")
		case pattern[0] == '*':
			b.WriteString("[^/?#]*")
			pattern = pattern[1:]
		default:
			i := strings.IndexByte(pattern, '*')
			if i < 0 {
				i = len(pattern)
			}
			b.WriteString(regexp.QuoteMeta(pattern[:i]))
			pattern = pattern[i:]
		}
	}
	return b.String()
}
