package article

import (
	"strings"
	"unicode/utf8"
)

// maxTitle bounds a title made of the first line of a text, in bytes.
const maxTitle = 200

// Plain makes an Article of a text that is no HTML. Text is the text as it is,
// and so is Markdown. The title is the first line that is not blank for a
// contentType of plain text; JSON and XML, whose first lines say nothing, are
// named after the URL.
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
