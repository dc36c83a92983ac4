package article

import (
	"net/url"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// findArticle runs go-trafilatura without readers' comments. It skips the search for a
// date if the mark-up states one. The result has the metadata of the article; Text and
// Markdown are empty. The caller may change node, which is nil if there is no article.
// findArticle does not change doc. It may panic on hostile pages.
func findArticle(doc *html.Node, base *url.URL, h head) (a Article, node *html.Node) {
	options := trafilatura.Options{
		OriginalURL:     base,
		ExcludeComments: true,
		IncludeLinks:    true,
		HtmlDateMode:    trafilatura.Fast,
	}
	if !h.date.IsZero() {
		options.HtmlDateOverride = &htmldate.Result{}
	}
	result, err := trafilatura.ExtractDocument(doc, options)
	if err != nil {
		return Article{}, nil
	}
	restoreCode(result.ContentNode)
	// The library renames elements without setting DataAtom.
	for n := range result.ContentNode.Descendants() {
		if n.Type == html.ElementNode {
			n.DataAtom = atom.Lookup([]byte(n.Data))
		}
	}
	m := result.Metadata
	language := m.Language
	if len(result.ContentText) < fewBytes {
		language = "" // too little text for a reliable result
	}
	return Article{
		Title:       m.Title,
		Author:      m.Author,
		Description: m.Description,
		Date:        m.Date,
		Language:    language,
		Keywords:    append(m.Tags, m.Categories...),
	}, result.ContentNode
}
