package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// object reads the fields of one JSON object of a request. It keeps the first error;
// after an error, reads return their default.
type object struct {
	name   string
	fields map[string]json.RawMessage
	used   map[string]bool
	loose  bool // columns changes values out of bounds to fit instead of refusing them
	err    error
}

func readObject(name string, raw json.RawMessage) *object {
	o := &object{name: name, used: map[string]bool{}}
	if err := json.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		o.err = &FieldError{Object: name, Value: clip(raw), Reason: "is not an object"}
	}
	return o
}

func (o *object) fail(field, reason string) {
	if o.err == nil {
		o.err = &FieldError{Object: o.name, Field: field, Value: clip(o.fields[field]), Reason: reason}
	}
}

// has reports whether field is present and not null, and marks it as used.
func (o *object) has(field string) bool {
	o.used[field] = true
	return o.err == nil && !isNull(o.fields[field])
}

func (o *object) int(field string, def int64) int64 {
	if !o.has(field) {
		return def
	}
	n, ok := ReadInt(o.fields[field])
	if !ok {
		o.fail(field, kindReason[KindInt])
	}
	return n
}

func (o *object) bool(field string, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	return o.int(field, d) != 0
}

func (o *object) text(field, def string) string {
	if !o.has(field) {
		return def
	}
	s, ok := readText(o.fields[field])
	if !ok {
		o.fail(field, KindText.reason(o.fields[field]))
	}
	return s
}

// textOrNil returns nil for an absent or null text.
func (o *object) textOrNil(field string) *string {
	if !o.has(field) {
		return nil
	}
	s := o.text(field, "")
	return &s
}

// bytesOrNil is textOrNil for the content of a file, which may hold any character.
func (o *object) bytesOrNil(field string) *string {
	var s string
	if o.has(field) && o.fields[field][0] == '"' && json.Unmarshal(o.fields[field], &s) == nil {
		return &s
	}
	return o.textOrNil(field)
}

func (o *object) raw(field string) json.RawMessage {
	if !o.has(field) {
		return nil
	}
	return o.fields[field]
}

func (o *object) list(field string) []json.RawMessage {
	if !o.has(field) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(o.fields[field], &list) != nil {
		o.fail(field, "is not a list")
		return nil
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return list
}

func (o *object) texts(field string, def []string) []string {
	if !o.has(field) {
		return def
	}
	texts := []string{}
	for _, raw := range o.list(field) {
		s, ok := readText(raw)
		if !ok || isNull(raw) {
			o.fail(field, "is not a list of texts")
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// criterion reads a criterions object. def applies to an absent or null object and to
// absent keys.
func (o *object) criterion(field string, def Criterion) Criterion {
	if !o.has(field) {
		return def
	}
	c, err := readCriterion(o.name+"."+field, o.fields[field], def)
	if err != nil && o.err == nil {
		o.err = err
	}
	return c
}

// columns reads the fields that are columns of table.
func (o *object) columns(table []Column) Patch {
	p := Patch{}
	for _, c := range table {
		if !o.has(c.JSON) {
			continue
		}
		value, set, ok := readKind(c.Kind, o.fields[c.JSON])
		loose := o.loose && c.Name != "URL" // a changed URL is another page
		if !ok && loose {
			value, set, ok = readLoose(c.Kind, o.fields[c.JSON])
		}
		if !ok {
			o.fail(c.JSON, c.Kind.reason(o.fields[c.JSON]))
			return p
		}
		if loose {
			value = c.Fit(value)
		} else if reason := c.refusal(value); reason != "" {
			o.fail(c.JSON, reason)
			return p
		}
		if set {
			p[c.Name] = value
		}
	}
	return p
}

// readLoose reads values that readKind refuses: a text with characters that cannot be
// stored, and a date that cannot be stored, for which set is false.
func readLoose(k Kind, raw json.RawMessage) (value any, set, ok bool) {
	var s string
	if raw[0] != '"' || k != KindText && k != KindDate || json.Unmarshal(raw, &s) != nil {
		return nil, false, false
	}
	return s, k == KindText, true
}

// bounded is int with a range.
func (o *object) bounded(field string, def int64, b Bounds) int64 {
	n := o.int(field, def)
	if n < b.Min || n > b.Max {
		o.fail(field, b.numbers())
	}
	return n
}

// end returns the error of the object. Without an error it notes the unused keys.
func (o *object) end(n *Notes) error {
	if o.err != nil {
		return o.err
	}
	if n == nil {
		return nil
	}
	for _, field := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.used[field] {
			n.unknown(o.name, field)
		}
	}
	return nil
}

// accept marks keys of older clients that have no effect.
func (o *object) accept(fields ...string) {
	for _, f := range fields {
		o.used[f] = true
	}
}

// listOf reads the list of objects in field. It returns nil if field is absent or null.
func listOf[T any](o *object, field string, read func(name string, raw json.RawMessage) (T, error)) ([]T, error) {
	if !o.has(field) {
		return nil, nil
	}
	return readList(o.name+"."+field, o.fields[field], read)
}

// readList reads a list of objects. An error names the element.
func readList[T any](name string, raw json.RawMessage, read func(name string, raw json.RawMessage) (T, error)) ([]T, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, &FieldError{Object: name, Value: clip(raw), Reason: "is not a list"}
	}
	out := make([]T, 0, len(list))
	for i, elem := range list {
		v, err := read(fmt.Sprintf("%s[%d]", name, i), elem)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
