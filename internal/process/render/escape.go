package render

import (
	"strings"
	"unicode/utf8"

	"hce/dc/internal/wire/result"
)

// escaper returns a value as it is written into a format.
type escaper func(string) string

// escapers are the known formats. A value of csv is not changed: only the item knows its
// delimiter and its quotes.
var escapers = map[string]escaper{
	"json": escapeJSON, "html": markup.Replace, "xml": escapeXML, "sql": sql.Replace,
	"csv": keepUnchanged, "text": keepUnchanged, "": keepUnchanged,
}

var (
	markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&quot;")
	sql    = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)
)

func keepUnchanged(value string) string { return value }

// escapeXML also drops characters that XML 1.0 cannot have.
func escapeXML(value string) string {
	return markup.Replace(strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF {
			return -1
		}
		return c
	}, value))
}

// escapeJSON returns the content of a JSON string. Bytes that are not UTF-8 become U+FFFD.
func escapeJSON(value string) string {
	if !strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c == utf8.RuneError }) {
		return value
	}
	const hex = "0123456789abcdef"
	b := make([]byte, 0, len(value)+len(value)/8+8)
	for _, c := range value {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return string(b)
}

// Escape prepares results to be stored: their values are escaped for the format, and with json
// the content_encoded of the first result, the default, is a string instead of a list
// (docs/spec/processing.md 2.2, 2.8). Measure, hash and render results before that; to render
// them again set Values.Escaped.
func (f *Format) Escape(results []result.Result) {
	if f == nil {
		return
	}
	for i := range results {
		for j := range results[i].Tags {
			t := &results[i].Tags[j]
			if t.Type == result.TypeRecords { // stays JSON
				continue
			}
			values := make([]string, len(t.Data)) // results may share the old ones
			for k, v := range t.Data {
				values[k] = f.escapeTagValue(t, v)
			}
			t.Data = values
		}
	}
	if f.name != "json" || len(results) == 0 {
		return
	}
	if t := results[0].Tag("content_encoded"); t != nil {
		t.Plain = true
	}
}

// escapeTagValue returns a value of a tag, escaped. The link of a feed entry has "&amp;" already
// (docs/spec/processing.md 4.1), which markup must not escape again.
func (f *Format) escapeTagValue(t *result.Tag, v string) string {
	if t.Extractor == result.Feed && t.Name == "link" && (f.name == "html" || f.name == "xml") {
		v = strings.ReplaceAll(v, "&amp;", "&")
	}
	return f.escapeValue(v)
}

// escapeValue returns a value that is not of a tag, escaped.
func (f *Format) escapeValue(v string) string {
	if f.escape == nil {
		return v
	}
	return f.escape(v)
}
