package article

import (
	"net/url"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// trafilated asks go-trafilatura. Comments of readers are no part of the
// article. The search for a date is spared when the mark-up states one.
func trafilated(doc *html.Node, base *url.URL, o Options, h head) found {
	options := trafilatura.Options{
		OriginalURL:     base,
		EnableFallback:  o.Fallback,
		ExcludeComments: true,
		IncludeLinks:    !o.NoMarkdown,
		HtmlDateMode:    trafilatura.Fast,
	}
	if o.NoDateSearch || !h.date.IsZero() {
		options.HtmlDateOverride = &htmldate.Result{}
	}
	result, err := trafilatura.ExtractDocument(doc, options)
	if err != nil {
		return found{}
	}
	restoreCode(result.ContentNode)
	m := result.Metadata
	language := m.Language
	if len(result.ContentText) < fewBytes {
		language = "" // a guess from too little
	}
	return found{node: result.ContentNode, article: Article{
		Title:       m.Title,
		Author:      m.Author,
		Description: m.Description,
		SiteName:    m.Sitename,
		Date:        m.Date,
		Language:    language,
		Keywords:    append(m.Tags, m.Categories...),
	}}
}
