package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire/errormask"
	"hce/dc/internal/wire/result"
)

// Macros of repeated items: the name, the value and the extractor of each tag.
const (
	tagName        = "tag_name"
	tagValue       = "tag_value"
	extractorValue = "extractor_value"
)

// Values are the values of macros that are not in the result.
type Values struct {
	CrawlingTime time.Duration     // %crawler_time%
	Errors       errormask.Mask    // %errors_mask%: bits of the row, with those of this result
	Defaults     map[string]string // default of the rule of each tag, for tags that were not found
	// EachTag says that the template has no tags: an item with %tag_name%, %tag_value% or
	// %extractor_value% is repeated for each found tag.
	EachTag bool
	// Languages are the names of the tags that language detection added. With json, one that
	// the item has no macro for becomes a member of the item.
	Languages []string
	Escaped   bool // the values of tags are escaped already: Escape was applied to the result
}

// Render returns the text of a result. Macros without a value become the default of their rule
// or empty texts. Outside of quotes, a value of a json item is written as a number, true,
// false, null or a text with quotes, so the text is valid JSON if it is with empty values. A
// format without an item renders {"default":…}. The result is not changed. The only errors
// are those of encoding the metrics: NaN and infinite numbers.
func (f *Format) Render(r *result.Result, v Values) (string, error) {
	if f == nil || len(f.item) == 0 {
		text, err := r.EncodeDefault()
		return string(text), err
	}
	w := writing{Format: f, Values: v, result: r}
	if f.macros["metrics"] {
		var err error
		if w.metrics, err = r.MetricsText(); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	b.WriteString(f.head)
	if f.perTag && v.EachTag {
		b.WriteString(w.writeRepeated())
	} else {
		b.WriteString(w.withLanguages(w.writeItem(nil)))
	}
	b.WriteString(f.tail)
	return b.String(), nil
}

// writing is the state of one Render.
type writing struct {
	*Format
	Values
	result  *result.Result
	metrics string
}

// writeItem returns the text of the item. tag is that of a repeated item, or nil.
func (w *writing) writeItem(tag *result.Tag) string {
	var b strings.Builder
	for _, p := range w.Format.item {
		switch {
		case p.name == "":
			b.WriteString(p.text)
		case p.place == asKey:
			b.WriteString(`"` + w.macroValue(p.name, tag) + `"`)
		case p.place == asValue && p.name == "metrics":
			b.WriteString(w.metrics)
		case p.place == asValue:
			b.WriteString(w.scalarValue(p.name, tag))
		default:
			b.WriteString(w.macroValue(p.name, tag))
		}
	}
	return b.String()
}

// scalarValue returns the value of a macro as a JSON value. A list of objects is one.
func (w *writing) scalarValue(name string, tag *result.Tag) string {
	if name != tagValue || tag == nil {
		tag = w.result.Tag(name)
	}
	if tag != nil && tag.Type == result.TypeRecords && json.Valid([]byte(tag.First())) {
		return tag.First()
	}
	switch text := w.macroValue(name, tag); {
	case text == "true" || text == "false" || text == "null":
		return text
	case text != "" && strings.IndexByte("-0123456789", text[0]) >= 0 && json.Valid([]byte(text)):
		return text
	default:
		return `"` + text + `"`
	}
}

// macroValue returns the escaped value of a macro, "" if it has none.
func (w *writing) macroValue(name string, tag *result.Tag) string {
	switch name {
	case "crawler_time":
		return strconv.FormatFloat(w.CrawlingTime.Seconds(), 'f', 3, 64)
	case "scraper_time":
		return w.result.TimeText()
	case "errors_mask":
		return strconv.FormatUint(uint64(w.Errors), 10)
	case "metrics":
		return w.escapeValue(w.metrics)
	}
	if tag != nil {
		switch name {
		case tagName:
			return w.escapeValue(tag.Name)
		case tagValue:
			return w.firstValue(tag)
		case extractorValue:
			return w.escapeValue(tag.Extractor)
		}
	}
	if t := w.result.Tag(name); t != nil && t.First() != "" {
		return w.firstValue(t)
	}
	if text, ok := w.tagField(name); ok {
		return w.escapeValue(text)
	}
	return w.escapeValue(w.Defaults[name])
}

// tagField returns a field of a tag that a macro names: TAG_extractor, TAG_xpath, or the name of
// the tag with its language suffix.
func (w *writing) tagField(name string) (text string, ok bool) {
	if base, is := strings.CutSuffix(name, "_extractor"); is {
		if t := w.result.Tag(base); t != nil {
			return t.Extractor, true
		}
	}
	if base, is := strings.CutSuffix(name, "_xpath"); is {
		if t := w.result.Tag(base); t != nil {
			return t.XPath, true
		}
	}
	for i := range w.result.Tags {
		t := &w.result.Tags[i]
		if rest, is := strings.CutPrefix(name, t.Name); is && t.LangSuffix != "" && rest == t.LangSuffix {
			return t.Lang, true
		}
	}
	return "", false
}

// firstValue returns the first value of a tag, escaped.
func (w *writing) firstValue(t *result.Tag) string {
	if w.Escaped && t.Type != result.TypeRecords {
		return t.First()
	}
	return w.escapeTagValue(t, t.First())
}

// writeRepeated returns the item for each found tag: different texts, joined by "," for json and by
// a space for other formats, without a comma at the end.
func (w *writing) writeRepeated() string {
	var items []string
	met := map[string]bool{}
	for i := range w.result.Tags {
		t := &w.result.Tags[i]
		if t.First() == "" {
			continue
		}
		text := w.writeItem(t)
		if w.name == "json" {
			text = withoutComma(text)
		}
		if !met[text] {
			met[text] = true
			items = append(items, text)
		}
	}
	if w.name == "json" {
		return strings.Join(items, ",")
	}
	return withoutComma(strings.Join(items, " "))
}

func withoutComma(text string) string {
	if cut, is := strings.CutSuffix(strings.TrimRight(text, " \t\r\n"), ","); is {
		return cut
	}
	return text
}

// withLanguages adds language tags without a macro as members of a JSON object.
func (w *writing) withLanguages(item string) string {
	end := strings.LastIndexByte(item, '}')
	if w.name != "json" || w.openText || end < 0 || strings.Trim(item[end+1:], " \t\r\n,") != "" {
		return item
	}
	var b strings.Builder
	before := strings.TrimRight(item[:end], " \t\r\n")
	for _, name := range w.Languages {
		t := w.result.Tag(name)
		if t == nil || t.First() == "" || w.macros[name] {
			continue
		}
		if b.Len() > 0 || !strings.HasSuffix(before, "{") {
			b.WriteByte(',')
		}
		b.WriteString(`"` + escapeJSON(name) + `":"` + w.firstValue(t) + `"`)
	}
	return item[:end] + b.String() + item[end:]
}
