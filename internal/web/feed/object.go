package feed

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object with ordered members.
type object struct {
	members []member
	index   map[string]int
}

type member struct {
	name  string
	value any
}

// newObject returns an object with the pairs of name and value, without empty values.
func newObject(pairs ...any) *object {
	o := &object{}
	for i := 0; i < len(pairs); i += 2 {
		o.setIfMissing(pairs[i].(string), pairs[i+1])
	}
	return o
}

// setIfMissing sets name to value, unless the value is empty or the name exists.
func (o *object) setIfMissing(name string, value any) {
	if _, taken := o.index[name]; taken || isEmpty(value) {
		return
	}
	o.appendMember(name, value)
}

func (o *object) appendMember(name string, value any) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	o.index[name] = len(o.members)
	o.members = append(o.members, member{name, value})
}

// addValue appends a value to name: a second one turns it into a list of objects.
func (o *object) addValue(name string, value any) {
	i, taken := o.index[name]
	if !taken {
		o.appendMember(name, value)
		return
	}
	list, isList := o.members[i].value.([]any)
	if !isList {
		list = []any{inList(o.members[i].value)}
	}
	o.members[i].value = append(list, inList(value))
}

// inList returns a list element for value: the processor expects objects there
// (docs/spec/processing.md 4.1).
func inList(value any) any {
	if text, ok := value.(string); ok {
		o := &object{}
		o.appendMember("value", text)
		return o
	}
	return value
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case []int:
		return len(v) == 0
	case *object:
		return len(v.members) == 0
	}
	return false
}

// encodeJSON returns the object as JSON, without escapes of "<" and "&".
func (o *object) encodeJSON() (json.RawMessage, error) {
	var b bytes.Buffer
	if err := writeJSON(&b, o); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeJSON writes objects and lists itself: with json.Marshaler each level would copy and
// check all levels below it again.
func writeJSON(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, m := range v.members {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, m.name); err != nil {
				return err
			}
			b.WriteByte(':')
			if err := writeJSON(b, m.value); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, element := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, element); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	default:
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the line end of Encode
	}
	return nil
}
