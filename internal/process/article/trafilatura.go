package article

import (
	"net/url"

	"github.com/markusmobius/go-htmldate"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// trafilated runs go-trafilatura without readers' comments. It skips the search for a date
// if the mark-up states one.
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
		language = "" // too little text for a reliable result
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
