package article

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/html"

	"hce/dc/internal/web/links"
	"hce/dc/internal/web/tidy"
	"hce/dc/internal/web/treesize"
)

// ErrParser means that a parser or the engine failed. The returned Article has the visible
// text.
var ErrParser = errors.New("cannot parse the page")

// errCostly means that the page was not parsed, to limit memory.
var errCostly = errors.New("the tree of the page would be too large")

// Article is the result of Extract. Texts are UTF-8; a field that was not found is empty.
type Article struct {
	Title       string // one line
	Text        string // plain text, one block a line
	Markdown    string // CommonMark with tables, absolute links
	Author      string // several authors are separated by "; "
	Description string

	// Language is a language tag such as "en" or "pt-BR", declared by the page or detected
	// in its text.
	Language string

	// Date is the publication date that the page states, or the zero time. The zone is UTC if
	// the page states none.
	Date time.Time

	Canonical string   // absolute URL
	Keywords  []string // keywords, tags and categories, each once
	Links     []string // absolute http and https URLs of a and area elements
	Media     []string // absolute URLs of images, sounds, videos; the main image first

	// Whole means that no article was found: Text is the visible text of the whole page.
	Whole bool
}

const (
	// maxBytes is the largest page to parse to a tree, maxElements the largest tree for the
	// engine. Larger pages give their visible text. The slowest known pages below these limits
	// take about a second; a running engine cannot be stopped.
	maxBytes    = 2 << 20
	maxElements = 20_000

	// maxLinks is the most links of one page.
	maxLinks = 5_000

	// headBytes is the part of a page larger than maxBytes that is searched for metadata.
	headBytes = 64 << 10

	// fewBytes is the shortest credible text of the engine: in a list of links, it finds a
	// footer or a caption only.
	fewBytes = 200
)

// Extract reads an HTML page. text is UTF-8. pageURL is the absolute URL of the page: the
// base of its links and the last source of a title.
//
// Title and Text are empty only if the page and pageURL are. An error wraps ErrParser; the
// Article is still usable. Goroutines may call Extract concurrently.
func Extract(text []byte, pageURL string) (Article, error) {
	page := links.HTML(text, maxLinks)
	p := extraction{text: text, page: page, base: newBase(pageURL, page.Base), url: pageURL}
	err := p.run()
	if err != nil {
		p.article = Article{}
		p.wholeFromTokens()
	}
	p.complete()
	return p.article, err
}

// extraction is the state of one Extract.
type extraction struct {
	text    []byte
	page    links.Page
	base    base
	url     string
	head    head
	article Article
}

// run fills the article from the tree of the page. A panic of a parser becomes an error.
func (p *extraction) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: panic: %v", ErrParser, r)
		}
	}()
	if len(p.text) > maxBytes {
		if doc, err := parse(p.text[:min(len(p.text), headBytes)]); err == nil {
			p.head = readHead(doc)
		}
		p.wholeFromTokens()
		return nil
	}
	doc, err := parse(p.text)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrParser, err)
	}
	p.head = readHead(doc)
	if size := measure(doc); size.elements > maxElements || size.joining > maxJoining {
		p.wholeFromTokens()
		return nil
	}
	flattenCode(doc)
	p.choose(doc)
	return nil
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

// choose takes the article of the engine, or the whole page if the engine found almost
// nothing.
func (p *extraction) choose(doc *html.Node) {
	a, c, node := findArticle(doc, p.base.url, p.head)
	p.article = a
	text := ""
	switch {
	case node != nil:
		text = nodeText(node)
	case c != nil:
		text = c.text(doc)
	}
	switch {
	case len(text) < fewBytes:
		p.article.Whole = true
		if text = nodeText(doc); text == "" {
			text = tokenText(p.text) // includes noscript and noframes
		}
	case node != nil:
		doc = node
	default:
		c.prune(doc)
	}
	p.article.Text = text
	p.article.Markdown = p.markdown(doc, text)
}

// markdown converts node to Markdown. It returns text if that fails.
func (p *extraction) markdown(node *html.Node, text string) string {
	p.base.resolveAll(node)
	if md := markdown(node); md != "" {
		return md
	}
	return text
}

// wholeFromTokens sets the visible text of the page, without a tree.
func (p *extraction) wholeFromTokens() {
	p.article.Whole = true
	p.article.Text = tokenText(p.text)
	p.article.Markdown = p.article.Text
}

// complete fills empty fields from the metadata of the page.
func (p *extraction) complete() {
	a, h := &p.article, &p.head
	a.Title = oneLine(first(a.Title, h.title, p.page.Title, h.heading, titleOfURL(p.url)))
	a.Description = oneLine(first(a.Description, h.description))
	a.Author = oneLine(first(a.Author, h.author))
	if a.Text == "" {
		a.Text = first(h.alternative, a.Description, a.Title)
	}
	if a.Markdown == "" {
		a.Markdown = a.Text
	}
	if !h.date.IsZero() {
		a.Date = h.date
	}
	a.Language = first(languageTag(p.page.Lang), languageTag(h.language), a.Language)
	if a.Language == "" {
		a.Language = guessLanguage(a.Text)
	}
	a.Canonical = p.base.resolve(p.page.Canonical)
	a.Keywords = unique(append(a.Keywords, h.keywords...))
	p.collect()
}

// collect sorts the URLs of the page into links and media.
func (p *extraction) collect() {
	media := []string{p.base.resolve(p.head.image)}
	var out []string
	for _, l := range p.page.Links {
		switch l.Tag {
		case "a", "area":
			if l.Attr != "ping" {
				out = append(out, p.base.resolve(l.URL))
			}
		case "img", "image", "source", "video", "audio", "embed", "track":
			if l.Attr != "longdesc" && l.Attr != "usemap" {
				media = append(media, p.base.resolve(l.URL))
			}
		}
	}
	p.article.Links, p.article.Media = unique(out), unique(media)
}

// unique returns the trimmed, non-empty texts, each once, in order.
func unique(texts []string) []string {
	var out []string
	seen := make(map[string]bool, len(texts))
	for _, t := range texts {
		if t = strings.TrimSpace(t); t != "" && !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// first returns the first text that is not blank.
func first(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}

// oneLine collapses the white space of text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
