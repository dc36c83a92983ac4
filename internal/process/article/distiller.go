package article

import (
	"net/url"

	"github.com/markusmobius/go-domdistiller"
	"golang.org/x/net/html"
)

// distillerSearch runs go-domdistiller, without its search for the pages of an article.
func distillerSearch(tree *html.Node, base *url.URL, m marks, _ *head) (f found) {
	result, err := distiller.Apply(tree, &distiller.Options{OriginalURL: base, SkipPagination: true})
	if err != nil || result.Node == nil {
		return found{}
	}
	f.choice = m.chosen(result.Node)
	f.meta = Article{Title: withoutMarks(result.Title)}
	return f
}
