package links

import (
	"bytes"

	"golang.org/x/net/html"
)

// tokenizer splits a page in memory into tags and texts, without copying them. Its tokens are
// those of html.Tokenizer of golang.org/x/net, without comments and doctypes; a fuzz test
// compares the two. Its slices are valid until the next call.
//
//	z := tokenizer{page: []byte(`<a href="x">y</a>`)}
//	z.Next()              // html.StartTagToken
//	z.Name()              // "a"
//	key, value, ok := z.Attr() // "href", "x", true
type tokenizer struct {
	page  []byte
	cdata bool // "<![CDATA[" begins a text, as in XML

	end     int    // of the current token
	content string // name of the element whose content is one text; set by its start tag

	raw     []byte // the current token
	tag     []byte // name of the current tag as written
	attr    int    // start of the next attribute in raw
	literal bool   // the current text has no character references
	element bool   // the current text is the content of an element, or CDATA

	lower []byte // reused
}

// Next moves to the next start tag, end tag or text. html.ErrorToken is the end of the page,
// also inside a tag.
func (z *tokenizer) Next() html.TokenType {
	z.literal, z.element = false, false
	if name := z.content; name != "" {
		z.content = ""
		if n := contentEnd(z.page[z.end:], name); n > 0 {
			z.literal, z.element = name != "title" && name != "textarea", true
			return z.setText(n)
		}
	}
	for {
		rest := z.page[z.end:]
		n := textLength(rest)
		if n > 0 {
			return z.setText(n)
		}
		switch {
		case len(rest) == 0:
			return html.ErrorToken
		case isLetter(rest[1]):
			return z.startTag(rest)
		case rest[1] == '/' && len(rest) == 2:
			return z.setText(2)
		case rest[1] == '/' && isLetter(rest[2]):
			return z.endTag(rest)
		case z.cdata && bytes.HasPrefix(rest, cdataStart):
			z.element = true
			z.raw, rest, _ = bytes.Cut(rest[len(cdataStart):], []byte("]]>"))
			z.end = len(z.page) - len(rest)
			return html.TextToken
		default:
			z.end += commentEnd(rest)
		}
	}
}

// setText makes the next n bytes the current text.
func (z *tokenizer) setText(n int) html.TokenType {
	z.raw = z.page[z.end : z.end+n]
	z.end += n
	return html.TextToken
}

var cdataStart = []byte("<![CDATA[")

func (z *tokenizer) startTag(rest []byte) html.TokenType {
	if !z.readTag(rest, 1) {
		return html.ErrorToken
	}
	switch name := z.Name(); string(name) { // no allocation
	case "iframe", "noembed", "noframes", "noscript", "plaintext", "script", "style", "textarea", "title", "xmp":
		z.content = string(name)
	}
	return html.StartTagToken
}

func (z *tokenizer) endTag(rest []byte) html.TokenType {
	if !z.readTag(rest, 2) {
		return html.ErrorToken
	}
	return html.EndTagToken
}

// readTag makes the tag at the start of rest, whose name begins at from, the current token.
// It returns false if the page ends before the tag.
func (z *tokenizer) readTag(rest []byte, from int) bool {
	i := from
	for i < len(rest) && !isSpace(rest[i]) && rest[i] != '/' && rest[i] != '>' {
		i++
	}
	z.tag = rest[from:i]
	end := i
	for {
		end = skipSpace(rest, end)
		if end >= len(rest) {
			z.end = len(z.page)
			return false
		}
		if rest[end] == '>' {
			break
		}
		_, _, end = readAttribute(rest, end)
	}
	z.raw, z.attr = rest[:end+1], i
	z.end += end + 1
	return true
}

// readAttribute reads one attribute of a tag at b[i], which is neither a space nor '>'. next is
// where the tag goes on. The key is empty at a stray '/'.
func readAttribute(b []byte, i int) (key, value []byte, next int) {
	start := i
	for i < len(b) && !isSpace(b[i]) && b[i] != '/' && b[i] != '>' && (b[i] != '=' || i == start) {
		i++
	}
	key = b[start:i]
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '=' {
		if i < len(b) && b[i] == '/' {
			i++
		}
		return key, nil, i
	}
	i = skipSpace(b, i+1)
	if i >= len(b) || b[i] == '>' {
		return key, nil, i
	}
	if quote := b[i]; quote == '"' || quote == '\'' {
		i++
		n := bytes.IndexByte(b[i:], quote)
		if n < 0 {
			return key, b[i:], len(b)
		}
		return key, b[i : i+n], i + n + 1
	}
	start = i
	for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
		i++
	}
	return key, b[start:i], i
}

// Raw returns the bytes of the current token. Of CDATA it returns the content.
func (z *tokenizer) Raw() []byte { return z.raw }

