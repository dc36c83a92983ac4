package export

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hce/dc/internal/cli/pages"
)

// jsonl writes one JSON object for each page. Its keys have the order of the fields.
type jsonl struct {
	w      *bufio.Writer
	fields []string
	s      Settings
	line   bytes.Buffer
}

func newJSONL(out Output, s Settings) (Writer, error) {
	return &jsonl{w: bufio.NewWriter(out.W), fields: s.chosenFields(jsonFields), s: s}, nil
}

// Object returns fields of a page as a JSON object.
func Object(p *pages.Page, fields []string) ([]byte, error) {
	var b bytes.Buffer
	j := &jsonl{w: bufio.NewWriter(&b), fields: fields}
	if err := cmp.Or(j.Page(p), j.Flush()); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func (j *jsonl) Page(p *pages.Page) error {
	j.line.Reset()
	for i, name := range j.fields {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		j.line.WriteByte(separator)
		if err := j.encodeValue(name); err != nil {
			return err
		}
		j.line.WriteByte(':')
		if err := j.encodeValue(fieldOf(name).value(p, j.s)); err != nil {
			return fmt.Errorf("write %s of %s: %w", name, p.URL.URL, err)
		}
	}
	j.line.WriteString("}\n")
	_, err := j.w.Write(j.line.Bytes())
	return err
}

// encodeValue appends a value without the newline of the encoder.
func (j *jsonl) encodeValue(value any) error {
	e := json.NewEncoder(&j.line)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return err
	}
	j.line.Truncate(j.line.Len() - 1)
	return nil
}

func (j *jsonl) Flush() error { return j.w.Flush() }
func (j *jsonl) End() error   { return nil }

// table writes CSV. A spreadsheet runs a cell that begins like a formula, also one that the author of a page wrote.
// Unless Raw is set, such a text gets an apostrophe before it: spreadsheets show what follows as text.
type table struct {
	w      *csv.Writer
	fields []string
	s      Settings
}

func newCSV(out Output, s Settings) (Writer, error) {
	t := &table{w: csv.NewWriter(out.W), fields: s.chosenFields(csvFields), s: s}
	if out.Prior != nil {
		return t, nil
	}
	return t, t.w.Write(t.fields)
}

func (t *table) Page(p *pages.Page) error {
	cells := make([]string, len(t.fields))
	for i, name := range t.fields {
		switch v := fieldOf(name).value(p, t.s).(type) {
		case nil:
		case string:
			cells[i] = t.textCell(v)
		case []string:
			cells[i] = t.textCell(strings.Join(v, " "))
		case objects:
			cells[i] = "[" + strings.Join(v.asTexts(), ",") + "]"
		default:
			cells[i] = fmt.Sprint(v)
		}
	}
	return t.w.Write(cells)
}

// textCell returns a cell with a text.
func (t *table) textCell(text string) string {
	if !t.s.Raw && text != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", firstRune(text)) {
		return "'" + text
	}
	return text
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func (t *table) Flush() error {
	t.w.Flush()
	return t.w.Error()
}

func (t *table) End() error { return nil }

// sitemap writes a sitemap (https://www.sitemaps.org/protocol.html). The protocol allows 50,000
// addresses in one file; the writer goes on above that, and the caller says so.
type sitemap struct {
	w *bufio.Writer
}

func newSitemap(out Output, _ Settings) (Writer, error) {
	s := &sitemap{bufio.NewWriter(out.W)}
	if out.Prior != nil {
		return s, nil
	}
	_, err := io.WriteString(s.w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`+"\n")
	return s, err
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

func (s *sitemap) Page(p *pages.Page) error {
	date := p.Modified().String()
	if date == "" {
		_, err := fmt.Fprintf(s.w, "<url><loc>%s</loc></url>\n", xmlText.Replace(p.URL.URL))
		return err
	}
	_, err := fmt.Fprintf(s.w, "<url><loc>%s</loc><lastmod>%s</lastmod></url>\n", xmlText.Replace(p.URL.URL), date)
	return err
}

func (s *sitemap) Flush() error { return s.w.Flush() }

func (s *sitemap) End() error {
	if _, err := io.WriteString(s.w, "</urlset>\n"); err != nil {
		return err
	}
	return s.w.Flush()
}
