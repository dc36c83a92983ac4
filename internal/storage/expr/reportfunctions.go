package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// positionOf is LOCATE: the place of a part in a text, in characters from 1, or 0.
func positionOf(a []any) any {
	part, text := textOf(a[0]), textOf(a[1])
	if intOf(a[2]) == 0 {
		part, text = strings.ToLower(part), strings.ToLower(text)
	}
	i := strings.Index(text, part)
	if i < 0 {
		return 0
	}
	return utf8.RuneCountInString(text[:i]) + 1
}

// extremeText is the first of the texts that are the largest (sign 1) or smallest (-1) without case.
func extremeText(a []any, sign int) string {
	found := textOf(a[0])
	for _, v := range a[1:] {
		folded := func(s string) string { return upperASCII(strings.TrimRight(s, " ")) }
		if s := textOf(v); sign*strings.Compare(folded(s), folded(found)) > 0 {
			found = s
		}
	}
	return found
}

func rightOf(a []any) any {
	s, count := textOf(a[0]), intOf(a[1])
	return cutText(s, max(int64(utf8.RuneCountInString(s))-count, 0), count)
}

// substringIndex is the part of a text before the n-th delimiter, or behind the n-th from the end
// if n is negative.
func substringIndex(a []any) any {
	s, delimiter, n := textOf(a[0]), textOf(a[1]), intOf(a[2])
	if delimiter == "" || n == 0 {
		return ""
	}
	parts := strings.Split(s, delimiter)
	switch count := int64(len(parts)); {
	case n >= count || n <= -count:
		return s
	case n > 0:
		return strings.Join(parts[:n], delimiter)
	default:
		return strings.Join(parts[count+n:], delimiter)
	}
}

// roundTo rounds to digits behind the point: a decimal half away from zero, a double half to even.
func roundTo(a []any) any {
	digits := int(intOf(a[1]))
	whole, isInt := a[0].(int64)
	x := numberOf(a[0])
	power := math.Pow10(digits)
	switch {
	case isInt && digits >= 0:
		return whole
	case intOf(a[2]) == 0:
		if y := math.RoundToEven(x*power) / power; !math.IsNaN(y) && !math.IsInf(y, 0) {
			return y
		}
		return x
	}
	// The shortest text of x is its decimal.
	exact, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'f', -1, 64))
	if !ok {
		return x
	}
	scale := new(big.Rat).SetFloat64(math.Pow10(max(digits, -digits)))
	if digits < 0 {
		scale.Inv(scale)
	}
	exact.Mul(exact, scale)
	rounded, _ := new(big.Rat).SetString(exact.FloatString(0)) // half away from zero
	y, _ := rounded.Quo(rounded, scale).Float64()
	if isInt {
		return roundInt(y)
	}
	return y
}

// dateDifference is DATEDIFF, in days.
func dateDifference(a []any) any {
	return withDate(a[0], func(x moment) any {
		return withDate(a[1], func(y moment) any {
			return int64(x.t.Truncate(24*time.Hour).Sub(y.t.Truncate(24*time.Hour)) / (24 * time.Hour))
		})
	})
}

// lastUnix is the last time of FROM_UNIXTIME and UNIX_TIMESTAMP on all servers.
const lastUnix = math.MaxInt32

func fromUnixTime(a []any) any {
	n := intOf(a[0])
	if n < 0 || n > lastUnix {
		return nil
	}
	return time.Unix(n, 0).UTC().Format(time.DateTime)
}

func unixTimestamp(a []any) any {
	m, ok := parseMoment(a[0])
	if n := m.t.Unix(); ok && n > 0 && n <= lastUnix {
		return n
	}
	return 0
}
