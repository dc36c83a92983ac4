// Package render writes results in the output format of a template
// (docs/spec/processing.md 2.8).
//
//	f, err := render.Parse([]byte(`{"name":"json","item":"{\"t\":\"%title%\"}"}`))
//	text, err := f.Render(&r, render.Values{Errors: row.ErrorMask}) // {"t":"News"}
//
// An item is parsed once; to render it costs one pass over its macros. Goroutines may share
// a Format.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/prop"
)

// Format is an output format. A nil Format is that of a template without output_format: it
// renders {"default":…}, and it escapes nothing.
type Format struct {
	name       string
	head, tail string
	item       []piece
	escape     escaper
	perTag     bool            // the item has macros of repeated items
	openText   bool            // the item of a JSON text ends inside of quotes
	macros     map[string]bool // names in the item
}

// piece is a literal text, or a macro if name is not empty.
type piece struct {
	text, name string
	place      place
}

// place is where a macro of a JSON text is.
type place int

const (
	inText  place = iota // inside of quotes, or no JSON text
	asValue              // outside of quotes
	asKey                // outside of quotes, before a colon
)

// Parse reads output_format: an object, or its JSON text. It returns nil for an absent one.
// An error has the bit ErrTemplateSource and names the key. With an unknown name the Format
// is still usable: its values are not escaped.
func Parse(raw json.RawMessage) (*Format, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, refusalError(err)
		}
		raw = bytes.TrimSpace([]byte(text))
	}
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var v struct {
		Name        string `json:"name"`
		Header      string `json:"header"`
		ItemsHeader string `json:"items_header"`
		Item        string `json:"item"`
		ItemsFooter string `json:"items_footer"`
		Footer      string `json:"footer"`
	}
	if raw[0] != '{' {
		return nil, refusalError(fmt.Errorf("is %s; expected an object", prop.Clip(string(raw))))
	}
	if err := prop.Decode(string(raw), &v); err != nil {
		return nil, refusalError(err)
	}
	f := &Format{
		name: strings.ToLower(strings.TrimSpace(v.Name)),
		head: v.Header + v.ItemsHeader, tail: v.ItemsFooter + v.Footer,
	}
	f.readItem(v.Item)
	var known bool
	if f.escape, known = escapers[f.name]; !known {
		return f, refusalError(fmt.Errorf(`has %q at "name"; expected json, html, xml, sql, csv or text; values are not escaped`, prop.Clip(v.Name)))
	}
	return f, nil
}

func refusalError(err error) error {
	return &errormask.Error{Mask: errormask.TemplateSource, Err: fmt.Errorf("output_format %w", err)}
}

// readItem splits the item at its macros.
func (f *Format) readItem(item string) {
	f.macros = map[string]bool{}
	quotes := quotes{}
	if f.name == "json" {
		quotes.readText(f.head)
	}
	for item != "" {
		text, name, rest := nextMacro(item)
		if text != "" {
			f.item = append(f.item, piece{text: text})
			quotes.readText(text)
		}
		if name != "" {
			f.item = append(f.item, piece{name: name, place: f.placeBefore(rest, quotes.open)})
			f.macros[name] = true
			f.perTag = f.perTag || name == tagName || name == tagValue || name == extractorValue
		}
		item = rest
	}
	f.openText = quotes.open
}

func (f *Format) placeBefore(rest string, quoted bool) place {
	switch {
	case f.name != "json" || quoted:
		return inText
	case strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), ":"):
		return asKey
	}
	return asValue
}

// nextMacro returns the text before the first macro, its name, and the text behind it.
func nextMacro(item string) (text, name, rest string) {
	for from := 0; ; {
		i := strings.IndexByte(item[from:], '%')
		if i < 0 {
			return item, "", ""
		}
		start := from + i
		if n := nameLength(item[start+1:]); n > 0 {
			return item[:start], item[start+1 : start+1+n], item[start+n+2:]
		}
		from = start + 1
	}
}

// nameLength returns the length of the name of a macro at the start of text, which ends with
// "%"; 0: no macro starts there. Names start with a letter or "_", so that "%20" is no macro.
func nameLength(text string) int {
	for i, c := range text {
		switch {
		case c == '%':
			return i
		case c == '_' || isLetter(c):
		case i > 0 && (c >= '0' && c <= '9' || strings.ContainsRune("-.:@", c)):
		default:
			return 0
		}
	}
	return 0
}

func isLetter(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// quotes follows the strings of a JSON text.
type quotes struct{ open, escaped bool }

func (q *quotes) readText(text string) {
	for i := range len(text) {
		switch c := text[i]; {
		case q.escaped:
			q.escaped = false
		case q.open && c == '\\':
			q.escaped = true
		case c == '"':
			q.open = !q.open
		}
	}
}
