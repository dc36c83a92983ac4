package expr

import (
	"crypto/md5"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/internal/storage/expr/mysqlvalue"
)

// Function is an SQLite function that the texts of this package call. Impl has the
// form that RegisterFunc and RegisterAggregator of mattn/go-sqlite3 take: for a
// scalar func(...any) (any, error), for an aggregate a constructor of a value with
// Step and Done. Arguments and results are nil, int64, float64, string or []byte.
// All functions are pure and safe for concurrent use.
type Function struct {
	Name      string
	Impl      any
	Aggregate bool
}

// SQLiteFunctions lists the functions that a connection must register before it
// prepares texts of the SQLite dialect. All names start with "my_".
func SQLiteFunctions() []Function {
	list := []Function{{Name: "my_bit_or", Impl: func() *bitOr { return &bitOr{} }, Aggregate: true}}
	for name, f := range scalars {
		list = append(list, Function{Name: name, Impl: f.checkedCall(name)})
	}
	slices.SortFunc(list, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// bitOr is BIT_OR. It skips NULLs.
type bitOr struct{ sum int64 }

// Step takes the value of one row.
func (b *bitOr) Step(v any) {
	if !isAbsent(v) {
		b.sum |= mysqlvalue.Int(v)
	}
}

// Done returns the bits of the group as a signed integer.
func (b *bitOr) Done() int64 { return b.sum }

// isAbsent reports a NULL, which the driver passes as a nil []byte.
func isAbsent(v any) bool {
	b, ok := v.([]byte)
	return v == nil || ok && b == nil
}

// maxValue limits the result of a function, in bytes. Longer texts become NULL, as
// texts above the packet size do in MySQL.
const maxValue = 1 << 20

// scalarFunction is NULL if one argument is NULL. f never sees a NULL.
type scalarFunction struct {
	min, max int // number of arguments
	f        func(a []any) any
}

func (s scalarFunction) checkedCall(name string) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if len(args) < s.min || len(args) > s.max {
			return nil, &Error{Part: "function " + name, Reason: "has the wrong number of arguments"}
		}
		if slices.ContainsFunc(args, isAbsent) {
			return nil, nil
		}
		switch v := s.f(args).(type) {
		case int:
			return int64(v), nil
		case bool:
			if v {
				return int64(1), nil
			}
			return int64(0), nil
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, nil
			}
			return v, nil
		case string:
			if len(v) > maxValue {
				return nil, nil
			}
			return v, nil
		default:
			return v, nil
		}
	}
}

// scalars are the scalar functions by name.
var scalars = map[string]scalarFunction{
	// Conversions and operators.
	"my_text":   {1, 1, func(a []any) any { return mysqlvalue.Text(a[0]) }},
	"my_number": {1, 1, func(a []any) any { return mysqlvalue.TimeNumber(a[0]) }},
	"my_mod":    {2, 2, evalModulo},
	"my_rint":   {1, 1, func(a []any) any { return mysqlvalue.WholeToInt(math.RoundToEven(mysqlvalue.Number(a[0]))) }}, // double to integer
	"my_datetime": {1, 1, func(a []any) any {
		return withDate(a[0], func(m mysqlvalue.Moment) any { return m.Time.Format(time.DateTime) })
	}},
	"my_instant":     {1, 1, instantOf}, // text to compare with a date
	"my_time_to_sec": {1, 1, func(a []any) any { return withSpan(a[0], func(d mysqlvalue.Span) any { return int64(d) }) }},

	// Functions of MySQL.
	"my_ceil":      {1, 1, func(a []any) any { return mysqlvalue.WholeToInt(math.Ceil(mysqlvalue.Number(a[0]))) }},
	"my_substring": {2, 3, evalSubstring},
	"my_md5":       {1, 1, func(a []any) any { sum := md5.Sum([]byte(mysqlvalue.Text(a[0]))); return hex.EncodeToString(sum[:]) }},
	"my_date": {1, 1, func(a []any) any {
		return withDate(a[0], func(m mysqlvalue.Moment) any { return m.Time.Format(time.DateOnly) })
	}},
	"my_date_format": {2, 2, func(a []any) any {
		return withDate(a[0], func(m mysqlvalue.Moment) any { return m.FormatPattern(mysqlvalue.Text(a[1])) })
	}},
	"my_date_add":      {3, 3, func(a []any) any { return addDate(a, 1) }},
	"my_date_sub":      {3, 3, func(a []any) any { return addDate(a, -1) }},
	"my_date_part":     {2, 2, datePartOf},
	"my_timestampdiff": {3, 3, timestampDifference},
	"my_timediff":      {2, 2, timeDiff},
	"my_time":          {1, 1, func(a []any) any { return withSpan(a[0], func(d mysqlvalue.Span) any { return d.String() }) }},

	"my_datediff":        {2, 2, dateDifference},
	"my_floor":           {1, 1, func(a []any) any { return mysqlvalue.WholeToInt(math.Floor(mysqlvalue.Number(a[0]))) }},
	"my_from_unixtime":   {1, 1, fromUnixTime},
	"my_left":            {2, 2, func(a []any) any { return cutText(mysqlvalue.Text(a[0]), 0, mysqlvalue.Int(a[1])) }},
	"my_max":             {2, maxArgs, func(a []any) any { return extremeText(a, 1) }},
	"my_min":             {2, maxArgs, func(a []any) any { return extremeText(a, -1) }},
	"my_lower":           {1, 1, func(a []any) any { return strings.ToLower(mysqlvalue.Text(a[0])) }},
	"my_position":        {3, 3, positionOf}, // of a part in a text; 1: case counts
	"my_right":           {2, 2, rightOf},
	"my_round":           {3, 3, roundTo}, // to digits; 1: a decimal
	"my_substring_index": {3, 3, substringIndex},
	"my_unix_timestamp":  {1, 1, unixTimestamp},
	"my_upper":           {1, 1, func(a []any) any { return strings.ToUpper(mysqlvalue.Text(a[0])) }},
}

