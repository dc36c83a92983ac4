package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// schema is the part of a JSON schema that says which values a person wants. Each property may say where it is found; one that does
// not is looked up by its name: in the JSON-LD of the page, then in what the engine reads of each page.
type schema struct {
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`

	CSS     string `json:"css"`
	XPath   string `json:"xpath"`
	JSONLD  string `json:"jsonld"`
	Pattern string `json:"match"` // pattern is a keyword of JSON schema, a condition
	Format  string `json:"format"`
}

// FromSchema compiles a JSON schema of type object. Properties may have the keywords css, xpath and jsonld, which say where their value
// is, and match, a regular expression.
func FromSchema(text []byte) (*Set, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the schema has more than %d bytes", maxBytes)
	}
	var top schema
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&top); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(top.Properties) == 0 {
		return nil, errors.New("schema: it must be an object with properties")
	}
	named, err := top.fieldsOf("")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return Compile(named)
}

func (s schema) fieldsOf(prefix string) (map[string]Field, error) {
	named := map[string]Field{}
	for name, one := range s.Properties {
		f, err := one.asField(prefix, name)
		if err != nil {
			return nil, fmt.Errorf("property %q: %w", prefix+name, err)
		}
		named[name] = f
	}
	return named, nil
}

// asField returns the field of a property.
func (s schema) asField(prefix, name string) (f Field, err error) {
	f = Field{CSS: s.CSS, XPath: s.XPath, JSONLD: s.JSONLD, Pattern: s.Pattern}
	element := s
	if s.hasType("array") && s.Items != nil {
		f.List, element = true, *s.Items
		if f.CSS+f.XPath+f.JSONLD+f.Pattern == "" {
			f.CSS, f.XPath, f.JSONLD, f.Pattern = element.CSS, element.XPath, element.JSONLD, element.Pattern
		}
	}
	if f.CSS+f.XPath+f.JSONLD+f.Pattern == "" {
		f.JSONLD = prefix + name
	}
	switch {
	case element.hasType("object") && len(element.Properties) > 0 && f.CSS+f.XPath != "":
		f.Fields, err = element.fieldsOf("")
	case element.hasType("integer"):
		f.Type = "integer"
	case element.hasType("number"):
		f.Type = "number"
	case element.hasType("boolean"):
		f.Type = "boolean"
	case element.hasType("string"):
		f.Type = "text"
		if element.Format == "uri" {
			f.Type = "url"
		}
	}
	return f, err
}

// hasType reports whether a schema names a type, alone or in a list.
func (s schema) hasType(name string) bool {
	switch t := s.Type.(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// Missing calls find for each field of the page that has no value, and keeps what it returns.
func (s *Set) Missing(values map[string]any, find func(name string) string) {
	for i := range s.fields {
		f := &s.fields[i]
		if _, known := values[f.name]; known || len(f.path) != 1 || f.path[0] != f.name {
			continue
		}
		if list := f.valuesOf(find(f.name), ""); len(list) > 0 {
			values[f.name] = list[0]
			if f.list {
				values[f.name] = list
			}
		}
	}
}
