package template

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// void are the elements without an end tag.
var void = setOf("area base br col embed hr img input link meta param source track wbr")

// inline are the elements within a line; the texts around them belong together.
var inline = setOf("a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q s samp small span strike strong sub sup time tt u var wbr")

// hidden are the elements without text.
var hidden = setOf("script style template")

// rawText are the elements whose text has no character references.
var rawText = setOf("script style xmp iframe noembed noframes plaintext")

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// keepsElement reports whether an element is kept.
func (e *exclusion) keepsElement(n *html.Node) bool {
	if e == nil || n.Type != html.ElementNode {
		return true
	}
	if len(n.Attr) == 0 {
		return !e.include || e.bare
	}
	for _, a := range n.Attr {
		if e.any != nil && e.any.MatchString(a.Val) {
			return e.include
		}
		if re := e.named[a.Key]; re != nil && re.MatchString(a.Val) {
			return e.include
		}
	}
	return !e.include
}

// builder collects a value of at most room bytes.
type builder struct {
	strings.Builder
	room int
	full bool
}

func (b *builder) writeText(text string) {
	if b.full = b.full || b.Len()+len(text) > b.room; !b.full {
		b.WriteString(text)
	}
}

// texts writes the text of an element, with or without its tags.
type texts struct {
	builder
	options *Text
	exclude *exclusion
	inner   string // between texts; "": a space where an element other than inline begins or ends
	pre     bool   // inside of preformatted text
	any     bool   // a text was written
	apart   bool   // the next text needs a space before it
	raised  bool   // the next text is a superscript behind a digit
	last    rune   // the end of what was written
}

// writeChildren writes what is inside of n.
func (w *texts) writeChildren(n *html.Node) {
	for c := n.FirstChild; c != nil && !w.full; c = c.NextSibling {
		w.writeNode(c)
	}
}

func (w *texts) writeNode(n *html.Node) {
	switch n.Type {
	case html.TextNode:
		w.writeTextNode(n.Data)
	case html.ElementNode:
		if hidden[n.Data] || !w.exclude.keepsElement(n) {
			w.apart = w.apart || !inline[n.Data]
			return
		}
		outside := w.pre
		w.pre = outside || preformatted[n.Data]
		w.writeTag(n, n.Data)
		w.raised = n.Data == "sup" && unicode.IsDigit(w.last)
		w.writeChildren(n)
		w.pre, w.raised = outside, false
		if !void[n.Data] {
			w.writeTag(n, "/"+n.Data)
		}
	}
}

// preformatted are the elements whose white space is seen.
var preformatted = setOf("pre textarea listing xmp plaintext")

// isPreformatted reports whether a node is inside of such an element.
func isPreformatted(n *html.Node) bool {
	for ; n != nil; n = n.Parent {
		if preformatted[n.Data] {
			return true
		}
	}
	return false
}

// writeTag writes a start or end tag, or what replaces it.
func (w *texts) writeTag(n *html.Node, name string) {
	replacement, replaced := w.options.Markup[name]
	switch {
	case w.options.KeepTags && name[0] == '/':
		w.writeMark("<" + name + ">")
	case w.options.KeepTags:
		w.writeMark("<" + name + w.keptAttributes(n) + tagEnd(n, w.options.CloseVoid))
	case replaced && replacement != "":
		w.writeMark(withAttributes(replacement, w.keptAttributes(n)))
	default:
		w.apart = w.apart || !inline[n.Data]
	}
}

// writeMark writes a tag.
func (w *texts) writeMark(text string) {
	w.writeText(text)
	w.apart = false
	if r, size := utf8.DecodeLastRuneInString(text); size > 0 {
		w.last = r
	}
}

// tagEnd is the end of a start tag.
func tagEnd(n *html.Node, mode int) string {
	if void[n.Data] && (mode == closeAlways || mode == closeAsInPage && hasAttr(n, closedMark)) {
		return "/>"
	}
	return ">"
}

// keptAttributes returns the attributes of an element that are kept, each after a space.
func (w *texts) keptAttributes(n *html.Node) string {
	names := w.options.Keep[n.Data]
	if len(names) == 0 {
		return ""
	}
	var b strings.Builder
	for _, a := range n.Attr {
		if names[a.Key] || names["*"] && a.Key != closedMark {
			fmt.Fprintf(&b, ` %s="%s"`, a.Key, escapedAttr.Replace(a.Val))
		}
	}
	return b.String()
}

const attributesMacro = "%ATTRIBUTES%"

// withAttributes replaces the macro of attributes, with one space before them.
func withAttributes(text, attributes string) string {
	if !strings.Contains(text, attributesMacro) {
		return text
	}
	text = strings.ReplaceAll(text, " "+attributesMacro, attributesMacro)
	return strings.ReplaceAll(text, attributesMacro, attributes)
}

