package pagexml

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/apps/archive"
)

// Page is a read data.xml.
type Page struct {
	Meta  archive.Meta
	Names []string // of the nodes below data, in their order

	nodes map[string]string // as XML
	end   int64             // where </data> begins
}

// metaField is one element below meta.
type metaField struct {
	name string
	get  func(m archive.Meta) string
	set  func(m *archive.Meta, text string) error
}

func textField(name string, of func(m *archive.Meta) *string) metaField {
	return metaField{name, func(m archive.Meta) string { return cleanText(*of(&m)) }, func(m *archive.Meta, text string) error {
		*of(m) = text
		return nil
	}}
}

func timeField(name string, of func(m *archive.Meta) *time.Time) metaField {
	return metaField{name, func(m archive.Meta) string { return boundTime(of(&m).In(archive.Zone)).Format(archive.TimeFormat) }, func(m *archive.Meta, text string) (err error) {
		if *of(m), err = time.ParseInLocation(archive.TimeFormat, text, archive.Zone); err != nil {
			return fmt.Errorf("%s %q is not a time such as 2012-05-16T12:30:00", name, text)
		}
		return nil
	}}
}

// boundTime returns the nearest time with a year of four digits: XML schema has no others, and no year 0.
func boundTime(t time.Time) time.Time {
	switch year := t.Year(); {
	case year < 1:
		return time.Date(1, 1, 1, 0, 0, 0, 0, archive.Zone)
	case year > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, archive.Zone)
	}
	return t
}

// metaFields are the elements below meta, in their order.
var metaFields = []metaField{
	textField("url", func(m *archive.Meta) *string { return &m.URL }),
	textField("mimeType", func(m *archive.Meta) *string { return &m.MIMEType }),
	textField("title", func(m *archive.Meta) *string { return &m.Title }),
	textField("path", func(m *archive.Meta) *string { return &m.Path }),
	textField("domain", func(m *archive.Meta) *string { return &m.Domain }),
	timeField("commitTime", func(m *archive.Meta) *time.Time { return &m.CommitTime }),
	timeField("createTime", func(m *archive.Meta) *time.Time { return &m.CreateTime }),
	textField("commitTag", func(m *archive.Meta) *string { return &m.CommitTag }),
}

// optionalFields follow them if they are not "".
var optionalFields = []metaField{
	textField("keptFrom", func(m *archive.Meta) *string { return &m.KeptFrom }),
	textField("keptCause", func(m *archive.Meta) *string { return &m.KeptCause }),
}

// cleanText replaces what XML cannot hold or does not keep, such as control characters.
func cleanText(text string) string {
	text = strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == 0xfffe || c == 0xffff {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\ufffd"))
	return strings.TrimSpace(text)
}

// New returns data.xml of a page without further nodes. Read returns the same metadata; control
// characters became blanks, and times have whole seconds.
func New(m archive.Meta) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<page>\n <meta>\n")
	for i, f := range slices.Concat(metaFields, optionalFields) {
		if value := f.get(m); value != "" || i < len(metaFields) {
			fmt.Fprintf(&b, "  <%s>%s</%[1]s>\n", f.name, escapeText(value))
		}
	}
	b.WriteString(" </meta>\n <data>\n </data>\n</page>\n")
	return b.Bytes()
}

// Normal returns the metadata as Read returns them after New.
func Normal(m archive.Meta) archive.Meta {
	n := m
	for _, f := range slices.Concat(metaFields, optionalFields) {
		_ = f.set(&n, f.get(m)) // it reads what it wrote
	}
	return n
}

// Read parses data.xml, and fails if it does not have the form of New and Add.
func Read(document []byte) (*Page, error) {
	p := &Page{nodes: map[string]string{}}
	if err := p.readDocument(document); err != nil {
		return nil, fmt.Errorf("data.xml %w: %w", archive.ErrInvalid, err)
	}
	return p, nil
}

// Node returns the node with that name below data, as XML.
func (p *Page) Node(name string) (node string, found bool) {
	node, found = p.nodes[name]
	return node, found
}

func (p *Page) readDocument(document []byte) error {
	if len(document) > MaxDocument {
		return fmt.Errorf("it has more than %d bytes", MaxDocument)
	}
	r := &reader{Decoder: xml.NewDecoder(bytes.NewReader(document))}
	if err := r.beginElement("page"); err != nil {
		return err
	}
	if err := r.beginElement("meta"); err != nil {
		return err
	}
	for _, f := range metaFields {
		if err := r.beginElement(f.name); err != nil {
			return err
		}
		if err := r.readField(f, &p.Meta); err != nil {
			return err
		}
	}
	if err := r.readOptional(&p.Meta); err != nil {
		return err
	}
	if err := r.beginElement("data"); err != nil {
		return err
	}
	if err := p.readData(r, document); err != nil {
		return err
	}
	if err := r.closeElement("page"); err != nil {
		return err
	}
	return r.readEnd()
}

