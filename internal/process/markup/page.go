package markup

import (
	"html"
	"strings"
	"unicode"

	"hce/dc/canonical"
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

	// Created and Modified are dates of the document; zero: unknown.
	Created, Modified dates.Value

	Cut bool // parts of the document are missing, because it exceeds a limit

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

// Text returns text as HTML, in one line, without control characters, soft hyphens and zero-width spaces.
func Text(text string) string { return cleanText(text, ' ') }

// Preformatted is Text for a pre element: lines stay.
func Preformatted(text string) string { return cleanText(text, '\n') }

func cleanText(text string, newLine rune) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return newLine
		case r == '\t', r == '\r', r == 0x2028, r == 0x2029:
			return ' '
		case unicode.IsControl(r), isInvisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}

// isInvisible reports whether r is a soft hyphen, a zero-width space, a mark of direction, or no
// character. Joiners are letters of some scripts.
func isInvisible(r rune) bool {
	switch r {
	case 0xAD, 0x200B, 0x200E, 0x200F, 0x2060, 0x2061, 0x2062, 0x2063, 0x2064, 0xFEFF, 0xFFFE, 0xFFFF:
		return true
	}
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

// Anchor returns the start tag of a link. It returns "" for an address that is not an
// absolute one on the web or a mail address.
func Anchor(address string) string {
	if u, err := canonical.Net(strings.TrimSpace(address)); err == nil && len(address) < maxField {
		switch u.Scheme {
		case "http", "https":
			if text, err := canonical.Canonical(address); err == nil {
				return `<a href="` + html.EscapeString(text) + `">`
			}
		case "mailto", "ftp":
			return `<a href="` + html.EscapeString(u.String()) + `">`
		}
	}
	return ""
}

// HTML returns the page.
func (p *Page) HTML() []byte {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="` + escapeField(p.Language) + `"><head><meta charset="utf-8"><title>` + escapeField(p.Title) + "</title>")
	meta := func(kind, name, value string) {
		if value = escapeField(value); value != "" {
			b.WriteString("<meta " + kind + `="` + name + `" content="` + value + `">`)
		}
	}
	meta("name", "author", p.Author)
	meta("name", "description", p.Description)
	meta("name", "keywords", p.Keywords)
	meta("name", "date", p.Created.String())
	meta("property", "article:modified_time", p.Modified.String())
	b.WriteString("</head><body>\n")
	b.WriteString(p.body.String())
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

// escapeField returns a text of the metadata as HTML.
func escapeField(text string) string {
	if text = strings.TrimSpace(text); len(text) > maxField {
		text = strings.ToValidUTF8(text[:maxField], "")
	}
	return Text(text)
}
