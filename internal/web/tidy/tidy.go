package tidy

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/net/html"
)

const (
	// MaxDepth bounds nested elements in the result of Tidy. Deeper tags are dropped, their
	// content stays. Parsers reject 512 levels.
	MaxDepth = 256

	maxName       = 64 // bytes of the name of an element or attribute
	maxAttributes = 256
	growthRatio   = 2
	growthFree    = 64 << 10
)

var (
	// ErrSize: the result would exceed twice the input plus 64 KiB.
	ErrSize = errors.New("tidied text is too large")
	// ErrEmpty: the text has no visible content.
	ErrEmpty = errors.New("no visible content in the body")
	// ErrDeep: elements are nested deeper than MaxDepth.
	ErrDeep = errors.New("elements are nested too deep")
)

// Tidy returns text as well-formed HTML in UTF-8. Invalid UTF-8 becomes U+FFFD, control
// characters are dropped. Well-formed text only changes in the form of its tags. The only
// error is ErrSize.
func Tidy(text []byte) ([]byte, error) {
	w := newWriter(text)
	if err := w.writeDocument(); err != nil {
		return nil, err
	}
	return w.out.Bytes(), nil
}

// Check returns nil if a parser would find a page in text, else ErrEmpty, ErrDeep or
// ErrSize. It decides "parsing failed" for HTML_RECOVER=2.
func Check(text []byte) error {
	w := newWriter(text)
	switch err := w.writeDocument(); {
	case err != nil:
		return err
	case w.deep:
		return ErrDeep
	case !w.seen:
		return ErrEmpty
	}
	return nil
}

// phase is the progress through a document.
type phase int

const (
	beginning phase = iota
	inHead
	afterHead
	inBody
)

// element is an open element.
type element struct {
	name  string
	bit   mask // of bits
	above mask // its bit and those of the elements around it
}

// writer writes the elements of one text.
type writer struct {
	z     *html.Tokenizer
	out   bytes.Buffer
	limit int

	phase   phase
	open    []element      // open elements, outermost first
	skipped map[string]int // elements beyond MaxDepth whose end tags follow
	foreign int            // open SVG and MathML elements

	deep bool // an element exceeded MaxDepth
	seen bool // there is visible content
}

