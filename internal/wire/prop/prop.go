// Package prop decodes the JSON values of site properties.
//
// People write properties by hand. Its types accept numbers in quotes and one text in
// place of a list of texts, and keep the order of the members of an object, which can be
// significant ("first match wins"). Errors name the member.
//
//	var v struct {
//		Tries prop.Int   `json:"tries_count"`
//		Hosts prop.Texts `json:"domains"`
//	}
//	err := prop.Decode(text, &v)
//
// Errors start with a verb, so that callers can write "property NAME " before them.
// Source: docs/spec/crawling.md 3.
package prop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// Decode decodes text, which must be exactly one JSON value, into v. It ignores unknown
// members.
func Decode(text string, v any) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("is empty")
	}
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(v); err != nil {
		return explainError(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has more behind its JSON value")
	}
	return nil
}

// explainError rewrites an error of encoding/json for the author of the property.
func explainError(err error) error {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
	)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("is not valid JSON: %w at byte %d", err, syntax.Offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("is not valid JSON: it ends too early")
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("has a JSON %s at %q; expected %s", kind.Value, kind.Field, kindName(kind.Type.Kind().String()))
	case errors.As(err, &kind):
		return fmt.Errorf("is a JSON %s; expected %s", kind.Value, kindName(kind.Type.Kind().String()))
	}
	return err
}

// kindName returns the JSON name of a Go kind.
func kindName(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "a list"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	}
	return "a number"
}

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Members are the members of a JSON object in the order of the text, including repeated
// names.
type Members []Member

// UnmarshalJSON reads an object. null gives nil.
func (m *Members) UnmarshalJSON(raw []byte) error {
	*m = nil
	d := json.NewDecoder(bytes.NewReader(raw))
	switch t, err := d.Token(); {
	case err != nil:
		return err
	case t == nil:
		return nil
	case t != json.Delim('{'):
		return errors.New("is not a JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		member := Member{Name: name.(string)} // the decoder returns keys as strings
		if err := d.Decode(&member.Value); err != nil {
			return err
		}
		*m = append(*m, member)
	}
	return nil
}

// Int is a whole number, as a number or in quotes; true and false are 1 and 0.
type Int int64

// UnmarshalJSON reads a number. null and "" do not change n.
func (n *Int) UnmarshalJSON(raw []byte) error {
	text, given, err := scalarText(raw)
	if err != nil || !given {
		return err
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = Int(i)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return fmt.Errorf("has %s; expected a whole number", clipRaw(raw))
	}
	*n = Int(f)
	return nil
}

// Float is a finite number, as a number or in quotes.
type Float float64

// UnmarshalJSON reads a number. null and "" do not change n.
func (n *Float) UnmarshalJSON(raw []byte) error {
	text, given, err := scalarText(raw)
	if err != nil || !given {
		return err
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Errorf("has %s; expected a number", clipRaw(raw))
	}
	*n = Float(f)
	return nil
}

// Bool is true, false, a number (0 is false) or one of these in quotes.
type Bool bool

// UnmarshalJSON reads a bool. null and "" do not change b.
func (b *Bool) UnmarshalJSON(raw []byte) error {
	var n Int
	text, given, err := scalarText(raw)
	if err != nil || !given {
		return err
	}
	if err := n.UnmarshalJSON([]byte(strconv.Quote(text))); err != nil {
		return fmt.Errorf("has %s; expected 0 or 1", clipRaw(raw))
	}
	*b = n != 0
	return nil
}

// Texts is a list of texts, or one text. Numbers become their text.
type Texts []string

// UnmarshalJSON reads the list. null gives nil.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	switch {
	case bytes.Equal(raw, []byte("null")):
		*t = nil
		return nil
	case raw[0] != '[':
		list = []json.RawMessage{raw}
	default:
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
	}
	texts := make(Texts, 0, len(list))
	for _, element := range list {
		text, err := Text(element)
		if err != nil {
			return err
		}
		texts = append(texts, text)
	}
	*t = texts
	return nil
}

// Text returns a JSON text, number or bool as text.
func Text(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	if len(raw) > 0 && strings.IndexByte("-0123456789tf", raw[0]) >= 0 {
		return string(raw), nil
	}
	return "", fmt.Errorf("has %s; expected a text", clipRaw(raw))
}

// scalarText returns the text of a scalar, with 1 and 0 for bools. given is false for null and
// "".
func scalarText(raw []byte) (text string, given bool, err error) {
	if bytes.Equal(raw, []byte("null")) {
		return "", false, nil
	}
	if text, err = Text(raw); err != nil {
		return "", false, fmt.Errorf("has %s; expected a number", clipRaw(raw))
	}
	switch text = strings.TrimSpace(text); text {
	case "true":
		text = "1"
	case "false":
		text = "0"
	}
	return text, text != "", nil
}

// Clip shortens text to 80 bytes for an error message.
func Clip(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "..."
	}
	return text
}

func clipRaw(raw []byte) string { return Clip(string(raw)) }
