package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
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

// FieldError reports an invalid field of a request.
type FieldError struct {
	Object, Field string // "URLNew[0]", "urlMd5"
	Value         string // the invalid JSON, clipped; "" if the field is missing
	Reason        string // "is not ..."
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

func clipText(b []byte) string {
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

// ValidSiteID reports whether id can be that of a site.
func ValidSiteID(id string) bool { return idPattern.MatchString(id) }

// CheckSiteID refuses an invalid site id (docs/spec/DECISIONS.md 4). Ids are part of
// table and file names. Errors are *FieldError with the given object and field.
func CheckSiteID(object, field, id string) error {
	return checkPattern(idPattern, object, field, id, "is not a site id: 1 to 32 letters, digits, - or _")
}

// CheckMd5 accepts 32 lower-case hexadecimal digits: readers of requests write keys so. Errors
// are *FieldError.
func CheckMd5(object, field, md5 string) error {
	return checkPattern(md5Pattern, object, field, md5, "is not an md5: 32 hexadecimal digits")
}

// lowerMd5 returns an md5 with lower-case digits, and any other text unchanged. Keys ignore
// case, as they did in the tables of the original.
func lowerMd5(text string) string {
	if lower := strings.ToLower(text); md5Pattern.MatchString(lower) {
		return lower
	}
	return text
}

// NoKey is the key of no URL.
const NoKey = "00000000000000000000000000000000"

// keyToFind returns a key that a request looks for. A text that is no key, which the tables of the
// original merely did not have, becomes NoKey; "" stays.
func keyToFind(text string) string {
	if text == "" || md5Pattern.MatchString(text) {
		return text
	}
	return NoKey
}

func checkPattern(p *regexp.Regexp, object, field, text, reason string) error {
	if p.MatchString(text) {
		return nil
	}
	return &FieldError{Object: object, Field: field, Value: clipText(quoteJSON(text)), Reason: reason}
}

// checkGiven is check for a text that may be "".
func checkGiven(check func(object, field, text string) error, object, field, text string) error {
	if text == "" {
		return nil
	}
	return check(object, field, text)
}

func quoteJSON(s string) []byte {
	b, _ := json.Marshal(s) // a string never fails
	return b
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

func isNull(raw json.RawMessage) bool {
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

// readText accepts a text, number or bool. It refuses texts that MySQL cannot store:
// with NUL, or with bytes or escapes that are not characters.
func readText(raw json.RawMessage) (string, bool) {
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

// readDate accepts a text or {"str": text}. A date of the years 1000 to 9999 gives a
// string, "NULL" gives nil, any other text an Expr. For "" and other JSON types set is
// false (docs/spec/DECISIONS.md 1.6).
func readDate(raw json.RawMessage) (value any, set, ok bool) {
	var text string
	switch raw[0] {
	case '"':
		if text, ok = readText(raw); !ok {
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

var kindReason = map[Kind]string{
	KindInt:   "is not a whole number",
	KindFloat: "is not a number",
	KindText:  "is not a text",
	KindDate:  "is not a date of the years 1000 to 9999 or an SQL expression",
}

// refusalReason tells why raw is not a value of k.
func (k Kind) refusalReason(raw json.RawMessage) string {
	if _, ok := readText(raw); !ok && raw[0] == '"' && k != KindInt && k != KindFloat {
		return "has NUL, or bytes or escapes that are no character"
	}
	return kindReason[k]
}

// readValue reads a value that is not null. set is false for a value that means "not set".
// reason tells why raw is refused. With loose, values that cannot be stored are changed to
// fit, and dates that cannot be stored are not set.
func (c Column) readValue(raw json.RawMessage, loose bool) (value any, set bool, reason string) {
	ok := true
	set = true
	switch c.Kind {
	case KindInt, KindFloat:
		value, ok = c.readNumber(raw)
		if _, computed := value.(Expr); loose && (computed || !ok) {
			return nil, false, "" // of the request that made the row; only a database can compute it
		}
	case KindText:
		var text string
		if text, ok = readText(raw); c.key {
			text = lowerMd5(text)
		}
		value = text
	default:
		value, set, ok = readDate(raw)
	}
	if !ok && loose && raw[0] == '"' && (c.Kind == KindText || c.Kind == KindDate) {
		var s string
		ok = json.Unmarshal(raw, &s) == nil
		value, set = s, c.Kind == KindText
	}
	switch {
	case !ok:
		return nil, false, c.Kind.refusalReason(raw)
	case loose:
		return c.Fit(value), set, ""
	}
	return value, set, c.refusalReason(value)
}

// readNumber reads a number, or {"str": text}, whose text is a number or an SQL expression.
func (c Column) readNumber(raw json.RawMessage) (value any, ok bool) {
	if raw[0] == '{' {
		text, ok := taggedText(raw)
		if !ok {
			return nil, false
		}
		if plain := quoteJSON(strings.TrimSpace(text)); len(plain) > 2 {
			if value, ok := c.readNumber(plain); ok {
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
	return readText(tagged.Str)
}

// Notes collects the parts of a request that have no effect, at most 50 of each kind. A nil
// *Notes collects nothing. Not safe for concurrent use.
type Notes struct {
	Unknown []string // unknown keys, such as Site.parentMD5
	// Known has the keys that exist in an object with an unknown key, by its name, such as
	// Site.filters[0].
	Known   map[string][]string
	Ignored []Remark
}

// Remark is about a known part of a request.
type Remark struct{ Part, Text string } // "Site.urls[1]", "has no url"

func (r Remark) String() string { return r.Part + " " + r.Text }

const mostNotes = 50

func (n *Notes) noteUnknown(object, field string, known map[string]bool) {
	if n == nil || len(n.Unknown) >= mostNotes {
		return
	}
	n.Unknown = append(n.Unknown, fmt.Sprintf("%s.%s", object, field))
	if n.Known == nil {
		n.Known = map[string][]string{}
	}
	if n.Known[object] == nil {
		n.Known[object] = slices.Sorted(maps.Keys(known))
	}
}

func (n *Notes) noteIgnored(part, text string) {
	if n != nil && len(n.Ignored) < mostNotes {
		n.Ignored = append(n.Ignored, Remark{part, text})
	}
}
