package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// numberPrefix is the length of the longest number that s starts with, after
// white space; the second value tells whether it is an integer.
func numberPrefix(s string) (string, bool) {
	s = strings.TrimLeft(s, " \t\n\r\v\f")
	i := 0
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		i++
	}
	digits := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		digits++
	}
	integer := true
	end := i
	if i < len(s) && s[i] == '.' {
		fraction := 0
		for i++; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			fraction++
		}
		if digits+fraction > 0 {
			integer, end = fraction == 0, i
		}
		digits += fraction
	}
	if digits == 0 {
		return "", true
	}
	if i == end && i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		start := j
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		if j > start {
			integer, end = false, j
		}
	}
	return s[:end], integer
}

// leadingNumber is the number that MySQL makes of a text: int64 or float64, 0
// when it does not start with one.
func leadingNumber(s string) any {
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

// leadingInt is the integer at the start of a text; a fraction is cut off.
func leadingInt(s string) int64 {
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

// bytesNumber reads 0x... and b'...' as a number, high byte first.
func bytesNumber(s string) any {
	if len(s) > 8 {
		s = s[len(s)-8:]
	}
	return new(big.Int).SetBytes([]byte(s)).Uint64()
}

// roundInt rounds half away from zero and stays within 64 bits.
func roundInt(f float64) int64 {
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

// integral gives a whole number as int64 where it fits.
func integral(f float64) any {
	if math.Abs(f) < 1<<63 {
		return int64(f)
	}
	return f
}

// textOf writes a value as MySQL does.
func textOf(v any) string {
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

// numberOf is a value as a float64.
func numberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return math.Max(math.Min(v, math.MaxFloat64), -math.MaxFloat64)
	case string:
		return numberOf(leadingNumber(v))
	case []byte:
		return numberOf(leadingNumber(string(v)))
	}
	return 0
}

// intOf is a value as an integer: numbers are rounded, texts cut.
func intOf(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return roundInt(v)
	case string:
		return leadingInt(v)
	case []byte:
		return leadingInt(string(v))
	}
	return 0
}
