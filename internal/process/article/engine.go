package article

import (
	"net/url"

	"golang.org/x/net/html"
)

// Engine is a way to find the article of a page.
type Engine int

const (
	// Default runs go-trafilatura, completes its choice from the page, and compares it with
	// that of go-readability where it is doubtful.
	Default Engine = iota

	Readability // go-readability alone
	Distiller   // go-domdistiller alone
	Visible     // the visible text of the whole page
)

// found is what an engine found.
type found struct {
	choice choice     // nil: no article
	node   *html.Node // the article, if the engine took it from data in a script
	meta   Article    // without Text and Markdown
}

// search runs an engine on a copy of the page.
type search func(tree *html.Node, base *url.URL, m marks, h *head) found

// searches are the libraries of the engines.
var searches = map[Engine]search{Default: trafilaturaSearch, Readability: readabilitySearch, Distiller: distillerSearch}

// run runs the library of an engine. A panic of it means that it found nothing.
func (p *Page) run(e Engine) (f found, err error) {
	defer func() {
		if r := recover(); r != nil {
			f, err = found{}, panicked(r)
		}
	}()
	m := newMarks(p.outline())
	return searches[e](m.copyOf(p.doc), p.base.url, m, &p.head), nil
}
