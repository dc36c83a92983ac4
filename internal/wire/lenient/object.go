package lenient

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"hce/dc/internal/wire/schema"
)

// Reading is the reading of one request. It keeps the first error; after an error, reads
// return their default.
type Reading struct {
	Notes *Notes
	Err   error
}

// KeepFirstError keeps err unless there is an earlier error.
func (r *Reading) KeepFirstError(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// NewObject returns the JSON object raw of the request. name is its name in errors.
func (r *Reading) NewObject(name string, raw json.RawMessage) *Object {
	o := &Object{Reading: r, Name: name, used: map[string]bool{}}
	if err := json.Unmarshal(raw, &o.Fields); err != nil || o.Fields == nil {
		r.KeepFirstError(&FieldError{Object: name, Value: ClipText(raw), Reason: "is not an object"})
	}
	return o
}

// EachElement yields the names and values of a list until the first error.
func (r *Reading) EachElement(name string, raw json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			r.KeepFirstError(&FieldError{Object: name, Value: ClipText(raw), Reason: "is not a list"})
		}
		for i, elem := range list {
			if !yield(fmt.Sprintf("%s[%d]", name, i), elem) || r.Err != nil {
				return
			}
		}
	}
}

// ReadOne reads a request that is an object.
func ReadOne[T any](name string, raw json.RawMessage, n *Notes, read func(o *Object) T) (T, error) {
	r := &Reading{Notes: n}
	v := ReadObject(r, name, raw, read)
	return v, r.Err
}

// ReadList reads a request that is a list of objects.
func ReadList[T any](name string, raw json.RawMessage, n *Notes, read func(o *Object) T) ([]T, error) {
	r := &Reading{Notes: n}
	list := ReadObjects(r, name, raw, read)
	return list, r.Err
}

// ReadNullable reads a request that is a list of objects and nulls.
func ReadNullable[T any](name string, raw json.RawMessage, n *Notes, null T, read func(o *Object) T) ([]T, error) {
	r, list := &Reading{Notes: n}, []T{}
	for name, raw := range r.EachElement(name, raw) {
		if schema.IsNull(raw) {
			list = append(list, null)
			continue
		}
		list = append(list, ReadObject(r, name, raw, read))
	}
	return list, r.Err
}

// ReadOneOrMany reads a request that is an object or a list of objects.
func ReadOneOrMany[T any](name string, raw json.RawMessage, n *Notes, read func(o *Object) T) ([]T, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return ReadList(name, raw, n, read)
	}
	v, err := ReadOne(name, raw, n, read)
	return []T{v}, err
}

// ReadObject reads an object and notes its unused keys.
func ReadObject[T any](r *Reading, name string, raw json.RawMessage, read func(o *Object) T) T {
	o := r.NewObject(name, raw)
	v := read(o)
	o.NoteUnused()
	return v
}

// ReadObjects reads a list of objects.
func ReadObjects[T any](r *Reading, name string, raw json.RawMessage, read func(o *Object) T) []T {
	list := []T{}
	for name, raw := range r.EachElement(name, raw) {
		list = append(list, ReadObject(r, name, raw, read))
	}
	return list
}

// ListOf reads the list of objects in field. It returns nil if field is absent or null.
func ListOf[T any](o *Object, field string, read func(o *Object) T) []T {
	if !o.HasField(field) {
		return nil
	}
	return ReadObjects(o.Reading, o.Name+"."+field, o.Fields[field], read)
}

// Object reads the fields of one JSON object of a request.
type Object struct {
	*Reading
	Name   string                     // in errors
	Fields map[string]json.RawMessage // as they were sent
	Loose  bool                       // ReadColumns changes values out of bounds to fit instead of refusing them

	used map[string]bool
}

// ReadChild returns the object in field, which must be present.
func (o *Object) ReadChild(field string) *Object {
	return o.NewObject(o.Name+"."+field, o.Fields[field])
}

func (o *Object) RefuseField(field, reason string) {
	o.KeepFirstError(&FieldError{Object: o.Name, Field: field, Value: ClipText(o.Fields[field]), Reason: reason})
}

// RefuseMissing refuses the object without a value of field.
func (o *Object) RefuseMissing(field, reason string) {
	o.KeepFirstError(&FieldError{Object: o.Name, Field: field, Reason: reason})
}

// IsObject reports whether field is an object.
func (o *Object) IsObject(field string) bool { return o.HasField(field) && o.Fields[field][0] == '{' }

