package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds say what a column holds, the same on every database. They are written
// beside the column, as the tag fit:
//
//	u8 u32 u64 i32 i64  whole numbers of that type (docs/spec/storage.md 1); u64 ends at
//	                    2^63-1, which is as far as JSON and SQLite go
//	size                bytes, 0 to 2^40: sums over rows stay whole numbers
//	255                 a text of so many characters
//	4096 bytes          a text of so many bytes
//	md5                 a text of 32 ASCII characters
//	id                  a key that has a check of its own: CheckSiteID, CheckMd5
//
// The texts are wider than those of docs/spec/storage.md 1, which cut what servers send
// (docs/spec/storage.md 6.2 #39). Numbers with a fraction and dates have no tag: the former
// are any finite number, the latter of the years 1000 to 9999.
type Bounds struct {
	Min, Max int64 // of a whole number
	Chars    int   // most characters of a text; 0: no limit
	Bytes    int   // most bytes of a text; 0: no limit
	ASCII    bool  // no other characters
}

// AttributeName bounds the name of an attribute, which has no column here.
var AttributeName = Bounds{Chars: 255}

// maxSize is the size column of 1 TiB.
const maxSize = 1 << 40

var numberBounds = map[string]Bounds{
	"u8": {Max: math.MaxUint8}, "u32": {Max: math.MaxUint32}, "u64": {Max: math.MaxInt64}, "size": {Max: maxSize},
	"i32": {Min: math.MinInt32, Max: math.MaxInt32}, "i64": {Min: math.MinInt64, Max: math.MaxInt64},
	"md5": {Chars: 32, ASCII: true},
}

// boundsOf reads a tag; one that is not understood bounds nothing.
func boundsOf(tag string) Bounds {
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

// refusal tells why a request may not set c to value, or "".
func (c Column) refusal(value any) string {
	switch x := value.(type) {
	case int64:
		if c.Kind == KindInt && (x < c.Bounds.Min || x > c.Bounds.Max) {
			return c.Bounds.numbers()
		}
	case string:
		return c.Bounds.text(x)
	}
	return ""
}

func (b Bounds) numbers() string { return fmt.Sprintf("is not %d to %d", b.Min, b.Max) }

func (b Bounds) text(s string) string {
	switch {
	case b.Bytes > 0 && len(s) > b.Bytes:
		return fmt.Sprintf("is longer than %d bytes", b.Bytes)
	case b.Chars > 0 && len(s) > b.Chars && utf8.RuneCountInString(s) > b.Chars:
		return fmt.Sprintf("is longer than %d characters", b.Chars)
	case b.ASCII && !ascii(s):
		return "has characters other than ASCII"
	}
	return ""
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fit makes value one that c holds, for values that no client wrote: what pages,
// servers and our own tasks bring. Numbers end at the bounds, a fraction that is
// not finite is 0, texts are cut, their NUL bytes and invalid UTF-8 become
// U+FFFD, and a date that cannot be stored becomes NULL. Expr and nil stay.
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
		case c.Kind == KindDate && !storable(x):
			return nil
		case c.Kind != KindDate && (!clean(x) || c.Bounds.text(x) != ""):
			return c.Bounds.cut(x)
		}
	}
	return value // the same box: most values fit, and rows have forty
}

// clean tells a text of characters other than NUL.
func clean(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

func (b Bounds) cut(s string) string {
	if !clean(s) {
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
		s = strings.ToValidUTF8(s[:b.Bytes], "") // a character cut in two goes
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

// storable tells a date in DateLayout that MySQL's DATETIME holds too.
func storable(date string) bool {
	t, err := time.Parse(DateLayout, date)
	return err == nil && t.Year() >= 1000 && len(date) == len(DateLayout)
}

// Fit is p with each value made one that its column holds; see Column.Fit. P
// stays as it is.
func Fit(p Patch, columns []Column) Patch {
	fitted := make(Patch, len(p)+1)
	for name, value := range p {
		fitted[name] = value
	}
	for _, c := range columns {
		if value, ok := p[c.Name]; ok {
			fitted[c.Name] = c.Fit(value)
		}
	}
	return fitted
}
