package writer

import (
	"bytes"
	"strconv"

	"hce/dc/internal/web/htmltree"
)

// AppendHTML appends the chosen lines as HTML: headings, paragraphs, lists, quotes, tables, code with its language,
// links, images and emphasis, without classes and styles. Links are absolute.
func (w *Writer) AppendHTML(dst []byte) []byte {
	w.html = htmlSink{dst: dst, base: w.base}
	w.writeLines(&w.html)
	return w.html.dst
}

// htmlSink is the sink that writes HTML.
type htmlSink struct {
	dst   []byte
	base  *Base
	bare  bool // the next paragraph is the first of its item and needs no p
	inP   bool
	label bool
}

func (h *htmlSink) writeTag(name string) { h.dst = append(append(append(h.dst, '<'), name...), '>') }
func (h *htmlSink) writeEndTag(name string) {
	h.dst = append(append(append(h.dst, "</"...), name...), '>')
}
func (h *htmlSink) lineEnd(name string) { h.writeEndTag(name); h.dst = append(h.dst, '\n') }
func (h *htmlSink) writeBlank(spaced bool) {
	if spaced {
		h.dst = append(h.dst, ' ')
	}
}
func (h *htmlSink) writeMark(s string)    { h.dst = append(h.dst, s...) }
func (h *htmlSink) lineBreak()            { h.writeTag("br") }
func (h *htmlSink) writeRule()            { h.dst = append(h.dst, "<hr>\n"...) }
func (h *htmlSink) openTable(columns int) { h.bare = false; h.dst = append(h.dst, "<table>\n"...) }
func (h *htmlSink) closeTable()           { h.lineEnd("table") }
func (h *htmlSink) openRow()              { h.writeTag("tr") }
func (h *htmlSink) closeRow()             { h.lineEnd("tr") }

func (h *htmlSink) openContainer(c *container) {
	h.bare = c.kind == item
	switch {
	case c.kind == item:
		h.writeTag("li")
	case c.kind == quote:
		h.dst = append(h.dst, "<blockquote>\n"...)
	case !c.ordered:
		h.dst = append(h.dst, "<ul>\n"...)
	case c.number == 1:
		h.dst = append(h.dst, "<ol>\n"...)
	default:
		h.dst = strconv.AppendInt(append(h.dst, `<ol start="`...), int64(c.number), 10)
		h.dst = append(h.dst, "\">\n"...)
	}
}

func (h *htmlSink) closeContainer(c *container) {
	h.bare = false
	switch {
	case c.kind == item:
		h.lineEnd("li")
	case c.kind == quote:
		h.lineEnd("blockquote")
	case c.ordered:
		h.lineEnd("ol")
	default:
		h.lineEnd("ul")
	}
}

var headings = [...]string{"p", "h1", "h2", "h3", "h4", "h5", "h6"}

func (h *htmlSink) openBlock(b block) {
	if h.inP = b.level > 0 || !h.bare; h.inP {
		h.writeTag(headings[b.level])
	}
	h.bare = false
	if h.label = b.label; h.label {
		h.writeTag("strong")
	}
}

func (h *htmlSink) closeBlock(b block) {
	if h.label {
		h.writeEndTag("strong")
	}
	if h.inP {
		h.lineEnd(headings[b.level])
	}
	h.label = false
}

func (h *htmlSink) writeListing(language, code []byte) {
	h.bare = false
	h.dst = append(h.dst, "<pre><code"...)
	if len(language) > 0 {
		h.dst = append(append(append(h.dst, ` class="language-`...), language...), '"')
	}
	h.dst = append(h.dst, '>')
	h.writeEscaped(code)
	h.dst = append(h.dst, "</code></pre>\n"...)
}

func (h *htmlSink) openCell(head bool, span int) {
	h.dst = append(h.dst, '<')
	h.dst = append(h.dst, cellName(head)...)
	if span > 1 {
		h.dst = strconv.AppendInt(append(h.dst, ` colspan="`...), int64(span), 10)
		h.dst = append(h.dst, '"')
	}
	h.dst = append(h.dst, '>')
}

func cellName(head bool) string {
	if head {
		return "th"
	}
	return "td"
}

func (h *htmlSink) closeCell(head bool, span int) { h.writeEndTag(cellName(head)) }

func (h *htmlSink) cellCode(line []byte) {
	h.writeTag("code")
	h.writeEscaped(line)
	h.writeEndTag("code")
}

var spanNames = [...]string{spanEm: "em", spanStrong: "strong", spanCode: "code", spanDel: "del", spanSup: "sup", spanSub: "sub", spanLink: "a"}

func (h *htmlSink) openSpan(s *span, next []byte) {
	if s.kind != spanLink {
		h.writeTag(spanNames[s.kind])
		return
	}
	h.dst = append(h.dst, `<a href="`...)
	h.writeURL(s.href)
	h.dst = append(h.dst, `">`...)
}

func (h *htmlSink) closeSpan(s *span) { h.writeEndTag(spanNames[s.kind]) }

// writeURL writes the absolute form of a reference.
func (h *htmlSink) writeURL(ref []byte) {
	from := len(h.dst)
	x, ok := h.base.Append(h.dst, ref, true)
	if !ok {
		h.writeEscaped(bytes.TrimSpace(ref))
		return
	}
	address := append([]byte{}, x[from:]...)
	h.dst = x[:from]
	h.writeEscaped(address)
}

func (h *htmlSink) writeWord(s []byte, next byte, spaced bool) {
	h.writeBlank(spaced)
	h.writeEscaped(s)
}

func (h *htmlSink) writeFormula(tex []byte, display, spaced bool) {
	h.writeBlank(spaced)
	if display {
		h.dst = append(h.dst, `\[`...)
		h.writeEscaped(tex)
		h.dst = append(h.dst, `\]`...)
		return
	}
	h.dst = append(h.dst, `\(`...)
	h.writeEscaped(tex)
	h.dst = append(h.dst, `\)`...)
}

func (h *htmlSink) writeImage(src, alt []byte, alone bool) {
	if !isFollowed(src) || htmltree.HasPrefix(src, "#") {
		return
	}
	if alone {
		h.writeTag("p")
	} else if n := len(h.dst); n > 0 && h.dst[n-1] != '>' {
		h.dst = append(h.dst, ' ')
	}
	h.dst = append(h.dst, `<img src="`...)
	h.writeURL(src)
	h.dst = append(h.dst, `" alt="`...)
	h.writeEscaped(alt)
	h.dst = append(h.dst, `">`...)
	if alone {
		h.lineEnd("p")
	}
}

// writeEscaped writes a text or the value of an attribute.
func (h *htmlSink) writeEscaped(s []byte) {
	from := 0
	for i, c := range s {
		var name string
		switch c {
		case '&':
			name = "&amp;"
		case '<':
			name = "&lt;"
		case '>':
			name = "&gt;"
		case '"':
			name = "&quot;"
		default:
			continue
		}
		h.dst = append(append(h.dst, s[from:i]...), name...)
		from = i + 1
	}
	h.dst = append(h.dst, s[from:]...)
}
