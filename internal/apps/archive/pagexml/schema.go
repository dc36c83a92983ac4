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

	"hce/dc/internal/apps/archive"
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

// The type of data with nodes and without. An xs:all without elements would be empty content, which
// has not even a line break.
const (
	someNodes = "     <xs:complexType>\n      <xs:all>\n      " + place + "\n      </xs:all>\n     </xs:complexType>\n"
	noNodes   = `     <xs:simpleType>
      <xs:restriction base="xs:token">
       <xs:length value="0"/>
      </xs:restriction>
     </xs:simpleType>
`
)

// Text returns the schema as XML schema 1.0.
func (s Schema) Text() []byte {
	if len(s.names) == 0 {
		return []byte(strings.Replace(schemaText, someNodes, noNodes, 1))
	}
	return []byte(s.withNames(schemaText))
}

func (s Schema) withNames(text string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		fmt.Fprintf(&b, "<xs:element name=%q type=\"free\" minOccurs=\"0\"/>\n      ", name)
	}
	return strings.Replace(text, place, b.String()+place, 1)
}

// formerText is the schema as earlier programs wrote it: without the optional fields of meta.
func (s Schema) formerText() string {
	text := schemaText
	for _, f := range optionalFields {
		text = strings.Replace(text, fmt.Sprintf("       <xs:element name=%q type=\"xs:string\" minOccurs=\"0\"/>\n", f.name), "", 1)
	}
	return s.withNames(text)
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

// ReadSchema reads what Text wrote, now or in an earlier program.
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
	if string(s.Text()) != string(text) && s.formerText() != string(text) {
		return s, errors.New("XML schema of the archive was changed by hand or damaged; make it again with archive repair")
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
