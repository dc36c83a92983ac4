// Package extract reads web pages: title, text, Markdown, author, date, language, links and images of the article, from
// HTML, PDF, office documents and plain text.
//
//	page, err := extract.Read(body, extract.Options{URL: "https://site.example/news/1.html"})
//	fmt.Println(page.Title, page.Markdown)
//
// It is the engine that the crawler uses, as a function: no daemon, no store, no cgo, no network. A page is parsed once, in
// time and memory linear in its size; the models that choose the lines are part of the program (docs/models.md). Goroutines
// may call Read at the same time.
package extract

import (
	"errors"
	"fmt"

	"hce/dc/internal/process/article"
	"hce/dc/internal/process/document"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
)

// Page is what a page says. Texts are UTF-8; a field that was not found is empty.
type Page struct {
	URL         string   `json:"url,omitempty"`
	Title       string   `json:"title"`
	Author      string   `json:"author,omitempty"`   // several authors are separated by "; "
	Date        string   `json:"date,omitempty"`     // of publication, as docs/dates.md writes it; "": the page states none
	Modified    string   `json:"modified,omitempty"` // the last change in the form of Date; "": the page states none
	Language    string   `json:"language,omitempty"` // a tag such as "en" or "pt-BR"
	Description string   `json:"description,omitempty"`
	Canonical   string   `json:"canonical,omitempty"` // absolute URL
	Keywords    []string `json:"keywords,omitempty"`
	Text        string   `json:"text,omitempty"`     // one line of the page a line
	Markdown    string   `json:"markdown,omitempty"` // CommonMark with tables, absolute links
	HTML        string   `json:"html,omitempty"`     // the article as clean HTML, if Options ask for it
	Comments    string   `json:"comments,omitempty"` // comments of readers, which are not in Text
	Links       []string `json:"links,omitempty"`    // absolute http and https URLs
	Media       []string `json:"media,omitempty"`    // absolute URLs of images, sounds and videos
	Whole       bool     `json:"whole,omitempty"`    // no article was found: the text is that of the whole page
}

// Mode says what to do with doubtful lines of an HTML page.
type Mode int

const (
	Balanced  Mode = iota // the best expected F1
	Precision             // leave doubtful lines out
	Recall                // keep doubtful lines
	Whole                 // keep all visible text
)

var engines = map[Mode]article.Engine{Balanced: article.Default, Precision: article.Precision, Recall: article.Recall, Whole: article.Visible}

// Options say what is known about a page. The zero value is valid.
type Options struct {
	URL         string // absolute; the base of relative links and the last source of a title
	ContentType string // the header Content-Type, with its charset; "": found in the page
	Mode        Mode
	HTML        bool // write Page.HTML too
}

// Errors of Read.
var (
	// ErrType means that nothing reads contents of this type, such as an image.
	ErrType = document.ErrType
	// ErrDamaged means that the content cannot be read.
	ErrDamaged = document.ErrDamaged
)

// Read reads a page. The error wraps ErrType or ErrDamaged, and the page is empty; with any other error, such as that of a
// document which exceeds a limit, the page is what could be read.
func Read(body []byte, o Options) (Page, error) {
	kind := o.ContentType
	if kind == "" {
		kind = content.Detect(body)
	}
	if document.FormatOf(kind, body) != document.HTML {
		return readDocument(kind, body, o)
	}
	engine, known := engines[o.Mode]
	if !known {
		return Page{URL: o.URL}, fmt.Errorf("extract: mode %d is not known", o.Mode)
	}
	text, _, _ := charset.Decode(body, kind) // the error says that some bytes were replaced
	p := article.NewPage(text, o.URL, "")
	defer p.Release()
	a, err := p.Article(engine)
	result := pageOf(&a, o.URL)
	if o.HTML {
		result.HTML = p.HTML()
	}
	return result, err
}

// readDocument reads a content that is no HTML.
func readDocument(kind string, body []byte, o Options) (Page, error) {
	read := func(kind string, body []byte, url string) (*article.Article, string, error) {
		a, err := document.Read(kind, body, url)
		return a, "", err
	}
	if o.HTML {
		read = document.ReadHTML
	}
	a, text, err := read(kind, body, o.URL)
	if a == nil {
		return Page{URL: o.URL}, err
	}
	p := pageOf(a, o.URL)
	p.HTML = text
	return p, err
}

// IsPartial reports whether an error of Read concerns a part of the page only.
func IsPartial(err error) bool {
	return err != nil && !errors.Is(err, ErrType) && !errors.Is(err, ErrDamaged)
}

func pageOf(a *article.Article, url string) Page {
	p := Page{
		URL: url, Title: a.Title, Author: a.Author, Language: a.Language, Description: a.Description, Canonical: a.Canonical,
		Keywords: a.Keywords, Text: a.Text, Markdown: a.Markdown, Comments: a.Comments, Links: a.Links, Media: a.Media, Whole: a.Whole,
	}
	p.Date, p.Modified = a.Date.String(), a.Modified.String()
	return p
}
