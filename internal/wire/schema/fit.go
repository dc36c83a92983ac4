package schema

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds is the range of a column, the same on every database. The struct tag fit
// gives it:
//
//	u8 u32 u64 i32 i64  whole numbers of that type (docs/spec/storage.md 1); u64 ends at
//	                    2^63-1, the limit of SQLite
//	size                bytes, 0 to 2^40, so that sums over rows do not overflow
//	255                 a text of at most 255 characters
//	4096 bytes          a text of at most 4096 bytes
//	md5                 a text of at most 32 ASCII characters
//	id                  a key, checked by CheckSiteID or CheckMd5
//
// Texts may be longer than in docs/spec/storage.md 1, which is too short for values of
// servers (docs/spec/storage.md 6.2 #39). Floats and dates have no tag: any finite number,
// and the years 1000 to 9999.
type Bounds struct {
	Min, Max int64 // of a whole number
	Chars    int   // most characters of a text; 0: no limit
	Bytes    int   // most bytes of a text; 0: no limit
	ASCII    bool  // ASCII characters only
}

// AttributeName bounds the name of an attribute.
var AttributeName = Bounds{Chars: 255}

// maxSize is the bound "size", 1 TiB.
const maxSize = 1 << 40

var numberBounds = map[string]Bounds{
	"u8": {Max: math.MaxUint8}, "u32": {Max: math.MaxUint32}, "u64": {Max: math.MaxInt64}, "size": {Max: maxSize},
	"i32": {Min: math.MinInt32, Max: math.MaxInt32}, "i64": {Min: math.MinInt64, Max: math.MaxInt64},
	"md5": {Chars: 32, ASCII: true},
}

// BoundsOf reads the tag fit. An unknown tag gives no bounds.
func BoundsOf(tag string) Bounds {
	if b, ok := numberBounds[tag]; ok {
		return b
	}
	number, unit, _ := strings.Cut(tag, " ")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return Bounds{}
	case unit == "bytes":
		return Bounds{Bytes: n}
	}
	return Bounds{Chars: n}
}

// RefusalReason tells why value is out of the bounds of c; "" means that it is valid.
func (c Column) RefusalReason(value any) string {
	switch x := value.(type) {
	case int64:
		if c.Kind == KindInt && (x < c.Bounds.Min || x > c.Bounds.Max) {
			return c.Bounds.RangeReason()
		}
	case string:
		return c.Bounds.TextReason(x)
	}
	return ""
}

func (b Bounds) RangeReason() string { return fmt.Sprintf("is not %d to %d", b.Min, b.Max) }

func (b Bounds) TextReason(s string) string {
	switch {
	case b.Bytes > 0 && len(s) > b.Bytes:
		return fmt.Sprintf("is longer than %d bytes", b.Bytes)
	case b.Chars > 0 && len(s) > b.Chars && utf8.RuneCountInString(s) > b.Chars:
		return fmt.Sprintf("is longer than %d characters", b.Chars)
	case b.ASCII && !isASCII(s):
		return "has characters other than ASCII"
	}
	return ""
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fit changes a value that does not fit into c. It is for values from pages, servers and
// our own tasks. Numbers are clamped to the bounds, infinite and NaN floats become 0,
// texts are cut, NUL and invalid UTF-8 become U+FFFD, and invalid dates become nil. Expr
// and nil stay.
func (c Column) Fit(value any) any {
	switch x := value.(type) {
	case int64:
		if c.Kind == KindInt && (x < c.Bounds.Min || x > c.Bounds.Max) {
			return min(max(x, c.Bounds.Min), c.Bounds.Max)
		}
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return 0.0
		}
	case string:
		switch {
		case c.Kind == KindDate && !isStorableDate(x):
			return nil
		case c.Kind != KindDate && (!IsCleanText(x) || c.Bounds.TextReason(x) != ""):
			return c.Bounds.cutText(x)
		}
	}
	return value // the same interface value: no allocation for the many values that fit
}

// IsCleanText reports whether s is valid UTF-8 without NUL.
func IsCleanText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func (b Bounds) cutText(s string) string {
	if !IsCleanText(s) {
		s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	}
	if b.ASCII {
		s = strings.Map(func(r rune) rune {
			if r >= utf8.RuneSelf {
				return '?'
			}
			return r
		}, s)
	}
	if b.Bytes > 0 && len(s) > b.Bytes {
		s = strings.ToValidUTF8(s[:b.Bytes], "") // drop half a character
	}
	if b.Chars > 0 {
		n := 0
		for i := range s {
			if n++; n > b.Chars {
				return s[:i]
			}
		}
	}
	return s
}

// isStorableDate reports whether date has DateLayout and fits into a DATETIME of MySQL.
func isStorableDate(date string) bool {
	t, err := time.Parse(DateLayout, date)
	return err == nil && t.Year() >= 1000 && len(date) == len(DateLayout)
}

// Fit returns a copy of p with Column.Fit applied to each value.
func Fit(p Patch, columns []Column) Patch {
	fitted := make(Patch, len(p)+1)
	maps.Copy(fitted, p)
	for _, c := range columns {
		if value, ok := p[c.Name]; ok {
			fitted[c.Name] = c.Fit(value)
		}
	}
	return fitted
}
