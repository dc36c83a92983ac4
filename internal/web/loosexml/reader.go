package loosexml

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/xml"
)

// Limits of a document. What lies beyond them is passed over.
const (
	// MaxDepth is how many elements may be open. The text of deeper ones
	// counts as text of the last that fits.
	MaxDepth = 64
	// MaxAttrs is how many attributes of one element are read.
	MaxAttrs = 64
	// maxName is the greatest length of a name in bytes; the tags of a longer
	// one are dropped.
	maxName = 256
)

// Kind is what a token is.
type Kind int

// The kinds of tokens.
const (
	Start Kind = iota + 1
	End
	Text
)

// Attr is one attribute, its name as in the document, its value decoded.
type Attr struct{ Name, Value string }

// Token is one part of a document.
type Token struct {
	Kind  Kind
	Name  string // of a Start or End, as in the document, prefix included
	Attrs []Attr // of a Start; of equal names the first counts
	Text  string // of a Text, decoded; never empty
	CDATA bool   // of a Text: it stood in a CDATA section
	Cut   bool   // of an End: the document broke off before it
	// Depth is 1 for the tags of the root. A Text has the depth of its parent.
	Depth int
}

// Local is the name without its prefix, in lower case.
func (t Token) Local() string { return Local(t.Name) }

// Local is the part of name behind the prefix, in lower case.
func Local(name string) string {
	if _, local, ok := strings.Cut(name, ":"); ok {
		name = local
	}
	return strings.ToLower(name)
}

// Prefix is the part of name before the colon, "" when there is none.
func Prefix(name string) string {
	prefix, _, ok := strings.Cut(name, ":")
	if !ok {
		return ""
	}
	return prefix
}

// Reader gives the tokens of one document. It is for one goroutine.
type Reader struct {
	lexer *xml.Lexer
	alone []string
	open  []string // names of the open elements
	deep  int      // open elements below MaxDepth, which nobody hears of
	queue []Token  // ready to be handed out
	done  bool
}

// NewReader returns a reader of text, which is UTF-8 (see UTF8) and is not
// changed. Elements whose local names, in lower case, are among alone never
// stand within another of the same name: the second closes the first.
func NewReader(text []byte, alone ...string) *Reader {
	return &Reader{lexer: xml.NewLexer(parse.NewInputBytes(prepare(text))), alone: alone}
}

// prepare returns a copy of text that the lexer can read to its end: without
// NUL, which would be that end, and with each "<" that begins no markup escaped.
func prepare(text []byte) []byte {
	clean := make([]byte, 0, len(text)+1) // the lexer adds a byte
	for len(text) > 0 {
		n := bytes.IndexByte(text, '<')
		if n < 0 {
			n = len(text)
		}
		clean = append(clean, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		switch {
		case bytes.HasPrefix(text, []byte("<![CDATA[")):
			n = span(text, "]]>")
		case bytes.HasPrefix(text, []byte("<!--")):
			n = span(text, "-->")
		case len(text) > 1 && beginsMarkup(text[1]):
			n = 1
		default:
			clean = append(clean, "&lt;"...)
			text = text[1:]
			continue
		}
		clean = append(clean, text[:n]...)
		text = text[n:]
	}
	return bytes.ReplaceAll(clean, []byte{0}, nil)
}

// span is the length of the section that text begins with and end closes, all
// of text when nothing does.
func span(text []byte, end string) int {
	if i := bytes.Index(text, []byte(end)); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

func beginsMarkup(c byte) bool {
	return c == '/' || c == '!' || c == '?' || c == '_' || c == ':' || c >= 0x80 ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Next returns the next token, and false at the end. Every Start has its End,
// in the right order.
func (r *Reader) Next() (Token, bool) {
	for len(r.queue) == 0 {
		if r.done {
			return Token{}, false
		}
		r.read()
	}
	t := r.queue[0]
	r.queue = r.queue[1:]
	return t, true
}

// read takes one part of the text; the queue may stay empty.
func (r *Reader) read() {
	switch kind, data := r.lexer.Next(); kind {
	case xml.ErrorToken:
		first := len(r.queue)
		r.closeTo(0)
		for i := range r.queue[first:] {
			r.queue[first+i].Cut = true
		}
		r.done = true
	case xml.TextToken:
		r.text(unescape(string(data)), false)
	case xml.CDATAToken:
		r.text(string(r.lexer.Text()), true)
	case xml.StartTagToken:
		name := Clean(string(r.lexer.Text()))
		attrs, void := r.attributes()
		r.start(name, attrs, void)
	case xml.EndTagToken:
		r.end(strings.TrimSpace(Clean(string(r.lexer.Text()))))
	}
}

func (r *Reader) text(text string, cdata bool) {
	if text = Clean(text); text != "" {
		r.queue = append(r.queue, Token{Kind: Text, Text: text, CDATA: cdata, Depth: len(r.open)})
	}
}

// attributes reads up to the end of a start tag; void says that it ends in "/>".
func (r *Reader) attributes() (attrs []Attr, void bool) {
	for {
		switch kind, _ := r.lexer.Next(); kind {
		case xml.AttributeToken:
			name := Clean(string(r.lexer.Text()))
			if len(attrs) < MaxAttrs && validName(name) && !hasAttr(attrs, name) {
				attrs = append(attrs, Attr{name, Clean(unescape(unquote(r.lexer.AttrVal())))})
			}
		default:
			return attrs, kind == xml.StartTagCloseVoidToken
		}
	}
}

func hasAttr(attrs []Attr, name string) bool {
	return slices.ContainsFunc(attrs, func(a Attr) bool { return a.Name == name })
}

func unquote(value []byte) string {
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		quote := value[0]
		value = value[1:]
		if n := len(value); n > 0 && value[n-1] == quote {
			value = value[:n-1]
		}
	}
	return string(value)
}

// validName reports whether a tag or attribute can be named so. It is looser
// than XML, which few generators of broken XML keep to.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && beginsMarkup(name[0]) && !strings.ContainsAny(name, "<>&\"'/!?=")
}

func (r *Reader) start(name string, attrs []Attr, void bool) {
	if !validName(name) {
		return
	}
	if i := r.openAlone(name); i >= 0 {
		r.closeTo(i)
	}
	if len(r.open) == MaxDepth {
		if !void {
			r.deep++
		}
		return
	}
	r.open = append(r.open, name)
	r.queue = append(r.queue, Token{Kind: Start, Name: name, Attrs: attrs, Depth: len(r.open)})
	if void {
		r.closeTo(len(r.open) - 1)
	}
}

// end closes the innermost element of that name and all within it. An end tag
// that fits none is passed over.
func (r *Reader) end(name string) {
	if r.deep > 0 && r.openAlone(name) < 0 {
		r.deep--
		return
	}
	if i := r.find(name); i >= 0 {
		r.closeTo(i)
	}
}

// openAlone is the index of the open element of that name, if it is one that
// stands alone; else -1.
func (r *Reader) openAlone(name string) int {
	if !slices.Contains(r.alone, Local(name)) {
		return -1
	}
	return r.find(name)
}

// find is the index of the innermost open element of that name; else -1.
func (r *Reader) find(name string) int {
	for i, open := range slices.Backward(r.open) {
		if strings.EqualFold(open, name) {
			return i
		}
	}
	return -1
}

// closeTo ends open elements until n are left.
func (r *Reader) closeTo(n int) {
	r.deep = 0
	for len(r.open) > n {
		last := len(r.open) - 1
		r.queue = append(r.queue, Token{Kind: End, Name: r.open[last], Depth: last + 1})
		r.open = r.open[:last]
	}
}
