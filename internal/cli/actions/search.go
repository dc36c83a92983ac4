package actions

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/internal/cli/pages"
	"hce/dc/internal/wire"
)

// Search looks for words in the stored pages of a site.
type Search struct {
	Site  string
	Words string        // all of them must be in the URL, the title or the text, in lower or upper case
	After string        // key of the last page that was looked at; "" for the first
	Most  int           // pages that are found
	Time  time.Duration // then the search ends, and continues behind After
}

// Hit is a page with all words.
type Hit struct {
	Key     string `json:"key"`
	URL     string `json:"url"`
	Title   string `json:"title,omitempty"`
	Excerpt string `json:"excerpt,omitempty" doc:"text around the first word"`
}

// Found is a part of the answer of a search.
type Found struct {
	Hits   []Hit  `json:"hits"`
	Looked int    `json:"looked" doc:"pages that were looked at"`
	Next   string `json:"next,omitempty" doc:"continue with this key; missing at the end"`
}

// Search reads the pages of a site in the order of their keys. It needs no index, so it takes time in proportion to the site.
func (a *Actions) Search(ctx context.Context, s Search) (found Found, err error) {
	words := strings.Fields(strings.ToLower(s.Words))
	switch {
	case len(words) == 0:
		return found, &Invalid{Field: "query", Message: "give at least one word"}
	case s.After != "" && !isKey(s.After):
		return found, &Invalid{"cursor", s.After, "it is not one of an answer"}
	}
	if err := a.checkSite(ctx, s.Site); err != nil {
		return found, err
	}
	end := time.Now().Add(s.Time)
	found.Hits = []Hit{}
	reader := pages.Reader{
		Service: a.Service, Site: s.Site, Where: Statuses["processed"], Needs: pages.Processed, Tags: []string{"title", "content_encoded"}, Damaged: func(*wire.URL, error) {},
	}
	err = reader.Read(ctx, s.After, func(p *pages.Page) error {
		found.Looked++
		if hit, ok := hitOf(p, words); ok {
			found.Hits = append(found.Hits, hit)
		}
		if len(found.Hits) >= s.Most || time.Now().After(end) {
			found.Next = p.URLMd5
			return errEnough
		}
		return nil
	}, nil)
	if errors.Is(err, errEnough) || isPartial(err) {
		err = nil
	}
	return found, err
}

// hitOf reports whether a page has all words.
func hitOf(p *pages.Page, words []string) (Hit, bool) {
	text := p.Text("content_encoded")
	low := strings.ToLower(p.URL.URL + "\n" + p.Text("title") + "\n" + text)
	for _, word := range words {
		if !strings.Contains(low, word) {
			return Hit{}, false
		}
	}
	return Hit{p.URLMd5, p.URL.URL, p.Text("title"), excerpt(text, words[0])}, true
}

// excerptSize is the length of the text on each side of a word, in bytes.
const excerptSize = 120

// excerpt returns the text around the first place of a word, or the beginning of the text.
func excerpt(text, word string) string {
	at := max(0, strings.Index(strings.ToLower(text), word))
	from, to := max(0, min(at, len(text))-excerptSize), min(len(text), at+excerptSize)
	for from > 0 && from < len(text) && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return strings.Join(strings.Fields(text[min(from, to):to]), " ")
}
