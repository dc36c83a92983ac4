package article

import (
	"net/url"
	"slices"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// findArticle runs go-trafilatura without readers' comments. It skips the search for a
// date if the mark-up states one. a has the metadata of the article; Text and Markdown are
// empty. c tells which texts of doc are the article; it is nil if there is no article. If the
// engine took the article from data in a script, node has it, otherwise node is nil.
// findArticle does not change doc, unless it panics: it may on hostile pages.
func findArticle(doc *html.Node, base *url.URL, h head) (a Article, c *choice, node *html.Node) {
	c = &choice{}
	c.mark(doc)
	config := trafilatura.DefaultConfig()
	config.MinExtractedSize += config.MinExtractedSize * len(c.blocks) * c.width / max(1, c.bytes) // for the marks
	options := trafilatura.Options{
		Config:          config,
		OriginalURL:     base,
		ExcludeComments: true,
		HtmlDateMode:    trafilatura.Fast,
	}
	if !h.date.IsZero() {
		options.HtmlDateOverride = &htmldate.Result{}
	}
	result, err := trafilatura.ExtractDocument(doc, options)
	c.unmark()
	if err != nil {
		return Article{}, nil, nil
	}
	if !c.choose(result.ContentNode) {
		node = result.ContentNode
	}
	m := result.Metadata
	language := m.Language
	if len(result.ContentText) < fewBytes {
		language = "" // too little text for a reliable result
	}
	keywords := slices.Concat(m.Tags, m.Categories)
	for i, k := range keywords {
		keywords[i] = withoutMarks(k)
	}
	return Article{
		Title:       withoutMarks(m.Title),
		Author:      withoutMarks(m.Author),
		Description: withoutMarks(m.Description),
		Date:        m.Date,
		Language:    language,
		Keywords:    keywords,
	}, c, node
}
