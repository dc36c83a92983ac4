package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// DateLayout is how dates are stored and answered: UTC, whole seconds.
const DateLayout = "2006-01-02 15:04:05"

// Date is a moment as text in DateLayout, UTC. The empty Date is SQL's NULL and
// JSON's null. Dates compare as texts.
type Date string

// DateOf gives t as a Date, in UTC; the zero time gives the empty Date.
func DateOf(t time.Time) Date {
	if t.IsZero() {
		return ""
	}
	return Date(t.UTC().Format(DateLayout))
}

// Time is the moment of d, UTC; ok is false for an empty or unreadable Date.
func (d Date) Time() (t time.Time, ok bool) {
	t, err := time.Parse(DateLayout, string(d))
	return t, err == nil
}

// MarshalJSON writes null for the empty Date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d == "" {
		return []byte("null"), nil
	}
	return json.Marshal(string(d))
}

// Expr is an SQL expression from outside, unchecked, in the MySQL dialect.
// Package expr turns it into something that a database may see (docs/spec/DECISIONS.md 4).
type Expr string

// MarshalJSON writes the tagged form {"str": expression}.
func (e Expr) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"str": string(e)})
}

// Patch says which columns of a row a request sets, by database column name.
// A value is int64, float64, string, Expr, or nil for NULL. A column that is not
// there keeps its value, or takes the database's default in a new row.
type Patch map[string]any

// Int is the whole number set for column, or def when p sets none.
func (p Patch) Int(column string, def int64) int64 {
	if v, ok := p[column].(int64); ok {
		return v
	}
	return def
}

// Text is the text set for column, or "".
func (p Patch) Text(column string) string {
	s, _ := p[column].(string)
	return s
}

// FieldError says which field of which object of a request is wrong, and how.
type FieldError struct {
	Object, Field string
	Value         string // the offending JSON, clipped; "" when the field is missing
	Reason        string
}

func (e *FieldError) Error() string {
	name := e.Object
	if e.Field != "" {
		name += "." + e.Field
	}
	if e.Value == "" {
		return name + " " + e.Reason
	}
	return name + ": " + e.Value + " " + e.Reason
}

func clip(b []byte) string {
	const most = 120
	s := string(bytes.ToValidUTF8(bytes.TrimSpace(b), []byte("?")))
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

var (
	idPattern  = regexp.MustCompile(`^[0-9A-Za-z_-]{1,32}$`)
	md5Pattern = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// CheckSiteID refuses what cannot be the id of a site (docs/spec/DECISIONS.md 4). The id goes
// into table and file names.
func CheckSiteID(object, field, id string) error {
	if idPattern.MatchString(id) {
		return nil
	}
	return &FieldError{Object: object, Field: field, Value: clip(quoteJSON(id)), Reason: "is not a site id: 1 to 32 letters, digits, - or _"}
}

// CheckMd5 refuses what is not 32 lower-case hexadecimal digits.
func CheckMd5(object, field, md5 string) error {
	if md5Pattern.MatchString(md5) {
		return nil
	}
	return &FieldError{Object: object, Field: field, Value: clip(quoteJSON(md5)), Reason: "is not an md5: 32 lower-case hexadecimal digits"}
}

func quoteJSON(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		return []byte(strconv.Quote(s))
	}
	return b
}

// Kind is how the value of a field is read from a request (docs/spec/objects.md 0).
type Kind int

// Kinds of fields.
const (
	KindInt Kind = iota
	KindFloat
	KindText
	KindDate
)

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// ReadInt reads a whole number as requests may write it: a number, whose
// fraction is cut, a bool, or a text of decimal digits. It answers false for
// anything else, null and nothing included. Whole numbers of 64 bits stay exact.
func ReadInt(raw json.RawMessage) (int64, bool) {
	if isNull(raw) {
		return 0, false
	}
	return readInt(raw)
}

// readInt accepts a number (cut toward 0), a bool, or a text with a decimal
// integer.
func readInt(raw json.RawMessage) (int64, bool) {
	switch s := string(raw); s {
	case "true":
		return 1, true
	case "false":
		return 0, true
	default:
		if raw[0] == '"' {
			if json.Unmarshal(raw, &s) != nil {
				return 0, false
			}
			n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			return n, err == nil
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, true
		}
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || f >= math.MaxInt64 || f <= math.MinInt64 {
			return 0, false
		}
		return int64(f), true
	}
}

func readFloat(raw json.RawMessage) (float64, bool) {
	switch s := string(raw); s {
	case "true":
		return 1, true
	case "false":
		return 0, true
	default:
		if raw[0] == '"' && json.Unmarshal(raw, &s) != nil {
			return 0, false
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
	}
}

// readText accepts a text; a number or bool becomes its text. What MySQL cannot
// store is no text: NUL, and bytes or escapes that are no characters.
func readText(raw json.RawMessage) (string, bool) {
	switch raw[0] {
	case '"':
		var s string
		ok := json.Unmarshal(raw, &s) == nil && utf8.Valid(raw) && strings.IndexByte(s, 0) < 0
		// A lone surrogate, \ud800, is read as U+FFFD.
		return s, ok && (!strings.ContainsRune(s, utf8.RuneError) || wholePairs(raw))
	case '{', '[':
		return "", false
	}
	return string(raw), true
}

// wholePairs reports whether the escapes of a JSON text name whole characters.
func wholePairs(raw json.RawMessage) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r := escaped(raw, i)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i += 6; utf16.DecodeRune(r, escaped(raw, i)) == utf8.RuneError || raw[i-1] != '\\' {
			return false
		}
	}
	return true
}

