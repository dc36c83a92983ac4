package merge

import (
	"encoding/json"
	"strconv"
	"time"

	"hce/dc/internal/wire"
)

// object is one JSON object; the values stay as they came.
type object map[string]json.RawMessage

func readObject(raw json.RawMessage) (object, bool) {
	var o object
	err := json.Unmarshal(raw, &o)
	return o, err == nil && o != nil
}

// readList reads a list; null is none.
func readList(raw json.RawMessage) ([]json.RawMessage, bool) {
	var list []json.RawMessage
	err := json.Unmarshal(raw, &list)
	return list, err == nil && list != nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (o object) isNil() bool { return o == nil }

// text is a text, or a number or bool as text; null and absent give "". It
// answers false for lists and objects.
func (o object) text(key string) (string, bool) {
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

// word is text for keys that are compared: what cannot be read is "".
func (o object) word(key string) string {
	s, _ := o.text(key)
	return s
}

// int is a whole number; what cannot be read is 0.
func (o object) int(key string) int64 {
	n, _ := wire.ReadInt(o[key])
	return n
}

// date is a moment in wire.DateLayout; ok is false for what cannot be read, which
// is the zero time and so before all others.
func (o object) date(key string) (t time.Time, ok bool) { return wire.Date(o.word(key)).Time() }

// newer reports whether o's date is after other's.
func (o object) newer(other object, key string) bool {
	mine, _ := o.date(key)
	its, _ := other.date(key)
	return mine.After(its)
}

// setHost says which node o is from.
func (o object) setHost(host string) {
	raw, err := json.Marshal(host)
	if err == nil { // always: a string is JSON
		o["host"] = raw
	}
}

func number(n int64) json.RawMessage { return strconv.AppendInt(nil, n, 10) }
