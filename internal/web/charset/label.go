package charset

import (
	"bytes"
	"cmp"
	"mime"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// prescanBytes is how far a meta element is searched at once. The HTML standard asks for 1024
// bytes. Without a result the search goes on to prescanMost, as scripts and styles may precede
// the element.
const (
	prescanBytes = 4096
	prescanMost  = 1 << 20
	maxMeta      = 1024 // the longest meta element that is found if the first search cuts it
)

// lookupEncoding finds the encoding of a label and its standard name. It accepts the labels of the
// Encoding standard and "win-1251" (docs/spec/crawling.md 4.13). Labels of the standard's
// replacement encoding, which decodes nothing, are unknown.
func lookupEncoding(label string) (encoding.Encoding, string, bool) {
	label = strings.ToLower(strings.Trim(label, " \t\r\n\f\"'"))
	label, _, _ = strings.Cut(label, ",")
	label = strings.TrimSpace(label)
	if rest, ok := strings.CutPrefix(label, "win-"); ok {
		label = "windows-" + rest
	}
	enc, err := htmlindex.Get(label)
	if err != nil {
		return nil, "", false
	}
	name, err := htmlindex.Name(enc)
	if err != nil || name == "replacement" {
		return nil, "", false
	}
	if name == "gbk" {
		// The standard decodes GBK with its superset.
		enc = simplifiedchinese.GB18030
	}
	return enc, name, true
}

// asciiBased reports whether ASCII bytes mean ASCII in the named charset.
func asciiBased(name string) bool {
	return name != nameUTF16BE && name != nameUTF16LE
}

// headerLabel returns the charset parameter of a Content-Type value, "" without one.
// Headers that package mime rejects are searched for "charset=".
func headerLabel(contentType string) string {
	if contentType == "" {
		return ""
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		return params["charset"]
	}
	return labelAfterCharset(contentType)
}

// labelAfterCharset finds `charset = label` in text as the HTML standard reads the content
// of a meta element (2.6.4), and the first known label of several.
func labelAfterCharset(text string) string {
	const word = "charset"
	unknown := ""
	for rest := strings.ToLower(text); ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return unknown
		}
		rest = strings.TrimLeft(rest[i+len(word):], " \t\r\n\f")
		value, ok := strings.CutPrefix(rest, "=")
		if !ok {
			continue
		}
		rest = strings.TrimLeft(value, " \t\r\n\f")
		var label string
		if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
			closed := false
			if label, rest, closed = strings.Cut(rest[1:], rest[:1]); !closed {
				return unknown
			}
		} else {
			end := strings.IndexAny(rest, " \t\r\n\f;")
			if end < 0 {
				end = len(rest)
			}
			label, rest = rest[:end], rest[end:]
		}
		if isKnown(label) {
			return label
		}
		unknown = cmp.Or(unknown, label)
	}
}

// declaredLabel returns the charset that the body declares: by XML declaration first if the
// type is XML, else by meta element first. An unknown label is the result only without a known
// one.
func declaredLabel(body []byte, contentType string) string {
	first, second := metaLabel, xmlLabel
	if t := strings.ToLower(contentType); strings.Contains(t, "xml") && !strings.Contains(t, "html") {
		first, second = xmlLabel, metaLabel
	}
	label := first(body)
	if isKnown(label) {
		return label
	}
	return firstKnownLabel(label, second(body))
}

// firstKnownLabel returns the first label that is known, else the first that is not empty.
func firstKnownLabel(labels ...string) string {
	if i := slices.IndexFunc(labels, isKnown); i >= 0 {
		return labels[i]
	}
	return cmp.Or(labels...)
}

func isKnown(label string) bool {
	if label == "" {
		return false
	}
	_, _, ok := lookupEncoding(label)
	return ok
}

// metaLabel returns the charset of the first meta element with a known one in the first
// prescanMost bytes of body. Comments, scripts, styles and other raw text have no elements.
func metaLabel(body []byte) string {
	label := metaLabelIn(body[:min(len(body), prescanBytes)])
	if isKnown(label) || len(body) <= prescanBytes {
		return label
	}
	body = body[:min(len(body), prescanMost)]
	if !hasMeta(body[prescanBytes-maxMeta:]) {
		return label
	}
	return metaLabelIn(body)
}

// hasMeta is a cheap test that saves most pages the second search.
func hasMeta(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '<')
		if i < 0 || len(body) < i+len("<meta") {
			return false
		}
		if bytes.EqualFold(body[i+1:i+len("<meta")], []byte("meta")) {
			return true
		}
		body = body[i+1:]
	}
}

// metaLabelIn is metaLabel of a part of a page.
func metaLabelIn(head []byte) string {
	z := html.NewTokenizer(bytes.NewReader(head))
	unknown := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return unknown
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			switch string(name) {
			case "noscript":
				z.NextIsNotRawText()
			case "meta":
				label := labelOfMeta(z, more)
				if isKnown(label) {
					return readableLabel(label)
				}
				unknown = cmp.Or(unknown, label)
			}
		}
	}
}

// labelOfMeta reads the attributes of one meta element.
func labelOfMeta(z *html.Tokenizer, more bool) string {
	var label, content string
	var pragma bool
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "charset":
			if label == "" {
				label = string(bytes.TrimSpace(value))
			}
		case "content":
			if content == "" {
				content = labelAfterCharset(string(value))
			}
		case "http-equiv":
			pragma = pragma || strings.EqualFold(string(bytes.TrimSpace(value)), "content-type")
		}
	}
	if pragma {
		return firstKnownLabel(label, content)
	}
	return label
}

// readableLabel replaces labels that cannot be true, because the meta element itself was
// read as ASCII (HTML standard 13.2.3.2).
func readableLabel(label string) string {
	switch _, name, _ := lookupEncoding(label); name {
	case nameUTF16BE, nameUTF16LE:
		return nameUTF8
	case "x-user-defined":
		return nameLatin
	}
	return label
}

// xmlLabel returns the encoding of an XML declaration at the start of body. Its zero bytes
// identify a UTF-16 declaration without a mark.
func xmlLabel(body []byte) string {
	head := body[:min(len(body), prescanBytes)]
	switch {
	case bytes.HasPrefix(head, []byte("<\x00?\x00x\x00")):
		return nameUTF16LE
	case bytes.HasPrefix(head, []byte("\x00<\x00?\x00x")):
		return nameUTF16BE
	}
	m := xmlEncoding.FindSubmatch(head)
	if m == nil {
		return ""
	}
	return readableLabel(string(bytes.TrimSpace(append(m[1], m[2]...))))
}

// xmlEncoding matches a complete XML declaration with an encoding.
var xmlEncoding = regexp.MustCompile(`^[ \t\r\n]*<\?xml[^>]*?encoding[ \t\r\n]*=[ \t\r\n]*(?:"([^">]*)"|'([^'>]*)')[^>]*>`)
