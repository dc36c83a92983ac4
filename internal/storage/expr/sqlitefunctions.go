package expr

import (
	"crypto/md5"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"hce/dc/internal/web/pyregexp"
)

// Function is one function that SQLite needs for the texts of this package. A
// scalar's Impl is func(...any) (any, error); an aggregate's is a constructor of
// a value with Step and Done: what RegisterFunc and RegisterAggregator of
// mattn/go-sqlite3 take. Arguments and results are nil, int64, float64, string
// or []byte. All are pure and safe for concurrent use.
type Function struct {
	Name            string
	Impl            any
	Pure, Aggregate bool
}

// SQLiteFunctions lists the functions that a connection needs before it may
// prepare texts of the SQLite dialect. Their names start with "my_".
func SQLiteFunctions() []Function {
	list := []Function{
		{Name: "my_bit_or", Impl: func() *bitAggregate { return &bitAggregate{fold: func(a, b int64) int64 { return a | b }} }, Pure: true, Aggregate: true},
		{Name: "my_bit_and", Impl: func() *bitAggregate { return &bitAggregate{sum: -1, fold: func(a, b int64) int64 { return a & b }} }, Pure: true, Aggregate: true},
		{Name: "my_bit_xor", Impl: func() *bitAggregate { return &bitAggregate{fold: func(a, b int64) int64 { return a ^ b }} }, Pure: true, Aggregate: true},
	}
	for name, f := range scalars {
		list = append(list, Function{Name: name, Impl: f.impl(name), Pure: true})
	}
	slices.SortFunc(list, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// bitAggregate is BIT_OR, BIT_AND or BIT_XOR; NULLs are passed over.
type bitAggregate struct {
	sum  int64
	fold func(a, b int64) int64
}

// Step takes one row's value.
func (b *bitAggregate) Step(v any) {
	if !absent(v) {
		b.sum = b.fold(b.sum, intOf(v))
	}
}

// Done is the value of the group, as a signed pattern.
func (b *bitAggregate) Done() int64 { return b.sum }

// absent tells a NULL: the driver hands it over as a nil []byte.
func absent(v any) bool {
	b, ok := v.([]byte)
	return v == nil || ok && b == nil
}

// maxValue bounds a text that a function makes, in bytes. MySQL gives NULL above
// its packet size.
const maxValue = 1 << 20

type scalarFunction struct {
	min, max int
	f        func(a []any) any
	nulls    bool // f looks at NULL arguments itself; otherwise one makes NULL
}

func (s scalarFunction) impl(name string) func(...any) (any, error) {
	return func(args ...any) (any, error) {
		if len(args) < s.min || len(args) > s.max {
			return nil, &Error{Part: "function " + name, Reason: "has the wrong number of arguments"}
		}
		for i, arg := range args {
			if !absent(arg) {
				continue
			}
			if !s.nulls {
				return nil, nil
			}
			args[i] = nil
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

// scalars are the functions by name. Comments say what MySQL calls them where
// the name does not.
var scalars = map[string]scalarFunction{
	"my_text":          {1, 1, func(a []any) any { return textOf(a[0]) }, false},
	"my_number":        {1, 1, func(a []any) any { return momentNumber(a[0]) }, false},
	"my_unsigned":      {1, 1, unsignedOf, false},
	"my_unsigned_text": {1, 1, func(a []any) any { return strconv.FormatUint(uint64(intOf(a[0])), 10) }, false},
	"my_shift_left":    {2, 2, func(a []any) any { return shift(a, func(x, n uint64) uint64 { return x << n }) }, false},
	"my_shift_right":   {2, 2, func(a []any) any { return shift(a, func(x, n uint64) uint64 { return x >> n }) }, false},
	"my_xor":           {2, 2, func(a []any) any { return intOf(a[0]) ^ intOf(a[1]) }, false},
	"my_mod":           {2, 2, mod, false},
	"my_abs":           {1, 1, abs, false},
	"my_sign":          {1, 1, sign, false},
	"my_ceil":          {1, 1, func(a []any) any { return integral(math.Ceil(numberOf(a[0]))) }, false},
	"my_floor":         {1, 1, func(a []any) any { return integral(math.Floor(numberOf(a[0]))) }, false},
	"my_round":         {2, 2, func(a []any) any { return toDigits(a, math.Round) }, false},
	"my_rint":          {2, 2, roundDouble, false}, // ROUND of a double
	"my_truncate":      {2, 2, func(a []any) any { return toDigits(a, math.Trunc) }, false},
	"my_decimal":       {3, 3, decimalOf, false},
	"my_pow":           {2, 2, func(a []any) any { return math.Pow(numberOf(a[0]), numberOf(a[1])) }, false},
	"my_sqrt":          {1, 1, func(a []any) any { return math.Sqrt(numberOf(a[0])) }, false},

	"my_lower":           {1, 1, func(a []any) any { return strings.ToLower(textOf(a[0])) }, false},
	"my_upper":           {1, 1, func(a []any) any { return strings.ToUpper(textOf(a[0])) }, false},
	"my_substring":       {2, 3, substring, false},
	"my_substring_index": {3, 3, substringIndex, false},
	"my_left":            {2, 2, func(a []any) any { return cut(textOf(a[0]), 0, intOf(a[1])) }, false},
	"my_right":           {2, 2, right, false},
	"my_concat_ws":       {2, 1000, concatWS, true},
	"my_trim":            {3, 3, trimText, false},
	"my_replace":         {3, 3, replace, false},
	"my_reverse":         {1, 1, reverse, false},
	"my_locate":          {2, 3, locate, false},
	"my_instr":           {2, 2, func(a []any) any { return locate([]any{a[1], a[0]}) }, false},
	"my_find_in_set":     {2, 2, findInSet, false},
	"my_regexp":          {2, 2, matches, false},
	"my_md5":             {1, 1, func(a []any) any { sum := md5.Sum([]byte(textOf(a[0]))); return hex.EncodeToString(sum[:]) }, false},

	"my_datetime":       {1, 1, func(a []any) any { return dated(a[0], func(m moment) any { return m.dateTimeText() }) }, false},
	"my_instant":        {1, 1, instantOf, false}, // what a text is compared with a date as
	"my_date":           {1, 1, func(a []any) any { return dated(a[0], func(m moment) any { return m.dateText() }) }, false},
	"my_last_day":       {1, 1, func(a []any) any { return dated(a[0], lastDay) }, false},
	"my_date_format":    {2, 2, func(a []any) any { return dated(a[0], func(m moment) any { return m.format(textOf(a[1])) }) }, false},
	"my_date_add":       {3, 3, func(a []any) any { return addDate(a, 1) }, false},
	"my_date_sub":       {3, 3, func(a []any) any { return addDate(a, -1) }, false},
	"my_date_part":      {2, 2, datePartOf, false},
	"my_datediff":       {2, 2, dateDiff, false},
	"my_timestampdiff":  {3, 3, timestampDifference, false},
	"my_timediff":       {2, 2, timeDiff, false},
	"my_time":           {1, 1, func(a []any) any { return clocked(a[0], func(d span) any { return d.String() }) }, false},
	"my_seconds":        {1, 1, func(a []any) any { return clocked(a[0], span.seconds) }, false},
	"my_time_to_sec":    {1, 1, func(a []any) any { return clocked(a[0], func(d span) any { return int64(d / second) }) }, false},
	"my_sec_to_time":    {1, 1, secToTime, false},
	"my_unix_timestamp": {1, 1, unixTimestampOf, false},
	"my_from_unixtime":  {1, 1, fromUnix, false},
	"my_from_days":      {1, 1, fromDays, false},
}

func unsignedOf(a []any) any {
	n, ok := a[0].(int64)
	if ok && n < 0 {
		return float64(uint64(n))
	}
	return a[0]
}

func shift(a []any, f func(x, n uint64) uint64) any {
	n := intOf(a[1])
	if n < 0 || n > 63 {
		return int64(0)
	}
	return int64(f(uint64(intOf(a[0])), uint64(n)))
}

func mod(a []any) any {
	divisor := numberOf(a[1])
	if divisor == 0 {
		return nil
	}
	return math.Mod(numberOf(a[0]), divisor)
}

func abs(a []any) any {
	if n, ok := a[0].(int64); ok && n != math.MinInt64 {
		return max(n, -n)
	}
	return math.Abs(numberOf(a[0]))
}

func sign(a []any) any {
	switch n := numberOf(a[0]); {
	case n > 0:
		return 1
	case n < 0:
		return -1
	}
	return 0
}

// toDigits rounds to digits after the point, or before it when negative. Whole
// results for no digits are integers.
func toDigits(a []any, round func(float64) float64) any {
	digits := min(max(intOf(a[1]), -30), 30)
	if n, ok := a[0].(int64); ok && digits >= 0 {
		return n
	}
	x := numberOf(a[0])
	power := math.Pow(10, math.Abs(float64(digits)))
	switch {
	case digits < 0:
		return integral(round(x/power) * power)
	case digits == 0:
		return integral(round(x))
	case math.Abs(x)*power > 1<<53:
		return x // no digit is left to drop
	}
	// 1.005 is stored a little below itself; MySQL's decimals are not.
	return round(x*power*(1+1e-15)) / power
}

// roundDouble is ROUND of a double, which is never taken for the decimal that it
// was written as: halves go to the even number.
func roundDouble(a []any) any {
	x, digits := numberOf(a[0]), min(max(intOf(a[1]), -30), 30)
	power := math.Pow(10, math.Abs(float64(digits)))
	switch {
	case digits <= 0:
		return integral(math.RoundToEven(x/power) * power)
	case math.Abs(x)*power > 1<<53:
		return x
	}
	return math.RoundToEven(x*power) / power
}

// decimalOf is CAST(x AS DECIMAL(length, decimals)); what does not fit becomes
// the biggest number that does.
func decimalOf(a []any) any {
	length, decimals := min(intOf(a[1]), 65), min(intOf(a[2]), 30)
	limit := math.Pow(10, float64(length-decimals)) - math.Pow(10, -float64(decimals))
	return toDigits([]any{math.Max(math.Min(numberOf(a[0]), limit), -limit), decimals}, math.Round)
}

// cut takes count signs of s from a 0-based place.
func cut(s string, from, count int64) string {
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

func substring(a []any) any {
	s, from, count := textOf(a[0]), intOf(a[1]), int64(math.MaxInt64)
	if len(a) == 3 {
		count = intOf(a[2])
	}
	switch {
	case from > 0:
		from--
	case from == 0:
		return ""
	default:
		from += int64(utf8.RuneCountInString(s))
	}
	return cut(s, from, count)
}

func right(a []any) any {
	s := textOf(a[0])
	total := int64(utf8.RuneCountInString(s))
	count := min(max(intOf(a[1]), 0), total)
	return cut(s, total-count, count)
}

func substringIndex(a []any) any {
	s, separator, count := textOf(a[0]), textOf(a[1]), intOf(a[2])
	if separator == "" || count == 0 {
		return ""
	}
	parts := strings.Split(s, separator)
	if total := int64(len(parts)); count > 0 && count < total {
		parts = parts[:count]
	} else if count < 0 && count > -total {
		parts = parts[total+count:]
	}
	return strings.Join(parts, separator)
}

func concatWS(a []any) any {
	if a[0] == nil {
		return nil
	}
	var parts []string
	for _, v := range a[1:] {
		if v != nil {
			parts = append(parts, textOf(v))
		}
	}
	return strings.Join(parts, textOf(a[0]))
}

func trimText(a []any) any {
	s, removed, side := textOf(a[0]), textOf(a[1]), textOf(a[2])
	if removed == "" {
		return s
	}
	for side != "TRAILING" && strings.HasPrefix(s, removed) {
		s = s[len(removed):]
	}
	for side != "LEADING" && strings.HasSuffix(s, removed) {
		s = s[:len(s)-len(removed)]
	}
	return s
}

func replace(a []any) any {
	s, old, with := textOf(a[0]), textOf(a[1]), textOf(a[2])
	if old == "" {
		return s
	}
	if len(s)+strings.Count(s, old)*(len(with)-len(old)) > maxValue {
		return nil
	}
	return strings.ReplaceAll(s, old, with)
}

func reverse(a []any) any {
	r := []rune(textOf(a[0]))
	slices.Reverse(r)
	return string(r)
}

// locate is LOCATE(part, text[, from]): the place of a part, from 1, without
// regard to case.
func locate(a []any) any {
	part, s, from := strings.ToLower(textOf(a[0])), strings.ToLower(textOf(a[1])), int64(1)
	if len(a) == 3 {
		from = intOf(a[2])
	}
	total := int64(utf8.RuneCountInString(s))
	if from < 1 || from > total+1 {
		return 0
	}
	rest := cut(s, from-1, math.MaxInt64)
	at := strings.Index(rest, part)
	if at < 0 {
		return 0
	}
	return from + int64(utf8.RuneCountInString(rest[:at]))
}

func findInSet(a []any) any {
	item, set := textOf(a[0]), textOf(a[1])
	if set == "" || strings.Contains(item, ",") {
		return 0
	}
	return slices.IndexFunc(strings.Split(set, ","), func(s string) bool { return strings.EqualFold(s, item) }) + 1
}

// patterns keeps compiled patterns of REGEXP, since one is used for each row.
var patterns = struct {
	sync.Mutex
	compiled map[string]*regexp.Regexp
}{compiled: map[string]*regexp.Regexp{}}

const maxPatterns = 64

// maxRegexp bounds a pattern in bytes: the time of a match grows with it.
const maxRegexp = 4096

// compilePattern compiles a pattern of REGEXP: MySQL's, without regard to case,
// in the syntax that Go knows; its word borders are translated.
func compilePattern(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxRegexp {
		return nil, &Error{Part: "REGEXP pattern", Reason: "is too long"}
	}
	patterns.Lock()
	re := patterns.compiled[pattern]
	patterns.Unlock()
	if re != nil {
		return re, nil
	}
	re, err := pyregexp.Linear("(?i)" + strings.NewReplacer("[[:<:]]", `\b`, "[[:>:]]", `\b`).Replace(pattern))
	if err != nil {
		return nil, err
	}
	patterns.Lock()
	defer patterns.Unlock()
	if len(patterns.compiled) >= maxPatterns {
		clear(patterns.compiled)
	}
	patterns.compiled[pattern] = re
	return re, nil
}

// matches is text REGEXP pattern. A pattern from a row that is no regular
// expression matches nothing.
func matches(a []any) any {
	re, err := compilePattern(textOf(a[1]))
	if err != nil {
		return nil
	}
	return re.MatchString(textOf(a[0]))
}

// dated applies f to a date; what is no date gives NULL.
func dated(v any, f func(moment) any) any {
	m, ok := parseMoment(v)
	if !ok {
		return nil
	}
	return f(m)
}

// clocked applies f to a span of time; what is none gives NULL.
func clocked(v any, f func(span) any) any {
	d, ok := parseClock(v)
	if !ok {
		return nil
	}
	return f(d)
}

// noInstant is what MariaDB compares with a date for a text that is none.
const noInstant = "0000-00-00 00:00:00"

// instantOf is a date with a time; a text that is none is before all dates.
func instantOf(a []any) any {
	m, ok := parseMoment(a[0])
	if !ok {
		return noInstant
	}
	return m.dateTimeText()
}

func lastDay(m moment) any {
	return moment{t: m.t.AddDate(0, 1, -m.t.Day())}.dateText()
}

func addDate(a []any, sign int) any {
	return dated(a[0], func(m moment) any {
		m, ok := m.add(a[1], textOf(a[2]), sign)
		if !ok {
			return nil
		}
		return m.text()
	})
}

func datePartOf(a []any) any {
	part := textOf(a[0])
	switch part {
	case "HOUR", "MINUTE", "SECOND", "MICROSECOND":
		return clocked(a[1], func(d span) any {
			d = max(d, -d)
			switch part {
			case "HOUR":
				return int64(d / hour)
			case "MINUTE":
				return int64(d / minute % 60)
			case "SECOND":
				return int64(d / second % 60)
			}
			return int64(d % second)
		})
	}
	return dated(a[1], func(m moment) any {
		n, ok := m.part(part)
		if !ok {
			return nil
		}
		return n
	})
}

func dateDiff(a []any) any {
	return dated(a[0], func(x moment) any {
		return dated(a[1], func(y moment) any { return x.days() - y.days() })
	})
}

func timestampDifference(a []any) any {
	return dated(a[1], func(x moment) any {
		return dated(a[2], func(y moment) any { return difference(textOf(a[0]), x, y) })
	})
}

// timeDiff is TIMEDIFF: both must be dates with a time, both dates or both spans.
func timeDiff(a []any) any {
	shape := func(v any) string {
		switch s := textOf(v); {
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
		return dated(a[0], func(x moment) any {
			return dated(a[1], func(y moment) any { return span(x.t.UnixMicro() - y.t.UnixMicro()).clamp().String() })
		})
	}
	return clocked(a[0], func(x span) any {
		return clocked(a[1], func(y span) any { return (x - y).clamp().String() })
	})
}

func secToTime(a []any) any {
	seconds := math.Max(math.Min(numberOf(a[0]), 4e6), -4e6)
	return span(math.Round(seconds * 1e6)).clamp().String()
}

func unixTimestampOf(a []any) any {
	return dated(a[0], func(m moment) any { return max(m.t.Unix(), 0) })
}

func fromUnix(a []any) any {
	n := numberOf(a[0])
	if n < 0 || n > 32536771199 { // MySQL's last second
		return nil
	}
	m, _ := parseMoment("1970-01-01 00:00:00")
	m, _ = m.add(n, "SECOND", 1)
	return m.dateTimeText()
}

func fromDays(a []any) any {
	m, _ := parseMoment("1970-01-01")
	m, ok := m.add(intOf(a[0])-m.days(), "DAY", 1)
	if !ok {
		return nil
	}
	return m.dateText()
}