// writeTextNode writes a text node. Where tags are kept, it is that of the page, but what looks like a tag
// does not become one; elsewhere it is what people see.
func (w *texts) writeTextNode(text string) {
	if !w.options.KeepTags {
		text = w.visibleText(text)
	}
	if w.inner != "" {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if w.any {
			w.writeText(w.inner)
		}
	} else if w.apart && w.any && text != "" {
		first, _ := utf8.DecodeRuneInString(text)
		if !unicode.IsSpace(first) && !unicode.IsSpace(w.last) {
			w.writeText(" ")
		}
	}
	if text == "" {
		return
	}
	w.any, w.apart, w.raised = true, false, false
	w.last, _ = utf8.DecodeLastRuneInString(text)
	if w.options.KeepTags {
		text = notATag(text)
	}
	w.writeText(text)
}

// visibleText returns a text as a browser shows it: one space for white space outside of preformatted
// text, no invisible characters, and a sign before an exponent, without which 10 to the power of 6
// would be 106.
func (w *texts) visibleText(text string) string {
	text = invisible.Replace(text)
	if !w.pre {
		text = w.collapseSpace(text)
	}
	if w.raised && exponent.MatchString(text) {
		text = "^" + text
	}
	return text
}

var (
	// invisible are soft hyphens, zero-width spaces, word joiners and byte order marks.
	invisible = strings.NewReplacer("\u00AD", "", "\u200B", "", "\u2060", "", "\uFEFF", "", "\u00A0", " ")
	exponent  = regexp.MustCompile(`^[+−-]?\d`)
)

// collapseSpace makes one space of white space, and none behind a space.
func (w *texts) collapseSpace(text string) string {
	var b strings.Builder
	space := w.any && unicode.IsSpace(w.last)
	for _, r := range text {
		switch r {
		case '\t', '\n', '\r', '\f':
			r = ' '
		}
		if r != ' ' || !space {
			b.WriteRune(r)
		}
		space = r == ' '
	}
	return b.String()
}

// notATag escapes each "<" that a parser would read as a tag.
func notATag(text string) string {
	at := strings.IndexByte(text, '<')
	if at < 0 {
		return text
	}
	var b strings.Builder
	for ; at >= 0; at = strings.IndexByte(text, '<') {
		b.WriteString(text[:at])
		text = text[at+1:]
		if text != "" && (text[0]|0x20 >= 'a' && text[0]|0x20 <= 'z' || strings.IndexByte("/!?", text[0]) >= 0) {
			b.WriteString("&lt;")
		} else {
			b.WriteByte('<')
		}
	}
	return b.String() + text
}

// source writes elements as HTML, without comments.
type source struct {
	builder
	flags   htmlFlags
	void    int
	exclude *exclusion
}

var (
	escapedText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapedAttr = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")
)

func (w *source) writeNode(n *html.Node) {
	switch {
	case w.full:
	case n.Type == html.TextNode && n.Parent != nil && rawText[n.Parent.Data]:
		w.writeText(n.Data)
	case n.Type == html.TextNode:
		w.writeText(w.encodeText(escapedText.Replace(n.Data)))
	case n.Type == html.DocumentNode:
		w.writeChildren(n)
	case n.Type == html.ElementNode && w.keepsNode(n):
		w.writeElement(n)
	}
}

func (w *source) writeChildren(n *html.Node) {
	for c := n.FirstChild; c != nil && !w.full; c = c.NextSibling {
		w.writeNode(c)
	}
}

func (w *source) keepsNode(n *html.Node) bool {
	if w.flags.noScript && n.Data == "script" || w.flags.noMeta && n.Data == "meta" {
		return false
	}
	return w.exclude.keepsElement(n)
}

func (w *source) writeElement(n *html.Node) {
	w.writeText("<" + n.Data)
	for _, a := range n.Attr {
		if a.Key == closedMark || w.flags.noScript && isScript(a) {
			continue
		}
		name := a.Key
		if a.Namespace != "" {
			name = a.Namespace + ":" + name
		}
		w.writeText(" " + name + `="` + w.encodeText(escapedAttr.Replace(a.Val)) + `"`)
	}
	w.writeText(tagEnd(n, w.void))
	w.writeChildren(n)
	if !void[n.Data] {
		w.writeText("</" + n.Data + ">")
	}
}

// isScript reports whether an attribute runs a script.
func isScript(a html.Attribute) bool {
	value := strings.Map(func(r rune) rune {
		if r <= ' ' {
			return -1
		}
		return r
	}, a.Val)
	return strings.HasPrefix(a.Key, "on") || len(value) >= 11 && strings.EqualFold(value[:11], "javascript:")
}

// encodeText writes characters outside of ASCII as references, if the rule asks for that.
func (w *source) encodeText(text string) string {
	if !w.flags.encoded {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String()
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

// attrValue returns an attribute of an element, and whether it has the attribute.
func attrValue(n *html.Node, name string) (string, bool) {
	if n == nil {
		return "", false
	}
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}
