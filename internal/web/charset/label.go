package charset

import (
	"bytes"
	"mime"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// prescanBytes is how far a meta element is searched. The HTML standard asks for 1024
// bytes; browsers search further if scripts precede it.
const prescanBytes = 4096

// lookup finds the encoding of a label and its standard name. It accepts the labels of the
// Encoding standard and "win-1251" (docs/spec/crawling.md 4.13). Labels of the standard's
// replacement encoding, which decodes nothing, are unknown.
func lookup(label string) (encoding.Encoding, string, bool) {
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
// of a meta element (2.6.4).
func labelAfterCharset(text string) string {
	const word = "charset"
	for rest := strings.ToLower(text); ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return ""
		}
		rest = strings.TrimLeft(rest[i+len(word):], " \t\r\n\f")
		value, ok := strings.CutPrefix(rest, "=")
		if !ok {
			continue
		}
		value = strings.TrimLeft(value, " \t\r\n\f")
		if value == "" {
			return ""
		}
		if quote := value[0]; quote == '"' || quote == '\'' {
			label, _, closed := strings.Cut(value[1:], string(quote))
			if !closed {
				return ""
			}
			return label
		}
		if end := strings.IndexAny(value, " \t\r\n\f;"); end >= 0 {
			value = value[:end]
		}
		return value
	}
}

// declaredLabel returns the charset that the body declares: by XML declaration first if the
// type is XML, else by meta element first.
func declaredLabel(body []byte, contentType string) string {
	head := body[:min(len(body), prescanBytes)]
	first, second := metaLabel, xmlLabel
	if t := strings.ToLower(contentType); strings.Contains(t, "xml") && !strings.Contains(t, "html") {
		first, second = xmlLabel, metaLabel
	}
	if label := first(head); label != "" {
		return label
	}
	return second(head)
}

// metaLabel returns the charset of the first meta element in head that has one.
func metaLabel(head []byte) string {
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			name, more := z.TagName()
			if string(name) != "meta" {
				continue
			}
			if label := labelOfMeta(z, more); label != "" {
				return readableLabel(label)
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
			pragma = pragma || strings.EqualFold(string(value), "content-type")
		}
	}
	if label == "" && pragma {
		return content
	}
	return label
}

// readableLabel replaces labels that cannot be true, because the meta element itself was
// read as ASCII (HTML standard 13.2.3.2).
func readableLabel(label string) string {
	switch _, name, _ := lookup(label); name {
	case nameUTF16BE, nameUTF16LE:
		return nameUTF8
	case "x-user-defined":
		return nameLatin
	}
	return label
}

// xmlLabel returns the encoding of an XML declaration at the start of head. Its zero bytes
// identify a UTF-16 declaration without a mark.
func xmlLabel(head []byte) string {
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