func evalModulo(a []any) any {
	divisor := mysqlvalue.Number(a[1])
	if divisor == 0 {
		return nil
	}
	return math.Mod(mysqlvalue.Number(a[0]), divisor)
}

// cutText returns count characters of s from the 0-based index from.
func cutText(s string, from, count int64) string {
	if count <= 0 || from < 0 {
		return ""
	}
	for from > 0 && s != "" {
		_, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		from--
	}
	end := 0
	for ; count > 0 && end < len(s); count-- {
		_, n := utf8.DecodeRuneInString(s[end:])
		end += n
	}
	return s[:end]
}

func evalSubstring(a []any) any {
	s, from, count := mysqlvalue.Text(a[0]), mysqlvalue.Int(a[1]), int64(math.MaxInt64)
	if len(a) == 3 {
		count = mysqlvalue.Int(a[2])
	}
	switch {
	case from > 0:
		from--
	case from == 0:
		return ""
	default:
		from += int64(utf8.RuneCountInString(s))
	}
	return cutText(s, from, count)
}

// withDate applies f to a date. An invalid date gives NULL.
func withDate(v any, f func(mysqlvalue.Moment) any) any {
	m, ok := mysqlvalue.ParseMoment(v)
	if !ok {
		return nil
	}
	return f(m)
}

// withSpan applies f to a span of time. An invalid span gives NULL.
func withSpan(v any, f func(mysqlvalue.Span) any) any {
	d, ok := mysqlvalue.ParseSpan(v)
	if !ok {
		return nil
	}
	return f(d)
}

// noInstant is the date that MariaDB compares for an invalid date text.
const noInstant = "0000-00-00 00:00:00"

// instantOf converts a text to a date with a time. An invalid text sorts before all dates.
func instantOf(a []any) any {
	m, ok := mysqlvalue.ParseMoment(a[0])
	if !ok {
		return noInstant
	}
	return m.Time.Format(time.DateTime)
}

func addDate(a []any, sign int) any {
	return withDate(a[0], func(m mysqlvalue.Moment) any {
		m, ok := m.AddUnits(a[1], mysqlvalue.Text(a[2]), sign)
		if !ok {
			return nil
		}
		return m.Format()
	})
}

func datePartOf(a []any) any {
	part := mysqlvalue.Text(a[0])
	switch part {
	case "HOUR", "MINUTE", "SECOND":
		return withSpan(a[1], func(d mysqlvalue.Span) any {
			d = max(d, -d)
			switch part {
			case "HOUR":
				return int64(d / mysqlvalue.Hour)
			case "MINUTE":
				return int64(d / mysqlvalue.Minute % 60)
			}
			return int64(d % 60)
		})
	}
	return withDate(a[1], func(m mysqlvalue.Moment) any {
		switch part {
		case "YEAR":
			return m.Time.Year()
		case "MONTH":
			return int(m.Time.Month())
		case "DAYOFYEAR":
			return m.Time.YearDay()
		case "DAYOFWEEK": // 1 is Sunday
			return int(m.Time.Weekday()) + 1
		case "WEEKDAY": // 0 is Monday
			return (int(m.Time.Weekday()) + 6) % 7
		}
		return m.Time.Day()
	})
}

func timestampDifference(a []any) any {
	return withDate(a[1], func(x mysqlvalue.Moment) any {
		return withDate(a[2], func(y mysqlvalue.Moment) any { return mysqlvalue.CountUnits(mysqlvalue.Text(a[0]), x, y) })
	})
}

// timeDiff is TIMEDIFF. Both arguments must be of one kind: date and time, date, or time.
func timeDiff(a []any) any {
	shape := func(v any) string {
		switch s := mysqlvalue.Text(v); {
		case len(s) <= 8 || s[4] != '-':
			return "time"
		case len(s) <= 10:
			return "date"
		}
		return "date and time"
	}
	if shape(a[0]) != shape(a[1]) {
		return nil
	}
	if shape(a[0]) != "time" {
		return withDate(a[0], func(x mysqlvalue.Moment) any {
			return withDate(a[1], func(y mysqlvalue.Moment) any { return mysqlvalue.Span(x.Time.Unix() - y.Time.Unix()).Clamp().String() })
		})
	}
	return withSpan(a[0], func(x mysqlvalue.Span) any {
		return withSpan(a[1], func(y mysqlvalue.Span) any { return (x - y).Clamp().String() })
	})
}
