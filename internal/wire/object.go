package wire

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	"hce/dc/internal/wire/schema"
)

// reading is the reading of one request. It keeps the first error; after an error, reads
// return their default.
type reading struct {
	notes *Notes
	err   error
}

// keepFirstError keeps err unless there is an earlier error.
func (r *reading) keepFirstError(err error) {
	if r.err == nil {
		r.err = err
	}
}

// newObject returns the JSON object raw of the request. name is its name in errors.
func (r *reading) newObject(name string, raw json.RawMessage) *object {
	o := &object{reading: r, name: name, used: map[string]bool{}}
	if err := json.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		r.keepFirstError(&FieldError{Object: name, Value: clipText(raw), Reason: "is not an object"})
	}
	return o
}

// eachElement yields the names and values of a list until the first error.
func (r *reading) eachElement(name string, raw json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil || list == nil {
			r.keepFirstError(&FieldError{Object: name, Value: clipText(raw), Reason: "is not a list"})
		}
		for i, elem := range list {
			if !yield(fmt.Sprintf("%s[%d]", name, i), elem) || r.err != nil {
				return
			}
		}
	}
}

// readOne reads a request that is an object.
func readOne[T any](name string, raw json.RawMessage, n *Notes, read func(o *object) T) (T, error) {
	r := &reading{notes: n}
	v := readObject(r, name, raw, read)
	return v, r.err
}

// readList reads a request that is a list of objects.
func readList[T any](name string, raw json.RawMessage, n *Notes, read func(o *object) T) ([]T, error) {
	r := &reading{notes: n}
	list := readObjects(r, name, raw, read)
	return list, r.err
}

// readNullable reads a request that is a list of objects and nulls.
func readNullable[T any](name string, raw json.RawMessage, n *Notes, null T, read func(o *object) T) ([]T, error) {
	r, list := &reading{notes: n}, []T{}
	for name, raw := range r.eachElement(name, raw) {
		if schema.IsNull(raw) {
			list = append(list, null)
			continue
		}
		list = append(list, readObject(r, name, raw, read))
	}
	return list, r.err
}

// readOneOrMany reads a request that is an object or a list of objects.
func readOneOrMany[T any](name string, raw json.RawMessage, n *Notes, read func(o *object) T) ([]T, error) {
	if len(raw) > 0 && raw[0] == '[' {
		return readList(name, raw, n, read)
	}
	v, err := readOne(name, raw, n, read)
	return []T{v}, err
}

// readObject reads an object and notes its unused keys.
func readObject[T any](r *reading, name string, raw json.RawMessage, read func(o *object) T) T {
	o := r.newObject(name, raw)
	v := read(o)
	o.noteUnused()
	return v
}

func readObjects[T any](r *reading, name string, raw json.RawMessage, read func(o *object) T) []T {
	list := []T{}
	for name, raw := range r.eachElement(name, raw) {
		list = append(list, readObject(r, name, raw, read))
	}
	return list
}

// listOf reads the list of objects in field. It returns nil if field is absent or null.
func listOf[T any](o *object, field string, read func(o *object) T) []T {
	if !o.hasField(field) {
		return nil
	}
	return readObjects(o.reading, o.name+"."+field, o.fields[field], read)
}

// object reads the fields of one JSON object of a request.
type object struct {
	*reading
	name   string
	fields map[string]json.RawMessage
	used   map[string]bool
	loose  bool // columns changes values out of bounds to fit instead of refusing them
}

// readChild returns the object in field, which must be present.
func (o *object) readChild(field string) *object {
	return o.newObject(o.name+"."+field, o.fields[field])
}

func (o *object) refuseField(field, reason string) {
	o.keepFirstError(&FieldError{Object: o.name, Field: field, Value: clipText(o.fields[field]), Reason: reason})
}

// refuseMissing refuses the object without a value of field.
func (o *object) refuseMissing(field, reason string) {
	o.keepFirstError(&FieldError{Object: o.name, Field: field, Reason: reason})
}

// isObject reports whether field is an object.
func (o *object) isObject(field string) bool { return o.hasField(field) && o.fields[field][0] == '{' }

// hasField reports whether field is present and not null, and marks it as used.
func (o *object) hasField(field string) bool {
	o.used[field] = true
	return o.err == nil && !schema.IsNull(o.fields[field])
}

