package article

import (
	"strings"

	"hce/dc/internal/process/language"
)

// maxTitle is the most bytes of a title taken from a text.
const maxTitle = 200

// Plain returns an Article for a text that is not HTML. Text and Markdown are the
// unchanged text. The title is the first line that is not blank, of Markdown
// without its marks; for JSON and XML it comes from the URL.
func Plain(text []byte, contentType, pageURL string) Article {
	body := strings.ToValidUTF8(string(text), "\uFFFD")
	a := Article{Text: body, Markdown: body, Whole: true, Title: titleOfURL(pageURL)}
	if t := strings.ToLower(contentType); strings.Contains(t, "json") || strings.Contains(t, "xml") {
		return a
	}
	a.Title = firstNonBlank(FirstLine(body), a.Title)
	if strings.Contains(contentType, "markdown") {
		a.Title = firstNonBlank(strings.Trim(a.Title, "# "), a.Title)
	}
	a.Language = language.Detect(body)
	return a
}

// FirstLine returns the first line of text that is not blank, at most maxTitle bytes of it.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line == "" {
			continue
		}
		if len(line) > maxTitle {
			line = strings.ToValidUTF8(line[:maxTitle], "")
		}
		return line
	}
	return ""
}
