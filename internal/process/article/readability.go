package article

import (
	"net/url"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"
)

// readabilitySearch runs go-readability. It changes tree.
func readabilitySearch(tree *html.Node, base *url.URL, m marks, _ *head) (f found) {
	parser := readability.NewParser()
	result, err := parser.ParseAndMutate(tree, base)
	if err != nil || result.Node == nil {
		return found{}
	}
	f.choice = m.chosen(result.Node)
	f.meta = Article{Title: withoutMarks(result.Title()), Author: withoutMarks(result.Byline())}
	return f
}
