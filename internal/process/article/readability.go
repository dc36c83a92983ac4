package article

import (
	"net/url"

	"github.com/go-shiori/go-readability"
	"golang.org/x/net/html"
)

// readable runs go-readability.
func readable(doc *html.Node, base *url.URL) found {
	result, err := readability.FromDocument(doc, base)
	if err != nil {
		return found{}
	}
	a := Article{
		Title:       result.Title,
		Author:      result.Byline,
		Description: result.Excerpt,
		SiteName:    result.SiteName,
	}
	if result.PublishedTime != nil {
		a.Date = *result.PublishedTime
	}
	return found{node: result.Node, article: a}
}