func (o *object) readInt(field string, def int64) int64 {
	if !o.hasField(field) {
		return def
	}
	n, ok := schema.ReadInt(o.fields[field])
	if !ok {
		o.refuseField(field, schema.KindInt.RefusalReason(o.fields[field]))
	}
	return n
}

func (o *object) readBool(field string, def bool) bool {
	d := int64(0)
	if def {
		d = 1
	}
	return o.readInt(field, d) != 0
}

func (o *object) readText(field string) string {
	if !o.hasField(field) {
		return ""
	}
	s, ok := schema.ReadText(o.fields[field])
	if !ok {
		o.refuseField(field, schema.KindText.RefusalReason(o.fields[field]))
	}
	return s
}

// readMD5 is text for the key of a URL, with lower-case digits.
func (o *object) readMD5(field string) string { return schema.LowerMD5(o.readText(field)) }

// textOrNil returns nil for an absent or null text.
func (o *object) textOrNil(field string) *string {
	if !o.hasField(field) {
		return nil
	}
	s := o.readText(field)
	return &s
}

// md5OrNil is textOrNil for the key of a URL, with lower-case digits.
func (o *object) md5OrNil(field string) *string {
	text := o.textOrNil(field)
	if text != nil {
		*text = schema.LowerMD5(*text)
	}
	return text
}

// bytesOrNil is textOrNil for the content of a file, which may hold any character.
func (o *object) bytesOrNil(field string) *string {
	var s string
	if o.hasField(field) && o.fields[field][0] == '"' && json.Unmarshal(o.fields[field], &s) == nil {
		return &s
	}
	return o.textOrNil(field)
}

func (o *object) readRaw(field string) json.RawMessage {
	if !o.hasField(field) {
		return nil
	}
	return o.fields[field]
}

func (o *object) readList(field string) []json.RawMessage {
	if !o.hasField(field) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(o.fields[field], &list) != nil {
		o.refuseField(field, "is not a list")
		return nil
	}
	if list == nil {
		list = []json.RawMessage{}
	}
	return list
}

func (o *object) readTexts(field string, def []string) []string {
	if !o.hasField(field) {
		return def
	}
	texts := []string{}
	for _, raw := range o.readList(field) {
		s, ok := schema.ReadText(raw)
		if !ok || schema.IsNull(raw) {
			o.refuseField(field, "is not a list of texts")
			return nil
		}
		texts = append(texts, s)
	}
	return texts
}

// readColumns reads the fields that are columns of table.
func (o *object) readColumns(table []schema.Column) schema.Patch {
	p := schema.Patch{}
	for _, c := range table {
		if !o.hasField(c.JSON) {
			continue
		}
		value, set, reason := c.ReadValue(o.fields[c.JSON], o.loose && c.Name != "URL") // a changed URL is another page
		if reason != "" {
			o.refuseField(c.JSON, reason)
		} else if set {
			p[c.Name] = value
		}
	}
	return p
}

// tagNumbers turns the texts of number columns that are no number into {"str": text}. Clients of the
// original write the name of a column there, which means the value that it has.
func (o *object) tagNumbers(table []schema.Column) {
	for _, c := range table {
		raw := o.fields[c.JSON]
		if len(raw) == 0 || raw[0] != '"' || c.Kind != schema.KindInt && c.Kind != schema.KindFloat {
			continue
		}
		if _, ok := c.ReadNumber(raw); !ok {
			o.fields[c.JSON] = slices.Concat([]byte(`{"str":`), raw, []byte("}"))
		}
	}
}

// readBoundedInt is int with a range.
func (o *object) readBoundedInt(field string, def int64, b schema.Bounds) int64 {
	n := o.readInt(field, def)
	if n < b.Min || n > b.Max {
		o.refuseField(field, b.RangeReason())
	}
	return n
}

// noteUnused notes the unused keys, unless there is an error.
func (o *object) noteUnused() {
	if o.err != nil || o.notes == nil {
		return
	}
	for _, field := range slices.Sorted(maps.Keys(o.fields)) {
		if !o.used[field] {
			o.notes.noteUnknown(o.name, field, o.used)
		}
	}
}

// acceptUnused marks keys of older clients that have no effect.
func (o *object) acceptUnused(fields ...string) {
	for _, f := range fields {
		o.used[f] = true
	}
}