// HasField reports whether field is present and not null, and marks it as used.
func (o *Object) HasField(field string) bool {
	o.used[field] = true
	return o.Err == nil && !schema.IsNull(o.Fields[field])
}

func (o *Object) ReadInt(field string, def int64) int64 {
	if !o.HasField(field) {
		return def
	}
	n, ok := schema.ReadInt(o.Fields[field])
	if !ok {
		o.RefuseField(field, schema.KindInt.RefusalReason(o.Fields[field]))
	}
	return n
}

func (o *Object) ReadBool(field string, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	return o.ReadInt(field, d) != 0
}

func (o *Object) ReadText(field string) string {
	if !o.HasField(field) {
		return ""
	}
	s, ok := schema.ReadText(o.Fields[field])
	if !ok {
		o.RefuseField(field, schema.KindText.RefusalReason(o.Fields[field]))
	}
	return s
}

// ReadMD5 is text for the key of a URL, with lower-case digits.
func (o *Object) ReadMD5(field string) string { return schema.LowerMD5(o.ReadText(field)) }

// TextOrNil returns nil for an absent or null text.
func (o *Object) TextOrNil(field string) *string {
	if !o.HasField(field) {
		return nil
	}
	s := o.ReadText(field)
	return &s
}

// MD5OrNil is textOrNil for the key of a URL, with lower-case digits.
func (o *Object) MD5OrNil(field string) *string {
	text := o.TextOrNil(field)
	if text != nil {
		*text = schema.LowerMD5(*text)
	}
	return text
}

// BytesOrNil is textOrNil for the content of a file, which may hold any character.
func (o *Object) BytesOrNil(field string) *string {
	var s string
	if o.HasField(field) && o.Fields[field][0] == '"' && json.Unmarshal(o.Fields[field], &s) == nil {
		return &s
	}
	return o.TextOrNil(field)
}

func (o *Object) ReadRaw(field string) json.RawMessage {
	if !o.HasField(field) {
		return nil
	}
	return o.Fields[field]
}

func (o *Object) ReadList(field string) []json.RawMessage {
	if !o.HasField(field) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(o.Fields[field], &list) != nil {
		o.RefuseField(field, "is not a list")
		return nil
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return list
}

func (o *Object) ReadTexts(field string, def []string) []string {
	if !o.HasField(field) {
		return def
	}
	texts := []string{}
	for _, raw := range o.ReadList(field) {
		s, ok := schema.ReadText(raw)
		if !ok || schema.IsNull(raw) {
			o.RefuseField(field, "is not a list of texts")
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// ReadColumns reads the fields that are columns of table.
func (o *Object) ReadColumns(table []schema.Column) schema.Patch {
	p := schema.Patch{}
	for _, c := range table {
		if !o.HasField(c.JSON) {
			continue
		}
		value, set, reason := c.ReadValue(o.Fields[c.JSON], o.Loose && c.Name != "URL") // a changed URL is another page
		if reason != "" {
			o.RefuseField(c.JSON, reason)
		} else if set {
			p[c.Name] = value
		}
	}
	return p
}

// TagNumbers turns the texts of number columns that are no number into {"str": text}. Clients of the
// original write the name of a column there, which means the value that it has.
func (o *Object) TagNumbers(table []schema.Column) {
	for _, c := range table {
		raw := o.Fields[c.JSON]
		if len(raw) == 0 || raw[0] != '"' || c.Kind != schema.KindInt && c.Kind != schema.KindFloat {
			continue
		}
		if _, ok := c.ReadNumber(raw); !ok {
			o.Fields[c.JSON] = slices.Concat([]byte(`{"str":`), raw, []byte("}"))
		}
	}
}

// ReadBoundedInt is int with a range.
func (o *Object) ReadBoundedInt(field string, def int64, b schema.Bounds) int64 {
	n := o.ReadInt(field, def)
	if n < b.Min || n > b.Max {
		o.RefuseField(field, b.RangeReason())
	}
	return n
}

// NoteUnused notes the unused keys, unless there is an error.
func (o *Object) NoteUnused() {
	if o.Err != nil || o.Notes == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(o.Fields)) {
		if !o.used[field] {
			o.Notes.noteUnknown(o.Name, field, o.used)
		}
	}
}

// AcceptUnused marks keys of older clients that have no effect.
func (o *Object) AcceptUnused(fields ...string) {
	for _, f := range fields {
		o.used[f] = true
	}
}
