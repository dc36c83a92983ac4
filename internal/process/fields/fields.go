// Package fields reads values that a person names from a page: by CSS, XPath, a path into its JSON-LD or a regular expression.
//
//	set, err := fields.Parse([]byte(`{"price": {"css": ".price", "type": "number"}}`))
//	values, problems := set.Read(ctx, page, "https://shop.example/cup")
//	values["price"] // 12.5
//
// A field that finds nothing has no value. The cost of a page is bounded, whatever the page is.
package fields

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hce/dc/internal/web/pyregexp"
	"hce/dc/internal/web/xpath"
)

// Field says where a value is and what it is. One of CSS, XPath and JSONLD says where; a field with Pattern alone reads the text of
// the whole page.
type Field struct {
	CSS    string `json:"css,omitempty" doc:"CSS selector; ::attr(NAME) at its end takes an attribute" example:".price"`
	XPath  string `json:"xpath,omitempty" doc:"XPath 1.0 expression" example:"//h1"`
	JSONLD string `json:"jsonld,omitempty" doc:"path of names with dots into the JSON-LD objects of the page" example:"offers.price"`
	// Pattern takes the first group of its first match, or the match, of each text.
	Pattern string `json:"pattern,omitempty" doc:"regular expression on what was found: its first group, or the whole match, is the value" example:"(\\d+) pages"`
	Type    string `json:"type,omitempty" enum:"text,number,integer,boolean,url" doc:"text is the default; a value of another type is left out"`
	List    bool   `json:"list,omitempty" doc:"all values instead of the first one"`
	// Fields makes each element that was found an object.
	Fields map[string]Field `json:"fields,omitempty" doc:"fields of a record: each element that css or xpath finds becomes an object"`
}

// Limits of a set.
const (
	maxFields = 200 // with those of records
	maxDepth  = 5
	maxValues = 1000     // of a list
	maxBytes  = 64 << 10 // of a definition
)

// Set is a compiled set of fields. Goroutines may share it.
type Set struct {
	fields []field // by name
}

// field is a compiled Field.
type field struct {
	name     string
	selector xpath.Selector // nil: JSON-LD, or the whole page
	path     []string       // of JSON-LD
	pattern  *pyregexp.Regexp
	kind     string
	list     bool
	record   *Set
}

// Parse compiles the JSON object of a set: names to fields.
func Parse(text []byte) (*Set, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the fields have more than %d bytes", maxBytes)
	}
	var named map[string]Field
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&named); err != nil {
		return nil, fmt.Errorf("fields: %w", err)
	}
	return Compile(named)
}

// Compile compiles a set.
func Compile(named map[string]Field) (*Set, error) {
	count := 0
	return compileSet(named, "", 1, &count)
}

func compileSet(named map[string]Field, prefix string, depth int, count *int) (*Set, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("field %q: records are nested deeper than %d", strings.TrimSuffix(prefix, "."), maxDepth)
	}
	set := &Set{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if *count++; *count > maxFields {
			return nil, fmt.Errorf("there are more than %d fields", maxFields)
		}
		one, err := compileField(prefix+name, named[name], depth, count)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", prefix+name, err)
		}
		one.name = name
		set.fields = append(set.fields, one)
	}
	return set, nil
}

var errWays = errors.New("give one of css, xpath and jsonld, or a pattern for the text of the page")

func compileField(path string, f Field, depth int, count *int) (one field, err error) {
	one = field{kind: f.Type, list: f.List}
	ways := 0
	for _, way := range []string{f.CSS, f.XPath, f.JSONLD} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways > 1, ways == 0 && f.Pattern == "":
		return one, errWays
	case f.Type != "" && !slices.Contains(types, f.Type):
		return one, fmt.Errorf("type %q is not one of %s", f.Type, strings.Join(types, ", "))
	case f.CSS != "":
		one.selector, err = xpath.CompileCSS(f.CSS)
	case f.XPath != "":
		one.selector, err = xpath.Compile(f.XPath)
	case f.JSONLD != "":
		one.path = strings.Split(f.JSONLD, ".")
	}
	if err == nil && f.Pattern != "" {
		one.pattern, err = pyregexp.Compile(f.Pattern)
	}
	if err == nil && f.Fields != nil {
		if one.selector == nil || f.Pattern != "" || f.Type != "" {
			return one, errors.New("a record needs css or xpath, and has neither pattern nor type")
		}
		one.record, err = compileSet(f.Fields, path+".", depth+1, count)
	}
	return one, err
}

// types are the values of Field.Type.
var types = []string{"text", "number", "integer", "boolean", "url"}
