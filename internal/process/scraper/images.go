package scraper

import (
	"context"
	"strconv"
	"strings"

	"hce/dc/internal/process/media"
	"hce/dc/internal/web/xpath"
)

// mostImages bounds the images of a page whose sizes are known.
const mostImages = 5000

var images = func() *xpath.Expr {
	e, err := xpath.Compile("//img[@src and (@width or @height)]")
	if err != nil {
		panic(err) // cannot happen: the text is constant
	}
	return e
}()

// imageSizes returns the sizes that the mark-up of the page states, by URL. All results of the page
// share them.
func (s *scrape) imageSizes() map[string]media.Size {
	if s.sizes != nil {
		return s.sizes
	}
	s.sizes = map[string]media.Size{}
	found, _ := images.Find(context.Background(), s.pageTree(), xpath.Limits{Matches: mostImages}) // those before a bound count
	for _, m := range found {
		values := map[string]string{}
		for _, a := range m.Node.Attr {
			values[a.Key] = strings.TrimSpace(a.Val)
		}
		var size media.Size
		size.Width, _ = strconv.Atoi(strings.TrimSuffix(values["width"], "px")) // 0 for any other text
		size.Height, _ = strconv.Atoi(strings.TrimSuffix(values["height"], "px"))
		if url := s.page.Resolve(values["src"]); url != "" {
			s.sizes[url] = size
		}
	}
	return s.sizes
}
