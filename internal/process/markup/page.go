package markup

import (
	"html"
	"net/url"
	"strings"
	"unicode"

	"hce/dc/internal/web/dates"
)

const (
	// MaxBytes bounds the body of a page. What does not fit is dropped, and Cut is set.
	MaxBytes = 8 << 20
	// maxField bounds a field of the metadata, in bytes.
	maxField = 8 << 10
)

// Page is a document. The zero value is an empty one. Not safe for concurrent use.
type Page struct {
	Title, Author, Description, Keywords, Language string

	Date dates.Value // of the document; zero: unknown
	Cut  bool        // parts of the document are missing, because it exceeds a limit

	body strings.Builder
}

// Block writes an element with text.
func (p *Page) Block(tag, text string) {
	p.Raw("<" + tag + ">" + Text(text) + "</" + tag + ">\n")
}

// Raw writes HTML: tags, and texts that Text returned.
func (p *Page) Raw(text string) {
	if p.Cut = p.Cut || p.body.Len()+len(text) > MaxBytes; !p.Cut {
		p.body.WriteString(text)
	}
}

// Len returns the bytes of the body.
func (p *Page) Len() int { return p.body.Len() }

// Text returns text as HTML, without control characters.
func Text(text string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		switch {
		case r == '\t', r == '\n', r == '\r':
			return ' '
		case unicode.IsControl(r), r == 0xFEFF, r == 0xAD, r == 0xFFFE, r == 0xFFFF:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// Anchor returns the start tag of a link. It returns "" for an address that is not an
// absolute one on the web or a mail address.
func Anchor(address string) string {
	if u, err := url.Parse(strings.TrimSpace(address)); err == nil && len(address) < maxField {
		switch u.Scheme {
		case "http", "https", "mailto", "ftp":
			return `<a href="` + html.EscapeString(u.String()) + `">`
		}
	}
	return ""
}

// HTML returns the page.
func (p *Page) HTML() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + field(p.Language) + `"><head><meta charset="utf-8"><title>` + field(p.Title) + "</title>")
	meta := func(name, value string) {
		if value = field(value); value != "" {
			b.WriteString(`<meta name="` + name + `" content="` + value + `">`)
		}
	}
	meta("author", p.Author)
	meta("description", p.Description)
	meta("keywords", p.Keywords)
	meta("date", p.Date.String())
	b.WriteString("</head><body>\n")
	b.WriteString(p.body.String())
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// field returns a text of the metadata as HTML.
func field(text string) string {
	if text = strings.TrimSpace(text); len(text) > maxField {
		text = strings.ToValidUTF8(text[:maxField], "")
	}
	return Text(text)
}
