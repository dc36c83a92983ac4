package mysqlvalue

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

var number = regexp.MustCompile(`^[ \t\n\r\v\f]*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)`)

// numberPrefix returns the longest number at the start of s, after white space, and
// whether it is an integer. The number is empty if s starts with none.
func numberPrefix(s string) (string, bool) {
	m := number.FindStringSubmatch(s)
	if m == nil {
		return "", true
	}
	return m[1], !strings.ContainsAny(strings.TrimSuffix(m[1], "."), ".eE")
}

// LeadingNumber converts a text to a number as MySQL does: int64 or float64, and 0
// if the text does not start with a number.
func LeadingNumber(s string) any {
	prefix, integer := numberPrefix(s)
	if prefix == "" {
		return int64(0)
	}
	prefix = strings.TrimSuffix(prefix, ".")
	if integer {
		if n, err := strconv.ParseInt(prefix, 10, 64); err == nil {
			return n
		}
	}
	f, _ := strconv.ParseFloat(prefix, 64)
	if math.IsInf(f, 0) {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return f
}

// LeadingInt returns the integer at the start of a text. It drops a fraction.
func LeadingInt(s string) int64 {
	prefix, _ := numberPrefix(s)
	if i := strings.IndexAny(prefix, ".eE"); i >= 0 {
		prefix = prefix[:i]
	}
	if n, err := strconv.ParseInt(prefix, 10, 64); err == nil {
		return n
	}
	if u, err := strconv.ParseUint(prefix, 10, 64); err == nil {
		return int64(u)
	}
	switch {
	case strings.Trim(prefix, "+-") == "":
		return 0
	case prefix[0] == '-':
		return math.MinInt64
	}
	return math.MaxInt64
}

// Round rounds half away from zero and saturates at 64 bits. NaN gives 0.
func Round(f float64) int64 {
	f = math.Round(f)
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// WholeToInt converts a whole number to int64 if it fits.
func WholeToInt(f float64) any {
	if math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

// Text formats a value as MySQL does.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if v == 0 {
			return "0" // never "-0"
		}
		if a := math.Abs(v); a >= 1e15 || a < 1e-15 {
			return strings.Replace(strconv.FormatFloat(v, 'e', -1, 64), "e+", "e", 1)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// Number converts a value to a finite float64.
func Number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return math.Max(math.Min(v, math.MaxFloat64), -math.MaxFloat64)
	case string:
		return Number(LeadingNumber(v))
	case []byte:
		return Number(LeadingNumber(string(v)))
	}
	return 0
}

// Int converts a value to an integer. It rounds numbers and truncates texts.
func Int(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return Round(v)
	case string:
		return LeadingInt(v)
	case []byte:
		return LeadingInt(string(v))
	}
	return 0
}
