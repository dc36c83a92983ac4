package schema

import (
	"encoding/hex"
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

// DateLayout is the format of stored dates, in UTC and whole seconds.
const DateLayout = "2006-01-02 15:04:05"

// Date is a UTC time as text in DateLayout. The empty Date is NULL in SQL and null in
// JSON. Dates compare as texts.
type Date string

// DateOf converts t to UTC. The zero time gives the empty Date.
func DateOf(t time.Time) Date {
	if t.IsZero() {
		return ""
	}
	return Date(t.UTC().Format(DateLayout))
}

// Time converts d to a UTC time; ok is false for an empty or invalid Date.
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

// Expr is an unchecked SQL expression of a client, in the MySQL dialect. It must pass
// package expr before a database sees it (docs/spec/DECISIONS.md 4).
type Expr string

// MarshalJSON writes the tagged form {"str": expression}.
func (e Expr) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"str": string(e)})
}

// Patch holds the columns of a row that a request sets, by database column name.
// A value is int64, float64, string, Expr, or nil for NULL. An absent column keeps its
// value; in a new row it gets the default of the database.
type Patch map[string]any

// Int returns the whole number of column, or def if p does not set one.
func (p Patch) Int(column string, def int64) int64 {
	if v, ok := p[column].(int64); ok {
		return v
	}
	return def
}

// Text returns the text of column, or "" if p does not set one.
func (p Patch) Text(column string) string {
	s, _ := p[column].(string)
	return s
}

// Kind is the type of a field in a request (docs/spec/objects.md 0).
type Kind int

// Kinds of fields.
const (
	KindInt Kind = iota
	KindFloat
	KindText
	KindDate
)

func IsNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// ReadInt reads a whole number as clients write it: a number, truncated toward 0, a
// bool, or a text of decimal digits. It returns false for anything else, including null
// and an empty raw. Whole numbers of 64 bits stay exact.
func ReadInt(raw json.RawMessage) (int64, bool) {
	switch s := string(raw); s {
	case "", "null":
		return 0, false
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

// ReadText accepts a text, number or bool. It refuses texts that MySQL cannot store:
// with NUL, or with bytes or escapes that are not characters.
func ReadText(raw json.RawMessage) (string, bool) {
	switch raw[0] {
	case '"':
		var s string
		ok := json.Unmarshal(raw, &s) == nil && utf8.Valid(raw) && strings.IndexByte(s, 0) < 0
		// encoding/json reads a lone surrogate, \ud800, as U+FFFD.
		return s, ok && (!strings.ContainsRune(s, utf8.RuneError) || !hasLoneSurrogate(raw))
	case '{', '[':
		return "", false
	}
	return string(raw), true
}

// hasLoneSurrogate reports whether an escape of a JSON text is half a character.
func hasLoneSurrogate(raw json.RawMessage) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		r := decodeEscape(raw, i)
		if !utf16.IsSurrogate(r) {
			continue
		}
		if i += 6; utf16.DecodeRune(r, decodeEscape(raw, i)) == utf8.RuneError || raw[i-1] != '\\' {
			return true
		}
	}
	return false
}

// decodeEscape decodes the escape uXXXX at i, or returns -1.
func decodeEscape(raw json.RawMessage, i int) rune {
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

// looseDate is a date as MySQL also reads it: years of two digits, numbers without leading zeros and other
// separators, such as 12-12-12 12.12.12.
var looseDate = regexp.MustCompile(`^(\d{4}|\d\d)[-./](\d{1,2})[-./](\d{1,2})(?:[ T](\d{1,2})[:.](\d{1,2})(?:[:.](\d{1,2}))?)?$`)

// usualDate returns a loose date in DateLayout, and other texts unchanged. Years of two digits are 1970 to 2069.
func usualDate(text string) string {
	m := looseDate.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	var n [6]int
	for i := range n {
		n[i], _ = strconv.Atoi(m[i+1]) // "" is 0
	}
	switch {
	case len(m[1]) == 2 && n[0] < 70:
		n[0] += 2000
	case len(m[1]) == 2:
		n[0] += 1900
	}
	return fmt.Sprintf("%04d-%02d-%02d %02d:%02d:%02d", n[0], n[1], n[2], n[3], n[4], n[5])
}

// stripQuotes removes the quotes that clients may write around a date
// (docs/spec/objects.md 4.3).
func stripQuotes(s string) string {
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		return strings.TrimSpace(s[1 : n-1])
	}
	return s
}

