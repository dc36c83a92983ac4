package main

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/markusmobius/go-trafilatura"
	"golang.org/x/net/html"
)

// library finds the main text of a page, "" if it finds none.
type library func(tree *html.Node, address *url.URL) string

// libraries are measured in addition to our own choice.
var libraries = map[string]library{
	"go-trafilatura":                func(n *html.Node, u *url.URL) string { return trafilaturaText(n, u, false) },
	"go-trafilatura, with fallback": func(n *html.Node, u *url.URL) string { return trafilaturaText(n, u, true) },
	"go-readability v2":             readabilityText,
}

func trafilaturaText(tree *html.Node, address *url.URL, fallback bool) string {
	r, err := trafilatura.ExtractDocument(tree, trafilatura.Options{OriginalURL: address, ExcludeComments: true, EnableFallback: fallback})
	if err != nil {
		return ""
	}
	return r.ContentText
}

func readabilityText(tree *html.Node, address *url.URL) string {
	r, err := readability.FromDocument(tree, address)
	if err != nil || r.Node == nil {
		return ""
	}
	return textOf(r.Node, nil, "")
}

// compareLibraries prints the word F1 of the libraries by kind of page, and for pages of documentation.
func compareLibraries(pages []*page) {
	for _, name := range []string{"go-trafilatura", "go-trafilatura, with fallback", "go-readability v2"} {
		r := report{}
		for _, p := range pages {
			if p.shadow {
				continue
			}
			text, kind := textBy(libraries[name], p), p.Type
			if p.isMarked() {
				kind = "pages of generators"
			} else if p.Type != "taught" {
				r.figuresOf("~all").addPage(p, text, "")
			}
			r.figuresOf(kind).addPage(p, text, text)
		}
		fmt.Println(name)
		r.printTable(false)
	}
}

// textBy runs a library. A panic of it means that it found nothing.
func textBy(l library, p *page) (text string) {
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	tree, err := html.Parse(bytes.NewReader(p.html))
	if err != nil {
		return ""
	}
	address := p.URL
	if !strings.Contains(address, "://") {
		address = "http://site.example/a"
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return l(tree, u)
}
