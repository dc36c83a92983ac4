package article

import (
	"strings"
	"unicode/utf8"
)

// maxTitle is the most bytes of a title taken from a text.
const maxTitle = 200

// Plain returns an Article for a text that is not HTML. Text and Markdown are the
// unchanged text. The title is the first line that is not blank; for JSON and XML it comes
// from the URL.
func Plain(text []byte, contentType, pageURL string) Article {
	body := strings.ToValidUTF8(string(text), "\uFFFD")
	a := Article{Text: body, Markdown: body, Whole: true, Title: titleOfURL(pageURL)}
	if t := strings.ToLower(contentType); strings.Contains(t, "json") || strings.Contains(t, "xml") {
		return a
	}
	for line := range strings.Lines(body) {
		if line = oneLine(line); line == "" {
			continue
		}
		if len(line) > maxTitle {
			end := maxTitle
			for !utf8.RuneStart(line[end]) {
				end--
			}
			line = line[:end]
		}
		a.Title = line
		break
	}
	a.Language = guessLanguage(body)
	return a
}