// ReadDate accepts a text or {"str": text}. A date of the years 1000 to 9999 gives a
// string, "NULL" gives nil, any other text an Expr. For "" and other JSON types set is
// false (docs/spec/DECISIONS.md 1.6).
func ReadDate(raw json.RawMessage) (value any, set, ok bool) {
	var text string
	switch raw[0] {
	case '"':
		if text, ok = ReadText(raw); !ok {
			return nil, false, false
		}
	case '{':
		if text, ok = taggedText(raw); !ok {
			return nil, false, false
		}
	default:
		return nil, false, true
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "" || text == "None":
		return nil, false, true
	case strings.EqualFold(text, "NULL"):
		return nil, true, true
	}
	if m := plainDate.FindStringSubmatch(usualDate(stripQuotes(text))); m != nil {
		if m[2] == "" {
			m[2] = "00:00:00"
		}
		d := m[1] + " " + m[2]
		return d, true, isStorableDate(d)
	}
	return Expr(text), true, true
}

var kindReasons = map[Kind]string{
	KindInt:   "is not a whole number",
	KindFloat: "is not a number",
	KindText:  "is not a text",
	KindDate:  "is not a date of the years 1000 to 9999 or an SQL expression",
}

// RefusalReason tells why raw is not a value of k.
func (k Kind) RefusalReason(raw json.RawMessage) string {
	if _, ok := ReadText(raw); !ok && raw[0] == '"' && k != KindInt && k != KindFloat {
		return "has NUL, or bytes or escapes that are no character"
	}
	return kindReasons[k]
}

// ReadValue reads a value that is not null. set is false for a value that means "not set".
// reason tells why raw is refused. With loose, values that cannot be stored are changed to
// fit, and dates that cannot be stored are not set.
func (c Column) ReadValue(raw json.RawMessage, loose bool) (value any, set bool, reason string) {
	ok := true
	set = true
	switch c.Kind {
	case KindInt, KindFloat:
		value, ok = c.ReadNumber(raw)
		if _, computed := value.(Expr); loose && (computed || !ok) {
			return nil, false, "" // of the request that made the row; only a database can compute it
		}
	case KindText:
		var text string
		if text, ok = ReadText(raw); c.key {
			text = LowerMD5(text)
		}
		value = text
	default:
		value, set, ok = ReadDate(raw)
	}
	if !ok && loose && raw[0] == '"' && (c.Kind == KindText || c.Kind == KindDate) {
		var s string
		ok = json.Unmarshal(raw, &s) == nil
		value, set = s, c.Kind == KindText
	}
	switch {
	case !ok:
		return nil, false, c.Kind.RefusalReason(raw)
	case loose:
		return c.Fit(value), set, ""
	}
	return value, set, c.RefusalReason(value)
}

// ReadNumber reads a number, or {"str": text}, whose text is a number or an SQL expression.
func (c Column) ReadNumber(raw json.RawMessage) (value any, ok bool) {
	if raw[0] == '{' {
		text, ok := taggedText(raw)
		if !ok {
			return nil, false
		}
		if plain := QuoteJSON(strings.TrimSpace(text)); len(plain) > 2 {
			if value, ok := c.ReadNumber(plain); ok {
				return value, true
			}
		}
		// The parentheses keep NOW() from being taken for a date.
		return Expr("(" + text + ")"), strings.TrimSpace(text) != ""
	}
	if c.Kind == KindFloat {
		return readFloat(raw)
	}
	return ReadInt(raw)
}

// taggedText reads {"str": text}.
func taggedText(raw json.RawMessage) (string, bool) {
	var tagged struct {
		Str json.RawMessage `json:"str"`
	}
	if json.Unmarshal(raw, &tagged) != nil || len(tagged.Str) == 0 || tagged.Str[0] != '"' {
		return "", false
	}
	return ReadText(tagged.Str)
}

// LowerMD5 returns an md5 with lower-case digits, and any other text unchanged. Keys ignore
// case, as they did in the tables of the original.
func LowerMD5(text string) string {
	if lower := strings.ToLower(text); isMD5(lower) {
		return lower
	}
	return text
}

func isMD5(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 16 && strings.ToLower(text) == text
}

// QuoteJSON returns a text as a JSON text.
func QuoteJSON(s string) []byte {
	b, _ := json.Marshal(s) // a string never fails
	return b
}
