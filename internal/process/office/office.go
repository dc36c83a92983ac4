package office

import (
	"errors"
	"strings"

	"hce/dc/internal/process/markup"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/web/loosexml"
)

// ErrDamaged means that the document cannot be read.
var ErrDamaged = errors.New("damaged office document")

// ErrOther means that the file is a ZIP archive, but no document of a known format.
var ErrOther = errors.New("a ZIP archive without a document")

// Read reads a document. An error wraps ErrDamaged or ErrOther. With ErrDamaged, there may be
// a page with what could be read. Without an error the page may be cut.
func Read(body []byte) (*markup.Page, error) {
	a, err := open(body)
	if err != nil {
		return nil, err
	}
	page := &markup.Page{}
	if !a.write(page) {
		return nil, ErrOther
	}
	page.Cut = page.Cut || a.cut
	if a.err != nil && page.Len() == 0 {
		return nil, a.err
	}
	return page, a.err
}

// write writes the document to page. It reports whether its format is known.
func (a *archive) write(page *markup.Page) bool {
	if a.has("content.xml") {
		readMeta(a.read("meta.xml"), page)
		writeODF(a.read("content.xml"), page)
		return true
	}
	main := a.main()
	text := a.read(main)
	switch rootOf(text) {
	case "document":
		a.writeDOCX(main, text, page)
	case "presentation":
		a.writeSlides(main, text, page)
	default:
		return false
	}
	readMeta(a.read("docProps/core.xml"), page)
	return true
}

// rootOf returns the local name of the first element, in lower case.
func rootOf(text []byte) string {
	r := loosexml.NewReader(text[:min(len(text), 4<<10)])
	t, _ := r.Root(func(loosexml.Token) bool { return true })
	return t.Local()
}

// readMeta reads the metadata of either family of formats.
func readMeta(text []byte, page *markup.Page) {
	var name string
	r := loosexml.NewReader(text)
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		switch t.Kind {
		case loosexml.Start:
			name = t.Local()
		case loosexml.End:
			name = ""
		case loosexml.Text:
			setMeta(page, name, strings.TrimSpace(t.Text))
		}
	}
}

func setMeta(page *markup.Page, name, value string) {
	set := func(field *string) {
		if *field == "" {
			*field = value
		}
	}
	switch name {
	case "title":
		set(&page.Title)
	case "creator":
		page.Author = value
	case "initial-creator": // dc:creator of OpenDocument is the last editor
		if page.Author == "" {
			page.Author = value
		}
	case "description", "subject":
		set(&page.Description)
	case "keyword", "keywords":
		page.Keywords = strings.TrimPrefix(page.Keywords+";"+value, ";")
	case "language":
		set(&page.Language)
	case "created", "creation-date":
		page.Date, _ = datetext.Read(value, datetext.Options{})
	}
}

// attr returns the value of the attribute with a local name, or "".
func attr(t loosexml.Token, local string) string {
	for _, a := range t.Attrs {
		if loosexml.Local(a.Name) == local {
			return a.Value
		}
	}
	return ""
}

// skip reads to the end of the element that start begins.
func skip(r *loosexml.Reader, start loosexml.Token) {
	for t, ok := r.Next(); ok; t, ok = r.Next() {
		if t.Kind == loosexml.End && t.Depth == start.Depth {
			return
		}
	}
}
