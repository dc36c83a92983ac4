package article

import (
	"net/url"

	"github.com/markusmobius/go-domdistiller"
	"golang.org/x/net/html"
)

// distilled runs go-domdistiller. The crawler follows chains of pages, so the search for
// the next page is off.
func distilled(doc *html.Node, base *url.URL) found {
	result, err := distiller.Apply(doc, &distiller.Options{OriginalURL: base, SkipPagination: true})
	if err != nil {
		return found{}
	}
	return found{node: result.Node, article: Article{
		Title:       result.Title,
		Author:      result.MarkupInfo.Author,
		Description: result.MarkupInfo.Description,
		SiteName:    result.MarkupInfo.Publisher,
	}}
}
