package article

import (
	"net/url"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Engine is a library that finds the article in a page.
type Engine uint8

// The engines, with the extractors of docs/spec/processing.md 1.4 that they replace.
const (
	Trafilatura Engine = iota // NewspaperExtractor, and the default
	Readability               // GooseExtractor; the quickest
	Distiller                 // MLExtractor
)

// found is the result of an engine.
type found struct {
	node    *html.Node // the article, which the caller may change; nil: no article
	article Article    // metadata; Text and Markdown are empty
}

// find runs the engine. It does not change doc. It may panic on hostile pages.
func (e Engine) find(doc *html.Node, base *url.URL, o Options, h head) found {
	var f found
	switch e {
	case Readability:
		f = readable(doc, base)
	case Distiller:
		f = distilled(doc, base)
	default:
		f = trafilated(doc, base, o, h)
	}
	if f.node != nil {
		// The libraries rename elements without setting DataAtom.
		for n := range f.node.Descendants() {
			if n.Type == html.ElementNode {
				n.DataAtom = atom.Lookup([]byte(n.Data))
			}
		}
	}
	return f
}
