package scraper

import (
	"strings"

	"hce/dc/internal/process/article"
	"hce/dc/internal/process/entry"
	"hce/dc/internal/wire/result"
)

// describeEntry adds to the tags of a feed entry, which are those of its document, what every page has:
// its text, its Markdown and its links, and title and description as plain texts. A tag of the document
// stays as it is.
func (s *scrape) describeEntry(r *result.Result) {
	text := entry.TextOf(s.Text)
	add := func(name string, values ...string) {
		if r.Tag(name) == nil && len(values) > 0 && values[0] != "" {
			r.Add(result.Tag{Name: name, Data: values, Extractor: result.Feed})
		}
	}
	if text.Body != "" {
		a := s.readMarkup(text.Body)
		add("content_encoded", a.Text)
		add("content_markdown", a.Markdown)
		add("links", a.Links...)
	}
	for _, plain := range [][2]string{{"title", text.Title}, {"description", text.Summary}} {
		if plain[1] == "" {
			continue
		}
		line := strings.Join(strings.Fields(s.readMarkup(plain[1]).Text), " ")
		if add(plain[0], line); r.First(plain[0]) != line {
			add(plain[0]+result.PlainSuffix, line)
		}
	}
}

// readMarkup reads a piece of HTML; all of it is text.
func (s *scrape) readMarkup(text string) article.Article {
	p := article.NewPage([]byte(text), s.URL, s.Base)
	defer p.Release()
	a, err := p.Article(article.Visible)
	s.addError(err)
	return a
}
