package article

import (
	"net/url"
	"slices"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// trafilaturaSearch runs go-trafilatura without readers' comments. It skips the search for a
// date if the mark-up states one.
func trafilaturaSearch(tree *html.Node, base *url.URL, m marks, h *head) (f found) {
	config := trafilatura.DefaultConfig()
	config.MinExtractedSize += config.MinExtractedSize * len(m.number) * m.width / max(1, m.bytes) // for the marks
	options := trafilatura.Options{
		Config:          config,
		OriginalURL:     base,
		ExcludeComments: true,
		HtmlDateMode:    trafilatura.Fast,
	}
	if !h.date.IsZero() {
		options.HtmlDateOverride = &htmldate.Result{}
	}
	result, err := trafilatura.ExtractDocument(tree, options)
	if err != nil {
		return found{}
	}
	if f.choice = m.chosen(result.ContentNode); f.choice == nil {
		f.node = result.ContentNode
	}
	meta := result.Metadata
	language := meta.Language
	if len(result.ContentText) < fewBytes {
		language = "" // too little text for a reliable result
	}
	keywords := slices.Concat(meta.Tags, meta.Categories)
	for i, k := range keywords {
		keywords[i] = withoutMarks(k)
	}
	f.meta = Article{
		Title:       withoutMarks(meta.Title),
		Author:      withoutMarks(meta.Author),
		Description: withoutMarks(meta.Description),
		Date:        meta.Date,
		Language:    language,
		Keywords:    keywords,
	}
	return f
}
