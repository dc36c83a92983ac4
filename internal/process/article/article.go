package article

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/net/html"

	"hce/dc/internal/process/author"
	"hce/dc/internal/process/language"
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

	// Dates are the texts from which a publication date can be read, most credible first: those
	// of JSON-LD, meta and time elements, then visible ones near the title.
	Dates []string

	DateText   string // the text that gave Date, or else the first of Dates
	DublinDate string // the date in Dublin Core, as written

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

	// leastProse is the shortest article: the prose of a page with nothing else.
	leastProse = 60
)

// Extract reads an HTML page with the Default engine. text is UTF-8. pageURL is the absolute
// URL of the page: the base of its links and the last source of a title.
//
// Title and Text are empty only if the page and pageURL are. An error wraps ErrParser; the
// Article is still usable. Goroutines may call Extract concurrently.
func Extract(text []byte, pageURL string) (Article, error) {
	return NewPage(text, pageURL, "").Article(Default)
}

// Article finds the article of the page with an engine, as Extract.
func (p *Page) Article(e Engine) (Article, error) {
	p.load()
	x := extraction{Page: p}
	err := p.err
	switch {
	case err != nil || p.doc == nil || p.large:
		x.wholeFromTokens()
	default:
		if err = x.run(e); err != nil {
			x.article = Article{}
			x.wholeFromTokens()
		}
	}
	x.complete()
	return x.article, err
}

// extraction is the state of one Article.
type extraction struct {
	*Page
	article Article
}

func panicked(reason any) error { return fmt.Errorf("%w: panic: %v", ErrParser, reason) }

// run fills the article from the tree of the page: what the engine chose, or the whole page
// if it found almost nothing.
func (x *extraction) run(e Engine) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	var f found
	if e != Visible {
		if f, err = x.Page.run(e); err != nil {
			return err
		}
		x.article = f.meta
	}
	c := f.choice
	if e == Default {
		c = x.choose(&f)
	}
	switch {
	case c != nil:
		x.take(c)
	case f.node != nil:
		x.article.Text = nodeText(f.node)
		x.markdown(f.node)
	}
	if len(x.article.Text) < fewBytes && !x.short(c) {
		x.whole()
	}
	return nil
}

// short reports whether the choice is an article although it is short: it has most of the prose
// of the page.
func (x *extraction) short(c choice) bool {
	if c == nil {
		return false
	}
	o := x.outline()
	n := o.prose(c)
	return n >= leastProse && float64(n) >= doubtShare*float64(o.prose(nil))
}

// take sets the texts from the chosen blocks.
func (x *extraction) take(c choice) {
	o := x.outline()
	drop := c.dropped(o)
	x.markdown(copyChosen(x.doc, drop))
	if o.title >= 0 && c[o.title] {
		for _, n := range o.blocks[o.title].texts {
			drop[n] = true
		}
	}
	l := lines{drop: drop}
	l.node(x.doc, false)
	x.article.Text = l.b.String()
}

// whole sets the visible text of the page.
func (x *extraction) whole() {
	x.article.Whole = true
	if x.compared != nil {
		x.compared.Whole = true
	}
	if x.article.Text = nodeText(x.doc); x.article.Text == "" {
		x.article.Text = tokenText(x.Page.Text) // includes noscript and noframes
	}
	x.markdown(copyChosen(x.doc, nil))
}

// markdown sets the Markdown of node, or the text if that fails. It changes node.
func (x *extraction) markdown(node *html.Node) {
	x.article.Markdown = ""
	if node != nil {
		x.base.resolveAll(node)
		x.article.Markdown = markdown(node)
	}
	if x.article.Markdown == "" {
		x.article.Markdown = x.article.Text
	}
}

// wholeFromTokens sets the visible text of the page, without a tree.
func (x *extraction) wholeFromTokens() {
	x.article.Whole = true
	x.article.Text = tokenText(x.Page.Text)
	x.article.Markdown = x.article.Text
}

// complete fills empty fields from the metadata of the page.
func (x *extraction) complete() {
	a, h := &x.article, &x.head
	a.Title = oneLine(first(a.Title, h.title, x.links.Title, h.heading, titleOfURL(x.URL)))
	a.Description = oneLine(first(a.Description, h.description))
	a.Author = first(author.Names(h.authors), x.visibleAuthor())
	if a.Text == "" {
		a.Text = first(h.alternative, a.Description, a.Title)
	}
	if a.Markdown == "" {
		a.Markdown = a.Text
	}
	a.Dates, a.DublinDate = h.dates, h.dublinDate
	if !h.date.IsZero() {
		a.Date, a.DateText = h.date, h.dateText
	}
	switch {
	case a.DateText == "" && !a.Date.IsZero():
		a.DateText = a.Date.Format(time.DateTime)
	case a.DateText == "" && len(a.Dates) > 0:
		a.DateText = a.Dates[0]
	}
	a.Language = first(language.Tag(x.links.Lang), language.Tag(h.language), a.Language)
	if a.Language == "" {
		a.Language = language.Detect(a.Text)
	}
	a.Canonical = x.Canonical()
	a.Keywords = unique(append(a.Keywords, h.keywords...))
	x.collect()
}

// visibleAuthor returns the author in the text of the page, or the one of the engine.
func (x *extraction) visibleAuthor() string {
	if x.contents != nil {
		if name, many := x.contents.author(); name != "" || many {
			return name
		}
	}
	return author.Names([]string{x.article.Author})
}

// collect sorts the URLs of the page into links and media.
func (x *extraction) collect() {
	media := []string{x.base.resolve(x.head.image)}
	var out []string
	for _, l := range x.links.Links {
		switch l.Tag {
		case "a", "area":
			if l.Attr != "ping" {
				out = append(out, x.base.resolve(l.URL))
			}
		case "img", "image", "source", "video", "audio", "embed", "track":
			if l.Attr != "longdesc" && l.Attr != "usemap" {
				media = append(media, x.base.resolve(l.URL))
			}
		}
	}
	x.article.Links, x.article.Media = unique(out), unique(media)
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
