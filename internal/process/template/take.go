package template

import (
	"cmp"
	"net/url"
	"strings"

	"golang.org/x/net/html"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/xpath"
)

// matchValues returns the values of one match, by the type of the rule (docs/spec/processing.md 3.3).
func (x *run) matchValues(r *rule, m xpath.Match) []string {
	if m.Attr == "" && m.Node != nil && !r.exclude.keepsElement(m.Node) {
		return nil
	}
	switch r.kind {
	case typeHTML:
		return nonBlank(x.outerHTML(r, m))
	case typeDatetime:
		return nonBlank(x.dateText(r, m))
	case typeImage:
		return nonBlank(x.imagePart(r, m))
	case typeLink:
		return x.linkValues(r, m)
	case typeAttribute:
		value := m.Text
		if m.Attr == "" && m.Node != nil {
			value, _ = attrValue(m.Node, r.format.name)
		}
		return nonBlank(value)
	}
	return nonBlank(x.innerText(r, m, x.o.Text))
}

// nonBlank returns a value without outer spaces, or nothing if it is blank.
func nonBlank(value string) []string {
	if value = strings.TrimSpace(value); value == "" {
		return nil
	}
	return []string{value}
}

// plain is the options of texts without tags.
var plain = &Text{}

// innerText returns the inner text of a match.
func (x *run) innerText(r *rule, m xpath.Match, o *Text) string {
	if m.Node == nil || m.Attr != "" {
		return m.Text
	}
	w := &texts{options: o, exclude: r.exclude, inner: cmp.Or(r.inner, o.Inner), pre: isPreformatted(m.Node)}
	w.room = x.room
	switch {
	case m.Node.Type == html.TextNode:
		w.writeTextNode(m.Node.Data)
	case m.Node.Type == html.CommentNode:
		return m.Node.Data
	case !hidden[m.Node.Data]:
		w.writeChildren(m.Node)
	}
	x.recordOverflow(&w.builder)
	return w.String()
}

// outerHTML returns the outer HTML of a match.
func (x *run) outerHTML(r *rule, m xpath.Match) string {
	if m.Node == nil || m.Attr != "" {
		return m.Text
	}
	w := &source{flags: r.format.html, void: x.o.Text.CloseVoid, exclude: r.exclude}
	w.room = x.room
	w.writeNode(m.Node)
	x.recordOverflow(&w.builder)
	return w.String()
}

// recordOverflow notes that a value did not fit.
func (x *run) recordOverflow(b *builder) {
	if b.full {
		x.room = 0
	}
}

// dateText returns the text of a date.
func (x *run) dateText(r *rule, m xpath.Match) string {
	if m.Node != nil && m.Attr == "" {
		if value, ok := attrValue(m.Node, "content"); ok && m.Node.Data == "meta" {
			return value
		}
		if value, ok := attrValue(m.Node, "datetime"); ok && strings.TrimSpace(value) != "" {
			return value
		}
	}
	return x.innerText(r, m, plain)
}

// isoDate and isoZoned are the formats "" and FULL.
const (
	isoDate  = "2006-01-02 15:04:05"
	isoZoned = "2006-01-02 15:04:05-07:00"
)

// writeDate writes a date in the format of the rule. It returns false for a text that is no date.
func (x *run) writeDate(r *rule, text string) (string, bool) {
	t, zoned, ok := x.o.Date(text)
	if !ok {
		return text, false
	}
	if r.format.dates != "" {
		written, err := dates.Format(r.format.dates, t)
		return written, err == nil
	}
	if zoned {
		return t.Format(isoZoned), true
	}
	return t.Format(isoDate), true
}

// imagePart returns a part of an image.
func (x *run) imagePart(r *rule, m xpath.Match) string {
	if m.Node == nil || m.Attr != "" {
		return x.absoluteURL(r, m.Text, r.format.name == "URL")
	}
	switch r.format.name {
	case "DATA":
		return x.outerHTML(r, m)
	case "ALT", "TITLE":
		value, _ := attrValue(m.Node, strings.ToLower(r.format.name))
		return value
	}
	for _, name := range []string{"src", "srcset", "image-src"} {
		value, _ := attrValue(m.Node, name)
		if name == "srcset" {
			value = firstCandidate(value)
		}
		if value = strings.TrimSpace(value); value != "" {
			return x.absoluteURL(r, value, true)
		}
	}
	return ""
}

// firstCandidate returns the first URL of a srcset.
func firstCandidate(srcset string) string {
	if list := strings.Fields(strings.TrimLeft(srcset, ", \t\r\n")); len(list) > 0 {
		return strings.TrimRight(list[0], ",")
	}
	return ""
}

// absoluteURL resolves and normalizes a URL if the rule asks for that. A text that is no URL
// stays.
func (x *run) absoluteURL(r *rule, value string, isURL bool) string {
	if !r.canonicalize || !isURL || strings.TrimSpace(value) == "" {
		return value
	}
	if resolved := x.o.Resolve(x.o.Base, strings.TrimSpace(value)); resolved != "" {
		return resolved
	}
	return value
}

// linkValues returns the URL of a link, or parts of its e-mail addresses.
func (x *run) linkValues(r *rule, m xpath.Match) []string {
	href := m.Text
	if m.Node != nil && m.Attr == "" {
		href, _ = attrValue(m.Node, "href")
	}
	if r.format.name == "" {
		return nonBlank(x.absoluteURL(r, href, true))
	}
	href = strings.TrimSpace(href)
	if len(href) < len(mailto) || !strings.EqualFold(href[:len(mailto)], mailto) {
		return nil
	}
	if r.format.name == emailText {
		if m.Node == nil {
			return nil
		}
		return nonBlank(x.innerText(r, xpath.Match{Node: m.Node}, plain))
	}
	return mailAddresses(href[len(mailto):], r.format.name == emailTo)
}

const mailto = "mailto:"

// mailAddresses returns the addresses of a mailto URL, or their local parts.
func mailAddresses(text string, local bool) (list []string) {
	text, _, _ = strings.Cut(text, "?")
	for address := range strings.SplitSeq(text, ",") {
		if decoded, err := url.PathUnescape(address); err == nil {
			address = decoded
		}
		if local {
			if at := strings.LastIndexByte(address, '@'); at >= 0 {
				address = address[:at]
			}
		}
		list = append(list, nonBlank(address)...)
	}
	return list
}
