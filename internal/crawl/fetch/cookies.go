package fetch

import (
	"strings"

	"golang.org/x/net/http/httpguts"
)

// maxCookieLine limits a Cookie field. Servers fill the jar, and refuse longer fields.
const maxCookieLine = 8 << 10

// joinCookies adds the pairs of set to those of line. If names are equal, the pair of set
// wins. Invalid pairs and those above maxCookieLine are dropped.
func joinCookies(line, set string) string {
	replaced := make(map[string]bool)
	for pair := range strings.SplitSeq(set, ";") {
		if name := cookieName(pair); name != "" {
			replaced[name] = true
		}
	}
	var out strings.Builder
	add := func(pair string) {
		pair = strings.TrimSpace(pair)
		if pair == "" || !httpguts.ValidHeaderFieldValue(pair) || out.Len()+len("; ")+len(pair) > maxCookieLine {
			return
		}
		if out.Len() > 0 {
			out.WriteString("; ")
		}
		out.WriteString(pair)
	}
	for pair := range strings.SplitSeq(line, ";") {
		if !replaced[cookieName(pair)] {
			add(pair)
		}
	}
	for pair := range strings.SplitSeq(set, ";") {
		add(pair)
	}
	return out.String()
}

func cookieName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return strings.TrimSpace(name)
}