// readData reads the nodes below data and its end.
func (p *Page) readData(r *reader, document []byte) error {
	for {
		token, before, err := r.nextTag()
		if err != nil {
			return err
		}
		start, isNode := token.(xml.StartElement)
		if !isNode {
			p.end = before
			return nil // an end here is </data>: the decoder pairs elements
		}
		name := start.Name.Local
		if start.Name.Space != "" || len(start.Attr) > 0 || CheckName(name) != nil {
			return fmt.Errorf("node %s below data has a namespace, attributes or a wrong name", name)
		}
		if _, twice := p.nodes[name]; twice {
			return fmt.Errorf("node %s is there twice below data", name)
		}
		if err := r.Skip(); err != nil {
			return err
		}
		p.Names = append(p.Names, name)
		p.nodes[name] = string(document[before:r.InputOffset()])
	}
}

// reader reads the elements of data.xml in their order.
type reader struct{ *xml.Decoder }

// nextTag returns the next start or end of an element, and where it begins. Only blanks, comments and
// the XML declaration may come first.
func (r *reader) nextTag() (xml.Token, int64, error) {
	for {
		before := r.InputOffset()
		token, err := r.Token()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("it ends too early")
			}
			return nil, 0, err
		}
		switch t := token.(type) {
		case xml.StartElement, xml.EndElement:
			return t, before, nil
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return nil, 0, errors.New("it has a text between elements")
			}
		case xml.ProcInst:
			if t.Target != "xml" || before != 0 {
				return nil, 0, errors.New("it has a processing instruction")
			}
		case xml.Directive:
			return nil, 0, errors.New("it has a document type")
		}
	}
}

func (r *reader) beginElement(name string) error {
	token, _, err := r.nextTag()
	if err != nil {
		return err
	}
	if start, ok := token.(xml.StartElement); !ok || start.Name != (xml.Name{Local: name}) || len(start.Attr) > 0 {
		return fmt.Errorf("expected <%s>", name)
	}
	return nil
}

func (r *reader) closeElement(name string) error {
	token, _, err := r.nextTag()
	if err != nil {
		return err
	}
	if end, ok := token.(xml.EndElement); !ok || end.Name.Local != name {
		return fmt.Errorf("expected </%s>", name)
	}
	return nil
}

// readField reads the text of an element that has begun, and its end.
func (r *reader) readField(f metaField, m *archive.Meta) error {
	var b strings.Builder
	for {
		token, err := r.Token()
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.Comment:
		case xml.EndElement:
			return f.set(m, b.String())
		default:
			return fmt.Errorf("%s has more than a text", f.name)
		}
	}
}

// readOptional reads optional fields, each at most once and in their order, and the end of meta.
func (r *reader) readOptional(m *archive.Meta) error {
	for left := optionalFields; ; {
		token, _, err := r.nextTag()
		if err != nil {
			return err
		}
		start, isStart := token.(xml.StartElement)
		if !isStart {
			return nil // an end here is </meta>: the decoder pairs elements
		}
		i := slices.IndexFunc(left, func(f metaField) bool { return start.Name == xml.Name{Local: f.name} })
		if i < 0 || len(start.Attr) > 0 {
			return errors.New("expected </meta>")
		}
		if err := r.readField(left[i], m); err != nil {
			return err
		}
		left = left[i+1:]
	}
}

func (r *reader) readEnd() error {
	for {
		token, err := r.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch t := token.(type) {
		case xml.Comment:
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				return errors.New("a text follows the root")
			}
		default:
			return errors.New("something follows the root")
		}
	}
}

// Add returns the document with one more node below data. Bytes that exist stay. The error wraps
// archive.ErrExists for a name that exists.
func Add(document []byte, name, content string) ([]byte, error) {
	added, err := makeNode(name, content)
	if err != nil {
		return nil, err
	}
	p, err := Read(document)
	if err != nil {
		return nil, err
	}
	if _, found := p.nodes[name]; found {
		return nil, fmt.Errorf("tag %s %w", name, archive.ErrExists)
	}
	if len(document)+len(added) > MaxDocument {
		return nil, fmt.Errorf("data.xml with tag %s %w: it would have more than %d bytes", name, archive.ErrInvalid, MaxDocument)
	}
	var b bytes.Buffer
	b.Grow(len(document) + len(added) + 4)
	b.Write(document[:p.end])
	b.WriteString(" " + added + "\n ")
	b.Write(document[p.end:])
	return b.Bytes(), nil
}
