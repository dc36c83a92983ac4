package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// contract is the OpenAPI document as a client reads it.
type contract struct {
	Paths      map[string]map[string]documented
	Components struct{ Schemas map[string]*schema }
}

// documented is an operation of the document.
type documented struct {
	OperationID string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   *schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Content map[string]struct{ Schema *schema }
	}
}

// schema is a JSON schema with the keywords that the document uses.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 string             `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties json.RawMessage    `json:"additionalProperties"` // a boolean or a schema
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
	Enum                 []any              `json:"enum"`
	Minimum              *float64           `json:"minimum"`
	Maximum              *float64           `json:"maximum"`
	MinLength            *int               `json:"minLength"`
	MaxLength            *int               `json:"maxLength"`
	MinItems             *int               `json:"minItems"`
	MaxItems             *int               `json:"maxItems"`
	Pattern              string             `json:"pattern"`
	Format               string             `json:"format"`
	Description          string             `json:"description"`
	Examples             []any              `json:"examples"`
	Default              any                `json:"default"`

	others *schema // of AdditionalProperties
	closed bool    // other properties are forbidden
}

// UnmarshalJSON refuses keywords that check does not know.
func (s *schema) UnmarshalJSON(text []byte) error {
	type plain schema
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode((*plain)(s)); err != nil {
		return err
	}
	switch string(s.AdditionalProperties) {
	case "", "true":
	case "false":
		s.closed = true
	default:
		return json.Unmarshal(s.AdditionalProperties, &s.others)
	}
	return nil
}

// resolve returns the schema that a reference names.
func (c *contract) resolve(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s = c.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if s == nil {
		return &schema{}
	}
	return s
}

// checkText says where a text is not a JSON value of the schema.
func (c *contract) checkText(s *schema, text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more than one value")
	}
	return c.check(s, value, "$")
}

// check says where a value is not one of the schema.
func (c *contract) check(s *schema, value any, at string) error {
	s = c.resolve(s)
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, value) {
		return fmt.Errorf("%s: %v is not one of %v", at, value, s.Enum)
	}
	kind := ""
	switch v := value.(type) {
	case string:
		kind = "string"
		if err := s.checkString(v); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	case json.Number:
		n, err := v.Float64()
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		if kind = "number"; s.Type == "integer" && n == math.Trunc(n) {
			kind = "integer"
		}
		if s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum {
			return fmt.Errorf("%s: %v is not between the bounds", at, v)
		}
	case bool:
		kind = "boolean"
	case nil:
		kind = "null"
	case []any:
		kind = "array"
		if s.MinItems != nil && len(v) < *s.MinItems || s.MaxItems != nil && len(v) > *s.MaxItems {
			return fmt.Errorf("%s: %d items", at, len(v))
		}
		for i, one := range v {
			if err := c.check(s.Items, one, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		kind = "object"
		if err := c.checkObject(s, v, at); err != nil {
			return err
		}
	}
	if s.Type != "" && s.Type != kind {
		return fmt.Errorf("%s: %s instead of %s", at, kind, s.Type)
	}
	return nil
}

func (c *contract) checkObject(s *schema, object map[string]any, at string) error {
	for _, name := range s.Required {
		if _, given := object[name]; !given {
			return fmt.Errorf("%s: %s is missing", at, name)
		}
	}
	for name, value := range object {
		property := s.Properties[name]
		switch {
		case property != nil:
		case s.closed:
			return fmt.Errorf("%s: the document has no %s", at, name)
		default:
			property = s.others
		}
		if err := c.check(property, value, at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) checkString(text string) error {
	n := utf8.RuneCountInString(text)
	if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
		return fmt.Errorf("%d characters", n)
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		return fmt.Errorf("%q does not match %s", text, s.Pattern)
	}
	if s.Format == "date-time" {
		_, err := time.Parse(time.RFC3339Nano, text)
		return err
	}
	return nil
}
