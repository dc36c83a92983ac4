package article

import (
	"bytes"
	"fmt"
	"net/url"
	"unicode/utf8"

	"golang.org/x/net/html"

	"hce/dc/internal/process/author"
	"hce/dc/internal/process/language"
	"hce/dc/internal/web/links"
	"hce/dc/internal/web/tidy"
	"hce/dc/internal/web/treesize"
)

// Page is a page that several engines and extractors read. It is parsed once, and nobody
// changes its tree. Not safe for concurrent use.
type Page struct {
	URL  string // absolute
	Text []byte // UTF-8

	links    links.Page
	base     base
	loaded   bool
	doc      *html.Node // nil: there is no tree
	err      error      // why the page could not be parsed; nil for one that is only too large
	head     head
	large    bool // too large for an engine
	contents *outline
	compared *Comparison
}

// NewPage returns a page without parsing it. Bytes that are not UTF-8 are replaced. baseURL is the base of its links; "": pageURL.
// A base element of the page has precedence.
func NewPage(text []byte, pageURL, baseURL string) *Page {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	p := &Page{URL: pageURL, Text: text, links: links.HTML(text, maxLinks)}
	p.base = newBase(first(baseURL, pageURL), p.links.Base)
	return p
}

// Tree returns the tree of the page, with scripting off. Callers must not change it. It is
// nil with an error for a page that is too large or cannot be parsed.
func (p *Page) Tree() (*html.Node, error) {
	p.load()
	switch {
	case p.err != nil:
		return nil, p.err
	case p.doc == nil:
		return nil, fmt.Errorf("%w: %w", ErrParser, errCostly)
	}
	return p.doc, nil
}

// Large reports whether the page is too large for a tree. Its metadata come from its beginning.
func (p *Page) Large() bool { return len(p.Text) > maxBytes }

// Base returns the base URL of the links of the page. Callers must not change it.
func (p *Page) Base() *url.URL { return p.base.url }

// Resolve returns the absolute http or https URL of a link without its fragment, or "".
func (p *Page) Resolve(ref string) string { return p.base.resolve(ref) }

// Canonical returns the canonical URL that the page declares, or "".
func (p *Page) Canonical() string { return p.base.resolve(p.links.Canonical) }

// Metadata is what a page says about itself in JSON-LD, OpenGraph, Dublin Core, other meta
// elements and time elements. Empty: it does not say so.
type Metadata struct {
	Title, Description, Language, Image, Canonical string
	Author                                         string   // plausible names, separated by "; "
	Body                                           string   // the text of the article
	Dates                                          []string // see Article
	DublinDate                                     string   // the date in Dublin Core, as written
	Keywords                                       []string
}

// Metadata returns the metadata of the page.
func (p *Page) Metadata() Metadata {
	if p.load(); p.doc != nil && !p.large {
		p.outline()
	}
	h := &p.head
	return Metadata{
		Title: oneLine(h.title), Description: oneLine(h.description), Author: author.Names(h.authors), Body: h.body,
		Language: first(language.Tag(p.links.Lang), language.Tag(h.language)), Image: p.base.resolve(h.image),
		Canonical: p.Canonical(), Dates: h.dates, DublinDate: h.dublinDate, Keywords: unique(h.keywords),
	}
}

// load parses the page and reads its metadata, once.
func (p *Page) load() {
	if p.loaded {
		return
	}
	p.loaded = true
	defer func() {
		if r := recover(); r != nil {
			p.doc, p.err = nil, fmt.Errorf("%w: panic: %v", ErrParser, r)
		}
	}()
	text := p.Text
	if p.Large() {
		p.large = true
		if doc, err := parse(text[:headBytes]); err == nil {
			p.head = readHead(doc)
		}
		return
	}
	doc, err := parse(text)
	if err != nil {
		p.err = fmt.Errorf("%w: %w", ErrParser, err)
		return
	}
	p.doc, p.head = doc, readHead(doc)
	size := measure(doc)
	p.large = size.elements > maxElements || size.joining > maxJoining
}

// outline returns the blocks of the page. Only for a page with a tree.
func (p *Page) outline() *outline {
	if p.contents == nil {
		p.contents = newOutline(p.doc)
		p.contents.findTitle(oneLine(p.head.title), oneLine(p.links.Title))
		p.head.visible(p.contents.dates())
	}
	return p.contents
}

// maxNodes is the largest tree, as estimated by package treesize.
const maxNodes = 512 << 10

// parse builds the tree of a page with scripting off. It first tidies a page whose tree
// would be too large.
func parse(text []byte) (*html.Node, error) {
	if treesize.HTML(text, maxNodes) > maxNodes {
		tidied, err := tidy.Tidy(text)
		if err != nil {
			return nil, err
		}
		if treesize.HTML(tidied, maxNodes) > maxNodes {
			return nil, errCostly
		}
		text = tidied
	}
	return html.ParseWithOptions(bytes.NewReader(text), html.ParseOptionEnableScripting(false))
}
