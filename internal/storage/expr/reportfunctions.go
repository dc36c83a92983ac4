package expr

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hce/dc/internal/storage/expr/mysqlvalue"
)

// reportFunctions are those that only reports need.
func reportFunctions() map[string]rule {
	const reports = "reports of clients with SQL_CUSTOM"
	return map[string]rule{
		"CURRENT_DATE":  {0, 0, writeInstant, reports},
		"UTC_DATE":      {0, 0, writeInstant, reports},
		"UTC_TIMESTAMP": {0, 1, writeInstant, reports},

		"COALESCE": {1, maxArgs, writeCoalesce, reports},
		"NULLIF":   {2, 2, nullIf, reports},
		"ISNULL":   {1, 1, isNullFunction, reports},
		"GREATEST": {2, maxArgs, extremeFunction("max"), reports},
		"LEAST":    {2, maxArgs, extremeFunction("min"), reports},

		"ABS":     {1, 1, writeAbsolute, reports},
		"CEILING": {1, 1, writeCeil, reports},
		"FLOOR":   {1, 1, writeFloor, reports},
		"ROUND":   {1, 2, writeRound, reports},

		"CHAR_LENGTH":      {1, 1, nativeFunction("length", classInt, asText), reports},
		"CHARACTER_LENGTH": {1, 1, nativeFunction("length", classInt, asText), reports},
		"CONCAT_WS":        {2, maxArgs, nativeFunction("concat_ws", classText, asText), reports},
		"INSTR":            {2, 2, positionFunction(1, 0), reports},
		"LOCATE":           {2, 2, positionFunction(0, 1), reports},
		"LCASE":            {1, 1, nativeFunction("my_lower", classText, asText), reports},
		"LEFT":             {2, 2, nativeFunction("my_left", classText, asText, asNumber), reports},
		"LOWER":            {1, 1, nativeFunction("my_lower", classText, asText), reports},
		"LTRIM":            {1, 1, nativeFunction("ltrim", classText, asText), reports},
		"MID":              {3, 3, nativeFunction("my_substring", classText, asText, asNumber), reports},
		"REPLACE":          {3, 3, nativeFunction("replace", classText, asText), reports},
		"RIGHT":            {2, 2, nativeFunction("my_right", classText, asText, asNumber), reports},
		"RTRIM":            {1, 1, nativeFunction("rtrim", classText, asText), reports},
		"SUBSTR":           {2, 3, nativeFunction("my_substring", classText, asText, asNumber), reports},
		"SUBSTRING_INDEX":  {3, 3, nativeFunction("my_substring_index", classText, asText, asText, asNumber), reports},
		"TRIM":             {1, 1, nativeFunction("trim", classText, asText), reports},
		"UCASE":            {1, 1, nativeFunction("my_upper", classText, asText), reports},
		"UPPER":            {1, 1, nativeFunction("my_upper", classText, asText), reports},

		"DATEDIFF":       {2, 2, nativeFunction("my_datediff", classInt, asIs), reports},
		"DAYOFMONTH":     {1, 1, datePart, reports},
		"DAYOFWEEK":      {1, 1, datePart, reports},
		"DAYOFYEAR":      {1, 1, datePart, reports},
		"WEEKDAY":        {1, 1, datePart, reports},
		"FROM_UNIXTIME":  {1, 1, fromUnix, reports},
		"UNIX_TIMESTAMP": {1, 1, nativeFunction("my_unix_timestamp", classInt, asIs), reports},
	}
}

// positionOf is LOCATE: the place of a part in a text, in characters from 1, or 0.
func positionOf(a []any) any {
	part, text := mysqlvalue.Text(a[0]), mysqlvalue.Text(a[1])
	if mysqlvalue.Int(a[2]) == 0 {
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
	found := mysqlvalue.Text(a[0])
	for _, v := range a[1:] {
		folded := func(s string) string { return upperASCII(strings.TrimRight(s, " ")) }
		if s := mysqlvalue.Text(v); sign*strings.Compare(folded(s), folded(found)) > 0 {
			found = s
		}
	}
	return found
}

func rightOf(a []any) any {
	s, count := mysqlvalue.Text(a[0]), mysqlvalue.Int(a[1])
	return cutText(s, max(int64(utf8.RuneCountInString(s))-count, 0), count)
}

// substringIndex is the part of a text before the n-th delimiter, or behind the n-th from the end
// if n is negative.
func substringIndex(a []any) any {
	s, delimiter, n := mysqlvalue.Text(a[0]), mysqlvalue.Text(a[1]), mysqlvalue.Int(a[2])
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
	digits := int(mysqlvalue.Int(a[1]))
	whole, isInt := a[0].(int64)
	x := mysqlvalue.Number(a[0])
	power := math.Pow10(digits)
	switch {
	case isInt && digits >= 0:
		return whole
	case mysqlvalue.Int(a[2]) == 0:
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
		return mysqlvalue.Round(y)
	}
	return y
}

// dateDifference is DATEDIFF, in days.
func dateDifference(a []any) any {
	return withDate(a[0], func(x mysqlvalue.Moment) any {
		return withDate(a[1], func(y mysqlvalue.Moment) any {
			return int64(x.Time.Truncate(24*time.Hour).Sub(y.Time.Truncate(24*time.Hour)) / (24 * time.Hour))
		})
	})
}

// lastUnix is the last time of FROM_UNIXTIME and UNIX_TIMESTAMP on all servers.
const lastUnix = math.MaxInt32

func fromUnixTime(a []any) any {
	n := mysqlvalue.Int(a[0])
	if n < 0 || n > lastUnix {
		return nil
	}
	return time.Unix(n, 0).UTC().Format(time.DateTime)
}

func unixTimestamp(a []any) any {
	m, ok := mysqlvalue.ParseMoment(a[0])
	if n := m.Time.Unix(); ok && n > 0 && n <= lastUnix {
		return n
	}
	return 0
}
