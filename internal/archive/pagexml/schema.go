package pagexml

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	_ "embed"

	"hce/dc/internal/archive"
)

// schemaText is the schema of an archive without nodes below data.
//
//go:embed page.xsd
var schemaText string

// maxNames bounds the names of nodes in one archive.
const maxNames = 1000

// Schema is the XML schema of an archive: that of this package, with the names of all nodes that
// pages have below data.
type Schema struct{ names map[string]bool }

// NewSchema returns a schema with these names.
func NewSchema(names ...string) Schema {
	s := Schema{map[string]bool{}}
	for _, name := range names {
		s.names[name] = true
	}
	return s
}

// place marks where the schema has the names.
const place = "<!-- nodes -->"

// Text returns the schema as XML schema 1.0.
func (s Schema) Text() []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		fmt.Fprintf(&b, "<xs:element name=%q type=\"free\" minOccurs=\"0\"/>\n      ", name)
	}
	return []byte(strings.Replace(schemaText, place, b.String()+place, 1))
}

// Has reports whether the schema knows a node.
func (s Schema) Has(name string) bool { return s.names[name] }

// With returns the schema with one more name. The error wraps archive.ErrInvalid for a wrong name,
// and for one name too many.
func (s Schema) With(name string) (Schema, error) {
	if err := CheckName(name); err != nil || s.names[name] {
		return s, err
	}
	if len(s.names) >= maxNames {
		return s, fmt.Errorf("tag name %s %w: the archive has %d names already", name, archive.ErrInvalid, maxNames)
	}
	larger := Schema{maps.Clone(s.names)}
	if larger.names == nil {
		larger.names = map[string]bool{}
	}
	larger.names[name] = true
	return larger, nil
}

// ReadSchema reads what Text wrote.
func ReadSchema(text []byte) (Schema, error) {
	s := NewSchema()
	d := xml.NewDecoder(strings.NewReader(string(text)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, fmt.Errorf("XML schema of the archive: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "element" {
			continue
		}
		values := map[string]string{}
		for _, a := range start.Attr {
			values[a.Name.Local] = a.Value
		}
		if values["type"] == "free" {
			s.names[values["name"]] = true
		}
	}
	if string(s.Text()) != string(text) {
		return s, errors.New("XML schema of the archive was changed by hand; remove it and run archive db recover")
	}
	return s, nil
}

// Validate checks a document by the rules of the schema.
func Validate(document []byte, s Schema) error {
	p, err := Read(document)
	if err != nil {
		return err
	}
	for _, name := range p.Names {
		if !s.names[name] {
			return fmt.Errorf("data.xml %w: the schema has no node %s below data", archive.ErrInvalid, name)
		}
	}
	return nil
}
