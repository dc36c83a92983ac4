package sitemap

import (
	"bytes"
	"strings"

	"hce/dc/internal/web/loosexml"
)

// parseText parses a text with one URL per line. It ignores other lines; a text without a
// URL is not a sitemap.
func parseText(text []byte, o Options) (Sitemap, error) {
	var s Sitemap
	for len(text) > 0 {
		end := bytes.IndexAny(text, "\r\n")
		if end < 0 {
			end = len(text)
		}
		line := bytes.TrimSpace(text[:end])
		text = text[min(end+1, len(text)):]
		if len(line) > maxFieldBytes || !isURL(line) {
			continue
		}
		if len(s.Entries) == o.MaxEntries {
			s.Cut = true
			break
		}
		s.Entries = append(s.Entries, Entry{Loc: loosexml.Clean(string(line)), Priority: -1})
	}
	if len(s.Entries) == 0 {
		return Sitemap{}, ErrNoSitemap
	}
	return s, nil
}

// isURL reports whether line is one absolute web URL.
func isURL(line []byte) bool {
	head := strings.ToLower(string(line[:min(len(line), len("https://"))]))
	return (strings.HasPrefix(head, "http://") || strings.HasPrefix(head, "https://")) && !bytes.ContainsAny(line, " \t<>\"")
}
