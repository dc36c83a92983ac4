package merge

import (
	"encoding/json"
	"time"

	"hce/dc/internal/wire/schema"
)

// object is a JSON object with undecoded values.
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) (object, bool) {
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err == nil && o != nil
}

// readList reads a list. null is invalid.
func readList(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return list, err == nil && list != nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (o object) isNil() bool { return o == nil }

// textValue returns a text, number or bool as text, and "" for null and an absent key. It
// returns false for lists and objects.
func (o object) textValue(key string) (string, bool) {
	raw := o[key]
	if isNull(raw) {
		return "", true
	}
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case '[', '{':
		return "", false
	}
	return string(raw), true
}

// textOrEmpty is text with "" for an invalid value.
func (o object) textOrEmpty(key string) string {
	s, _ := o.textValue(key)
	return s
}

// intValue returns a whole number, or 0 for an invalid value.
func (o object) intValue(key string) int64 {
	n, _ := schema.ReadInt(o[key])
	return n
}

// dateValue returns a date in schema.DateLayout. For an invalid value it returns the zero time,
// which is before all others, and false.
func (o object) dateValue(key string) (t time.Time, ok bool) {
	return schema.Date(o.textOrEmpty(key)).Time()
}

// isNewer reports whether the date of o is after that of other.
func (o object) isNewer(other object, key string) bool {
	mine, _ := o.dateValue(key)
	its, _ := other.dateValue(key)
	return mine.After(its)
}

// setHost adds the host of the node that sent o.
func (o object) setHost(host string) { o["host"], _ = json.Marshal(host) } // a string never fails
