package document

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"html"
	"mime"
	"regexp"
	"strings"

	"hce/dc/internal/manual"
	"hce/dc/internal/process/article"
	"hce/dc/internal/process/markup"
	"hce/dc/internal/process/office"
	"hce/dc/internal/process/pdf"
	"hce/dc/internal/web/charset"
	"hce/dc/internal/web/content"
)

// ErrType means that nothing reads contents of this type.
var ErrType = errors.New("no reader for this type of content")

// ErrDamaged means that the content cannot be read.
var ErrDamaged = errors.New("the content cannot be read")

// Read reads a raw content. kind is its declared type. The result is nil with an error that
// wraps ErrType or ErrDamaged. With another error it is incomplete.
func Read(kind string, body []byte, pageURL string) (*article.Article, error) {
	r := reader{kind: kind, url: pageURL}
	return r.readArticle(body)
}

// ReadHTML is Read, and returns the document as clean HTML too.
func ReadHTML(kind string, body []byte, pageURL string) (a *article.Article, text string, err error) {
	r := reader{kind: kind, url: pageURL, wantsHTML: true}
	a, err = r.readArticle(body)
	return a, r.html, err
}

// reader reads one document.
type reader struct {
	kind, url string
	wantsHTML bool
	html      string // the document as HTML, if it is wanted
}

func (r *reader) readArticle(body []byte) (*article.Article, error) {
	kind := r.kind
	switch FormatOf(kind, body) {
	case HTML, Text:
		text, err := Decode(kind, body)
		if err != nil {
			return nil, err
		}
		a := article.Plain(text, kind, r.url)
		if r.wantsHTML {
			r.html = "<pre>" + html.EscapeString(a.Text) + "</pre>"
		}
		return &a, nil
	case PDF:
		page, err := pdf.Read(body)
		return r.finishArticle(page, err)
	case ZIP:
		page, err := office.Read(body)
		if errors.Is(err, office.ErrOther) {
			return nil, unreadableType(kind, body)
		}
		return r.finishArticle(page, err)
	case Broken:
		return nil, fmt.Errorf("%w: it is declared as %.80q, but is not of that type", ErrDamaged, kind)
	}
	return nil, unreadableType(kind, body)
}

// unreadableType returns an ErrType that names the declared type, and the detected one if it differs.
func unreadableType(kind string, body []byte) error {
	if found := content.Detect(body); found != content.Normal(kind) {
		return fmt.Errorf("%w: %.80q, detected as %q", ErrType, kind, found)
	}
	return fmt.Errorf("%w: %.80q", ErrType, kind)
}

// Decode returns a text. The crawler stores texts as UTF-8, whatever charset the page declares.
func Decode(kind string, body []byte) ([]byte, error) {
	text, _, err := charset.Decode(body, mime.FormatMediaType(kind, map[string]string{"charset": "utf-8"}))
	if err != nil && text == nil {
		return nil, fmt.Errorf("%w: it is not a text, but %.80q: %w", ErrDamaged, kind, err)
	}
	return text, nil
}

// heading finds the headings of a page.
var heading = regexp.MustCompile(`(?s)<h([1-3])>(.*?)</h[1-3]>`)

// tag finds the tags in a heading.
var tag = regexp.MustCompile(`<[^>]*>`)

// titleBytes is the start of a page in which its title is searched.
const titleBytes = 4 << 10

// titleOf returns the first of the largest headings at the start of a page, or "".
func titleOf(page []byte) string {
	_, body, _ := bytes.Cut(page, []byte("<body>"))
	best, title := byte('9'), ""
	for _, m := range heading.FindAllSubmatch(body[:min(len(body), titleBytes)], -1) {
		if m[1][0] < best {
			best, title = m[1][0], html.UnescapeString(tag.ReplaceAllString(string(m[2]), " "))
		}
	}
	return strings.Join(strings.Fields(title), " ")
}

// finishArticle makes an Article of the page of a document. page is nil only after an error.
func (r *reader) finishArticle(page *markup.Page, failed error) (*article.Article, error) {
	if page == nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, failed)
	}
	text := page.HTML()
	p := article.NewPage(text, r.url, "")
	defer p.Release()
	a, err := p.Article(article.Visible)
	if r.wantsHTML {
		r.html = p.HTML()
	}
	if page.Title == "" {
		a.Title = cmp.Or(titleOf(text), article.FirstLine(a.Text), a.Title)
	}
	switch {
	case failed != nil && page.Cut:
		err = fmt.Errorf(manual.Locate("the document is read in part: %w; it exceeds a limit, see docs/documents.md"), failed)
	case failed != nil:
		err = fmt.Errorf("the document is read in part: %w", failed)
	case page.Cut:
		err = errors.New(manual.Locate("the document is read in part: it exceeds a limit, see docs/documents.md"))
	case err != nil:
		err = fmt.Errorf("the document has no Markdown: %w", err)
	}
	return &a, err
}
