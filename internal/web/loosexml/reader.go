package loosexml

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/xml"
)

// Limits of a document. The rest is ignored.
const (
	// MaxDepth bounds open elements. The text of deeper elements belongs to the last one
	// that fits.
	MaxDepth = 64
	// MaxAttrs bounds the attributes of one element.
	MaxAttrs = 64
	// maxName bounds a name in bytes; tags with a longer name are ignored.
	maxName = 256
	// maxLeadingTags bounds the tags before the root: some servers print warnings there.
	maxLeadingTags = 50
)

// Kind is the kind of a token.
type Kind int

// Kinds of tokens.
const (
	Start Kind = iota + 1
	End
	Text
)

// Attr is an attribute: its name as in the document, its value decoded.
type Attr struct{ Name, Value string }

// Token is one part of a document.
type Token struct {
	Kind  Kind
	Name  string // of a Start or End, as in the document, with prefix
	Attrs []Attr // of a Start; the first of equal names
	Text  string // of a Text, decoded; never empty
	CDATA bool   // of a Text: from a CDATA section
	Cut   bool   // of an End: the document ends before it
	// Depth is 1 for the tags of the root. A Text has the depth of its parent.
	Depth int
}

// Local is Local(t.Name).
func (t Token) Local() string { return Local(t.Name) }

// Local returns name without its prefix, in lower case.
func Local(name string) string {
	if _, local, ok := strings.Cut(name, ":"); ok {
		name = local
	}
	return strings.ToLower(name)
}

// Prefix returns the part of name before the colon, or "".
func Prefix(name string) string {
	return name[:max(strings.IndexByte(name, ':'), 0)]
}

// Reader reads the tokens of one document. Not safe for concurrent use.
type Reader struct {
	lexer *xml.Lexer
	alone []string
	open  []string // names of the open elements
	deep  int      // open elements below MaxDepth
	queue []Token  // for Next
	done  bool
}

// NewReader returns a reader of text, which is UTF-8 (see UTF8) and is not changed.
// Elements with a local name in alone (lower case) cannot nest: the second one closes the
// first.
func NewReader(text []byte, alone ...string) *Reader {
	return &Reader{lexer: xml.NewLexer(parse.NewInputBytes(prepareText(text))), alone: alone}
}

// prepareText returns a copy of text that the lexer can read: without NUL, which ends its
// input, and with escapes for each "<" that begins no markup.
func prepareText(text []byte) []byte {
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
			n = sectionLength(text, "]]>")
		case bytes.HasPrefix(text, []byte("<!--")):
			n = sectionLength(text, "-->")
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

// sectionLength returns the length of the section at the start of text, which end or the end of text
// closes.
func sectionLength(text []byte, end string) int {
	if i := bytes.Index(text, []byte(end)); i >= 0 {
		return i + len(end)
	}
	return len(text)
}

func beginsMarkup(c byte) bool {
	return c == '/' || c == '!' || c == '?' || c == '_' || c == ':' || c >= 0x80 ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// Next returns the next token, or false at the end. Every Start has its End, in the right
// order.
func (r *Reader) Next() (Token, bool) {
	for len(r.queue) == 0 {
		if r.done {
			return Token{}, false
		}
		r.readToken()
	}
	t := r.queue[0]
	r.queue = r.queue[1:]
	return t, true
}

// Root reads up to the first start tag that known accepts. It returns false without one, and
// for an HTML page.
func (r *Reader) Root(known func(Token) bool) (Token, bool) {
	for tags := 0; tags < maxLeadingTags; {
		t, ok := r.Next()
		switch {
		case !ok:
			return Token{}, false
		case t.Kind != Start:
		case known(t):
			return t, true
		case t.Local() == "html":
			return Token{}, false
		default:
			tags++
		}
	}
	return Token{}, false
}

// readToken handles one lexer token. The queue may stay empty.
func (r *Reader) readToken() {
	switch kind, data := r.lexer.Next(); kind {
	case xml.ErrorToken:
		first := len(r.queue)
		r.closeTo(0)
		for i := range r.queue[first:] {
			r.queue[first+i].Cut = true
		}
		r.done = true
	case xml.TextToken:
		r.queueText(decodeEntities(string(data)), false)
	case xml.CDATAToken:
		r.queueText(string(r.lexer.Text()), true)
	case xml.StartTagToken:
		name := Clean(string(r.lexer.Text()))
		attrs, void := r.readAttributes()
		r.openElement(name, attrs, void)
	case xml.EndTagToken:
		r.closeElement(strings.TrimSpace(Clean(string(r.lexer.Text()))))
	}
}

func (r *Reader) queueText(text string, cdata bool) {
	if text = Clean(text); text != "" {
		r.queue = append(r.queue, Token{Kind: Text, Text: text, CDATA: cdata, Depth: len(r.open)})
	}
}

// readAttributes reads to the end of a start tag; void says that it ends in "/>".
func (r *Reader) readAttributes() (attrs []Attr, void bool) {
	for {
		switch kind, _ := r.lexer.Next(); kind {
		case xml.AttributeToken:
			name := Clean(string(r.lexer.Text()))
			if len(attrs) < MaxAttrs && validName(name) && !hasAttr(attrs, name) {
				attrs = append(attrs, Attr{name, Clean(decodeEntities(stripQuotes(r.lexer.AttrVal())))})
			}
		default:
			return attrs, kind == xml.StartTagCloseVoidToken
		}
	}
}

func hasAttr(attrs []Attr, name string) bool {
	return slices.ContainsFunc(attrs, func(a Attr) bool { return a.Name == name })
}

func stripQuotes(value []byte) string {
	if len(value) > 0 && (value[0] == '"' || value[0] == '\'') {
		quote := value[0]
		value = value[1:]
		if n := len(value); n > 0 && value[n-1] == quote {
			value = value[:n-1]
		}
	}
	return string(value)
}

// validName reports whether a tag or attribute may have this name. XML itself is stricter.
func validName(name string) bool {
	return name != "" && len(name) <= maxName && beginsMarkup(name[0]) && !strings.ContainsAny(name, "<>&\"'/!?=")
}

func (r *Reader) openElement(name string, attrs []Attr, void bool) {
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

// closeElement closes the innermost element of that name and all inside it. Other end tags are
// ignored.
func (r *Reader) closeElement(name string) {
	if r.deep > 0 && r.openAlone(name) < 0 {
		r.deep--
		return
	}
	if i := r.findOpen(name); i >= 0 {
		r.closeTo(i)
	}
}

// openAlone returns the index of the open element of that name if it is in alone, else -1.
func (r *Reader) openAlone(name string) int {
	if !slices.Contains(r.alone, Local(name)) {
		return -1
	}
	return r.findOpen(name)
}

// findOpen returns the index of the innermost open element of that name, or -1.
func (r *Reader) findOpen(name string) int {
	for i, open := range slices.Backward(r.open) {
		if strings.EqualFold(open, name) {
			return i
		}
	}
	return -1
}

// closeTo closes open elements until n are left.
func (r *Reader) closeTo(n int) {
	r.deep = 0
	for len(r.open) > n {
		last := len(r.open) - 1
		r.queue = append(r.queue, Token{Kind: End, Name: r.open[last], Depth: last + 1})
		r.open = r.open[:last]
	}
}
