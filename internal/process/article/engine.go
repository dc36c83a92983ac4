package article

import (
	"net/url"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Engine is the library that tells the article from the rest of a page.
type Engine uint8

// The engines, with the extractors of docs/spec/processing.md 1.4 that they stand for.
const (
	Trafilatura Engine = iota // NewspaperExtractor, and the default
	Readability               // GooseExtractor; the quickest
	Distiller                 // MLExtractor
)

// found is what an engine says of a page.
type found struct {
	node    *html.Node // the article, nil when there is none; the receiver's to change
	article Article    // metadata; Text and Markdown are empty
}

// find runs the engine. It leaves doc as it was and may panic on hostile pages.
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
		// The libraries rename and make elements by name alone.
		for n := range f.node.Descendants() {
			if n.Type == html.ElementNode {
				n.DataAtom = atom.Lookup([]byte(n.Data))
			}
		}
	}
	return f
}