func newWriter(text []byte) *writer {
	text = bytes.ToValidUTF8(bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF")), []byte("\uFFFD"))
	return &writer{
		z:       html.NewTokenizer(bytes.NewReader(text)),
		limit:   growthRatio*len(text) + growthFree,
		skipped: make(map[string]int),
	}
}

func (w *writer) writeDocument() error {
	for {
		switch w.z.Next() {
		case html.ErrorToken: // the end: nothing else can fail in memory
			w.enterPhase(inBody, nil)
			w.popTo(0)
			return w.checkSize()
		case html.TextToken:
			w.writeText(w.z.Text())
		case html.StartTagToken:
			w.handleStartTag(false)
		case html.SelfClosingTagToken:
			w.handleStartTag(true)
		case html.EndTagToken:
			name, _ := w.z.TagName()
			w.handleEndTag(string(name))
		case html.CommentToken:
			w.writeComment(w.z.Text())
		case html.DoctypeToken:
			if w.phase == beginning && w.out.Len() == 0 {
				w.out.WriteString("<!DOCTYPE html>\n")
			}
		}
		if err := w.checkSize(); err != nil {
			return err
		}
	}
}

func (w *writer) checkSize() error {
	if w.out.Len() > w.limit {
		return ErrSize
	}
	return nil
}

// enterPhase advances to a phase and opens its element with attributes.
func (w *writer) enterPhase(to phase, attributes []byte) {
	if w.phase == beginning && to > beginning {
		w.pushElement("html", nil)
		w.phase = inHead
		if to == inHead {
			w.pushElement("head", attributes)
			return
		}
		w.pushElement("head", nil)
	}
	if w.phase == inHead && to > inHead {
		w.popTo(1)
		w.phase = afterHead
	}
	if w.phase == afterHead && to == inBody {
		w.pushElement("body", attributes)
		w.phase = inBody
	}
}

// writeText writes character data.
func (w *writer) writeText(text []byte) {
	blank := len(bytes.TrimLeft(text, " \t\r\n\f")) == 0
	if blank && (w.phase == beginning || w.phase == afterHead) {
		return
	}
	if !blank {
		if w.phase != inBody {
			w.enterPhase(inBody, nil)
		}
		w.seen = true
	}
	w.writeEscaped(text)
}

// writeComment writes a comment if it is valid in HTML and XML.
func (w *writer) writeComment(text []byte) {
	if w.phase == beginning || bytes.Contains(text, []byte("--")) || bytes.HasPrefix(text, []byte(">")) ||
		bytes.HasPrefix(text, []byte("-")) || bytes.HasSuffix(text, []byte("-")) || bytes.ContainsFunc(text, isControl) ||
		bytes.Contains(text, []byte("<!")) {
		return
	}
	w.out.WriteString("<!--")
	w.out.Write(text)
	w.out.WriteString("-->")
}

// handleStartTag handles a start tag.
func (w *writer) handleStartTag(closed bool) {
	raw, more := w.z.TagName()
	name := string(raw)
	if !validName(name) {
		return
	}
	attributes := w.readAttributes(more)
	switch {
	case name == "html":
		if w.phase == beginning {
			w.pushElement("html", attributes)
			w.phase = inHead
			w.pushElement("head", nil)
		}
		return
	case name == "head":
		if w.phase == beginning {
			w.enterPhase(inHead, attributes)
		}
		return
	case name == "body":
		w.enterPhase(inBody, attributes)
		return
	case w.phase <= inHead && headElements[name]:
		w.enterPhase(inHead, nil)
	default:
		w.enterPhase(inBody, nil)
	}
	w.seen = w.seen || w.phase == inBody && visible[name]
	if w.foreign == 0 {
		w.closeFor(name)
	}
	switch {
	case void[name] && w.foreign == 0, closed && w.foreign > 0:
		w.writeTag(name, attributes, "/>")
	case rawText[name]:
		w.rawElement(name, attributes)
	case name == "plaintext": // the rest is text for the tokenizer
	case len(w.open) >= MaxDepth:
		w.deep = true
		w.skipped[name]++
	default:
		w.pushElement(name, attributes)
	}
}

// rawElement writes an element with raw text content. It drops an unclosed one, which would
// hide the rest, and markup inside SVG, where parsers disagree.
func (w *writer) rawElement(name string, attributes []byte) {
	kind := w.z.Next()
	var text []byte
	if kind == html.TextToken {
		text = bytes.Clone(w.z.Text())
		kind = w.z.Next()
	}
	escaped := name == "title" || name == "textarea"
	switch {
	case escaped:
		w.writeTag(name, attributes, ">")
		w.writeEscaped(text)
		w.out.WriteString("</" + name + ">")
	case kind != html.EndTagToken:
	case w.foreign > 0 && bytes.ContainsAny(text, "<&"):
	default:
		w.writeTag(name, attributes, ">")
		w.out.Write(text)
		w.out.WriteString("</" + name + ">")
	}
}

// handleEndTag closes an element and those inside it. It ignores an end tag without a start tag.
func (w *writer) handleEndTag(name string) {
	switch {
	case name == "br":
		w.enterPhase(inBody, nil)
		w.writeTag("br", nil, "/>")
		return
	case name == "head":
		if w.phase == inHead {
			w.enterPhase(afterHead, nil)
		}
		return
	case name == "html" || name == "body":
		return // closed at the end of the document
	case w.skipped[name] > 0:
		w.skipped[name]--
		return
	}
	walls := inlineWalls
	if tableParts[name] {
		walls = tableWalls
	}
	for i := len(w.open) - 1; i >= 0; i-- {
		if w.open[i].name == name {
			w.popTo(i)
			return
		}
		if walls&w.open[i].bit != 0 {
			return
		}
	}
}

// closeFor closes the elements that the start of name closes implicitly.
func (w *writer) closeFor(name string) {
	rule, ok := implied[name]
	if !ok {
		return
	}
	outermost := -1
	for i := len(w.open) - 1; i >= 0 && rule.walls&w.open[i].bit == 0 && rule.ends&w.open[i].above != 0; i-- {
		if rule.ends&w.open[i].bit != 0 {
			outermost = i
		}
	}
	if outermost >= 0 {
		w.popTo(outermost)
	}
}

func (w *writer) pushElement(name string, attributes []byte) {
	w.writeTag(name, attributes, ">")
	e := element{name: name, bit: bits[name], above: bits[name]}
	if n := len(w.open); n > 0 {
		e.above |= w.open[n-1].above
	}
	w.open = append(w.open, e)
	if name == "svg" || name == "math" {
		w.foreign++
	}
}

// popTo closes open elements until n are left.
func (w *writer) popTo(n int) {
	for len(w.open) > n {
		name := w.open[len(w.open)-1].name
		w.open = w.open[:len(w.open)-1]
		if name == "svg" || name == "math" {
			w.foreign--
		}
		w.out.WriteString("</" + name + ">")
	}
}

func (w *writer) writeTag(name string, attributes []byte, end string) {
	w.out.WriteByte('<')
	w.out.WriteString(name)
	w.out.Write(attributes)
	w.out.WriteString(end)
}

// readAttributes returns the attributes of the current tag as text, each after a space; the
// first of equal names.
func (w *writer) readAttributes(more bool) []byte {
	if !more {
		return nil
	}
	outer := w.out // escape writes to out
	w.out = bytes.Buffer{}
	seen := make(map[string]bool)
	for more && len(seen) < maxAttributes {
		var key, value []byte
		key, value, more = w.z.TagAttr()
		name := string(key)
		if !validName(name) || seen[name] {
			continue
		}
		seen[name] = true
		w.out.WriteString(" " + name + `="`)
		w.writeEscaped(value)
		w.out.WriteByte('"')
	}
	attributes := w.out.Bytes()
	w.out = outer
	return attributes
}

// writeEscaped writes text with special characters escaped.
func (w *writer) writeEscaped(text []byte) {
	last := 0
	for i, c := range text {
		var as string
		switch {
		case c == '&':
			as = "&amp;"
		case c == '<':
			as = "&lt;"
		case c == '>':
			as = "&gt;"
		case c == '"':
			as = "&quot;"
		case c == '\r':
			as = "\n" // from a character reference
		case c == '\f':
			as = " " // invalid in XML
		case !isControl(rune(c)):
			continue
		}
		w.out.Write(text[last:i])
		w.out.WriteString(as)
		last = i + 1
	}
	w.out.Write(text[last:])
}

// isControl reports whether r is invalid in a document.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\n' && r != '\f' && r != '\r' || r == 0x7f
}

// validName reports whether name is a valid element or attribute name in HTML and XML.
func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || c == '_'
		if !letter && (i == 0 || !('0' <= c && c <= '9' || strings.IndexByte("-.:", c) >= 0)) {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}