// escaped is what the escape uXXXX at i names, or -1.
func escaped(raw json.RawMessage, i int) rune {
	if i+5 > len(raw) || raw[i] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

var plainDate = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?$`)

// unquoted drops the quotes around a text, which dates may have or not (docs/spec/objects.md
// 4.3).
func unquoted(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// readDate accepts a text or {"str": text}: a plain date of the years 1000 to
// 9999 becomes a value, NULL becomes nil, anything else an expression; "" means
// not set (docs/spec/DECISIONS.md 1.6).
func readDate(raw json.RawMessage) (value any, set, ok bool) {
	var text string
	switch raw[0] {
	case '"':
		if text, ok = readText(raw); !ok {
			return nil, false, false
		}
	case '{':
		var tagged struct {
			Str json.RawMessage `json:"str"`
		}
		if json.Unmarshal(raw, &tagged) != nil || len(tagged.Str) == 0 || tagged.Str[0] != '"' {
			return nil, false, false
		}
		if text, ok = readText(tagged.Str); !ok {
			return nil, false, false
		}
	default:
		return nil, false, true // other types silently mean "not set"
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "None":
		return nil, false, true
	case strings.EqualFold(text, "NULL"):
		return nil, true, true
	}
	if m := plainDate.FindStringSubmatch(unquoted(text)); m != nil {
		if m[2] == "" {
			m[2] = "00:00:00"
		}
		d := m[1] + " " + m[2]
		return d, true, storable(d)
	}
	return Expr(text), true, true
}

var kindReason = map[Kind]string{
	KindInt:   "is not a whole number",
	KindFloat: "is not a number",
	KindText:  "is not a text",
	KindDate:  "is not a date of the years 1000 to 9999 or an SQL expression",
}

// reason tells why a value is not read as k.
func (k Kind) reason(raw json.RawMessage) string {
	if _, ok := readText(raw); !ok && raw[0] == '"' && k != KindInt && k != KindFloat {
		return "has NUL, or bytes or escapes that are no character"
	}
	return kindReason[k]
}

// readKind reads one value that is not null; set is false when the value means
// "not set".
func readKind(k Kind, raw json.RawMessage) (value any, set, ok bool) {
	switch k {
	case KindInt:
		n, ok := readInt(raw)
		return n, true, ok
	case KindFloat:
		f, ok := readFloat(raw)
		return f, true, ok
	case KindText:
		s, ok := readText(raw)
		return s, true, ok
	default:
		return readDate(raw)
	}
}

// Notes collects what is worth a warning but not a refusal: the unknown keys of
// a request, as Site.parentMD5. A nil *Notes collects nothing.
type Notes struct {
	Unknown []string
}

func (n *Notes) unknown(object, field string) {
	if n == nil || len(n.Unknown) >= 50 {
		return
	}
	n.Unknown = append(n.Unknown, fmt.Sprintf("%s.%s", object, field))
}