// Name returns the name of the current tag in lower case.
func (z *tokenizer) Name() []byte { return z.lowerName(replaceNUL(z.tag)) }

// Attr returns the next attribute of the current start tag, or false. The key is in lower
// case. Attr returns attributes with equal keys too.
func (z *tokenizer) Attr() (key, value []byte, ok bool) {
	for {
		i := skipSpace(z.raw, z.attr)
		if i >= len(z.raw) || z.raw[i] == '>' {
			return nil, nil, false
		}
		key, value, z.attr = readAttribute(z.raw, i)
		if len(key) > 0 {
			return z.lowerName(replaceNUL(key)), unescapeValue(normaliseNewlines(replaceNUL(value))), true
		}
	}
}

// Text returns the current text.
func (z *tokenizer) Text() []byte {
	text := normaliseNewlines(z.raw)
	if z.element {
		text = replaceNUL(text)
	}
	if z.literal || bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}

// IgnoreContent makes the content of the current element ordinary markup.
func (z *tokenizer) IgnoreContent() { z.content = "" }

// lowerName returns name in lower case.
func (z *tokenizer) lowerName(name []byte) []byte {
	for i, c := range name {
		if c < 'A' || 'Z' < c {
			continue
		}
		z.lower = append(z.lower[:0], name...)
		for ; i < len(name); i++ {
			if c := name[i]; 'A' <= c && c <= 'Z' {
				z.lower[i] = c | 0x20
			}
		}
		return z.lower
	}
	return name
}

// textLength returns the length of the text before the next tag or comment.
func textLength(b []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 || i+n+1 >= len(b) {
			return len(b)
		}
		i += n
		if c := b[i+1]; isLetter(c) || c == '/' || c == '!' || c == '?' {
			return i
		}
	}
}

// commentEnd returns the length of the comment, doctype or instruction at the start of b.
func commentEnd(b []byte) int {
	if !bytes.HasPrefix(b, []byte("<!--")) {
		if end := bytes.IndexByte(b, '>'); end >= 0 {
			return end + 1
		}
		return len(b)
	}
	dashes, first := 0, true
	for i := 4; i < len(b); i++ {
		switch c := b[i]; {
		case c == '-':
			dashes++
			continue
		case c == '>' && (dashes >= 2 || first):
			return i + 1
		case c == '!' && dashes >= 2 && i+1 < len(b) && b[i+1] == '>':
			return i + 2
		}
		dashes, first = 0, false
	}
	return len(b)
}

// contentEnd returns the length of the content of an element whose content is one text.
func contentEnd(b []byte, name string) int {
	switch name {
	case "plaintext":
		return len(b)
	case "script":
		return scriptEnd(b)
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], '<')
		if n < 0 {
			return len(b)
		}
		if i += n; opensTag(b[i+1:], "/", name) {
			return i
		}
	}
}

// scriptEnd is contentEnd of a script: "<!--" hides end tags between "<script" and
// "</script" (HTML standard, 13.2.5.15 to 13.2.5.31).
func scriptEnd(b []byte) int {
	const (
		script = iota
		escaped
		doubleEscaped
	)
	state, dashes := script, 0
	for i := 0; i < len(b); i++ {
		if state == script {
			n := bytes.IndexByte(b[i:], '<')
			if n < 0 {
				return len(b)
			}
			i += n
			if opensTag(b[i+1:], "/", "script") {
				return i
			}
			if bytes.HasPrefix(b[i+1:], []byte("!--")) {
				state, dashes = escaped, 2
				i += len("!--")
			}
			continue
		}
		switch c := b[i]; {
		case c == '-':
			dashes++
			continue
		case c == '>' && dashes >= 2:
			state = script
		case c == '<' && state == doubleEscaped:
			if opensTag(b[i+1:], "/", "script") {
				state = escaped
				i += len("/script>")
			}
		case c == '<':
			switch rest := b[i+1:]; {
			case opensTag(rest, "/", "script"):
				return i
			case opensTag(rest, "", "script"):
				state = doubleEscaped
				i += len("script>")
			case len(rest) > 0 && rest[0] != '/' && !isLetter(rest[0]):
				state = script // as html.Tokenizer; the standard stays in escaped
			}
		}
		dashes = 0
	}
	return len(b)
}

// opensTag reports whether b starts with prefix and the tag name, in any case, and a character
// that ends a name.
func opensTag(b []byte, prefix, name string) bool {
	n := len(prefix) + len(name)
	return len(b) > n && string(b[:len(prefix)]) == prefix && (isSpace(b[n]) || b[n] == '/' || b[n] == '>') &&
		bytes.EqualFold(b[len(prefix):n], []byte(name))
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool  { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
