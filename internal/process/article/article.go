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

// ErrParser says that a parser or an extractor could not cope with the page.
// The Article that comes with it holds the visible text.
var ErrParser = errors.New("page defeats the parser")

// errCostly is why a page is not parsed.
var errCostly = errors.New("the tree of the page would be too large")

// Article is what Extract finds. Texts are UTF-8; what was not found is empty.
type Article struct {
	Title       string // one line
	Text        string // plain text, one block a line
	Markdown    string // CommonMark with tables, absolute links
	Author      string // several are separated by "; "
	Description string
	SiteName    string

	// Language is a language tag such as "en" or "pt-BR": what the page says of
	// itself, else a guess from its text.
	Language string

	// Date is when the page says it was published, zero when it does not. It is
	// in the zone that the page states, else in UTC with DateZoned false.
	Date      time.Time
	DateZoned bool

	Canonical string   // absolute URL, empty when the page names none
	Keywords  []string // keywords, tags and categories, each once
	Links     []string // absolute http and https URLs of a and area elements
	Media     []string // absolute URLs of images, sounds, videos; the main image first

	// Whole reports that no article was found and Text is the visible text of
	// the whole page.
	Whole bool
}

// Options choose how to extract. The zero value is what Extract uses.
type Options struct {
	// Engine chooses the article; zero is Trafilatura.
	Engine Engine

	// Fallback lets Trafilatura compare its result with those of the other two
	// engines: better by about one point of F1, at half as much time again.
	Fallback bool

	// NoDateSearch leaves out the search for a date in the text and URL of pages
	// whose mark-up states none.
	NoDateSearch bool

	// NoMarkdown leaves Article.Markdown empty.
	NoMarkdown bool

	// MaxBytes is the largest page that is parsed to a tree, zero for
	// DefaultMaxBytes; MaxElements the largest tree that is given to an engine,
	// zero for DefaultMaxElements. Others get their visible text. They are what
	// bounds the time of a page: no engine can be stopped once it runs.
	MaxBytes    int
	MaxElements int
}

// Defaults of Options. With them the worst pages found take about a second.
const (
	DefaultMaxBytes    = 2 << 20
	DefaultMaxElements = 20_000
)

const (
	// maxLinks bounds what is collected from one page.
	maxLinks = 5_000

	// headBytes is the part of a page too large for a tree in which its
	// metadata is looked for.
	headBytes = 64 << 10

	// fewBytes is the length below which the text of an engine is not believed:
	// a list of links leaves it a footer or a single caption.
	fewBytes = 200
)

// Extract reads an HTML page with the default options.
func Extract(text []byte, pageURL string) (Article, error) {
	return Options{}.Extract(text, pageURL)
}

// Extract reads an HTML page. text is UTF-8, pageURL the absolute URL that it
// came from, used to resolve links and as the last source of a title.
//
// Title and Text are never empty unless the page is and pageURL too. An error
// wraps ErrParser; the Article is usable all the same.
func (o Options) Extract(text []byte, pageURL string) (Article, error) {
	page := links.HTML(text, maxLinks)
	p := extraction{options: o, text: text, page: page, base: newBase(pageURL, page.Base), url: pageURL}
	err := p.run()
	if err != nil {
		// Whatever the tree led to is gone; the tokens are still there.
		p.article = Article{}
		p.wholeFromTokens()
	}
	p.complete()
	return p.article, err
}

// extraction is one page on its way to an Article.
type extraction struct {
	options Options
	text    []byte
	page    links.Page
	base    base
	url     string
	head    head
	article Article
}

// run fills the article from the tree of the page. Hostile pages can break a
// parser, which becomes an error here.
func (p *extraction) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("article.Extract: %w: %v", ErrParser, r)
		}
	}()
	if len(p.text) > orDefault(p.options.MaxBytes, DefaultMaxBytes) {
		if doc, err := parse(p.text[:min(len(p.text), headBytes)]); err == nil {
			p.head = readHead(doc)
		}
		p.wholeFromTokens()
		return nil
	}
	doc, err := parse(p.text)
	if err != nil {
		return fmt.Errorf("article.Extract: %w: %w", ErrParser, err)
	}
	p.head = readHead(doc)
	if size := measure(doc); size.elements > orDefault(p.options.MaxElements, DefaultMaxElements) || size.joining > maxJoining {
		p.wholeFromTokens()
		return nil
	}
	flattenCode(doc)
	p.choose(doc)
	return nil
}

// maxNodes bounds the nodes of a tree, as they are estimated.
const maxNodes = 512 << 10

// parse builds the tree of a page for a reader without scripts. A page that would
// grow much is tidied first: its elements are closed where they stand.
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

// choose asks the engine for the article and takes the whole page when it finds
// none or next to none.
func (p *extraction) choose(doc *html.Node) {
	found := p.options.Engine.find(doc, p.base.url, p.options, p.head)
	p.article = found.article
	text := ""
	if found.node != nil {
		text = nodeText(found.node)
	}
	if longest := longestLine(text); len(text) < fewBytes || 2*longest > len(text) {
		whole := nodeText(doc)
		if whole == "" {
			// Nothing to see but what is meant for readers without frames or scripts.
			whole = tokenText(p.text)
		}
		// A line that is most of the page is what engines make of tables and
		// lists: all the words, no blocks.
		breaks := strings.Count(whole, "\n")
		glued := 5*longest > 4*(len(whole)-breaks) && breaks > strings.Count(text, "\n")
		if len(text) < fewBytes || glued {
			p.article.Whole = true
			p.article.Text = whole
			p.article.Markdown = p.markdown(doc, whole)
			return
		}
	}
	p.article.Text = text
	p.article.Markdown = p.markdown(found.node, text)
}

// longestLine returns the length of the longest line of text.
func longestLine(text string) int {
	longest := 0
	for line := range strings.Lines(text) {
		longest = max(longest, len(line))
	}
	return longest
}

// markdown writes node as Markdown, and text as it is when that fails.
func (p *extraction) markdown(node *html.Node, text string) string {
	if p.options.NoMarkdown || node == nil {
		return ""
	}
	p.base.resolveAll(node)
	if md := markdown(node); md != "" {
		return md
	}
	return text
}

// wholeFromTokens takes the visible text of the page without a tree.
func (p *extraction) wholeFromTokens() {
	p.article.Whole = true
	p.article.Text = tokenText(p.text)
	if !p.options.NoMarkdown {
		p.article.Markdown = p.article.Text
	}
}

// complete fills what the engine left open from the metadata of the page.
func (p *extraction) complete() {
	a, h := &p.article, &p.head
	a.Title = oneLine(first(a.Title, h.title, p.page.Title, h.heading, titleOfURL(p.url)))
	a.Description = oneLine(first(a.Description, h.description))
	a.Author = oneLine(first(a.Author, h.author))
	a.SiteName = oneLine(first(a.SiteName, h.siteName))
	if a.Text == "" {
		a.Text = first(h.alternative, a.Description, a.Title)
	}
	if a.Markdown == "" && !p.options.NoMarkdown {
		a.Markdown = a.Text
	}
	if !h.date.IsZero() {
		a.Date, a.DateZoned = h.date, h.dateZoned
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

// unique returns the texts that are not empty, each once, in order.
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

// first returns the first text that is more than white space.
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

func orDefault(n, def int) int {
	if n > 0 {
		return n
	}
	return def
}
