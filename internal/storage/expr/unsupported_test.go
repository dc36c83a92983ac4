package expr

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// unsupportedCases are calls of MySQL functions that the package does not support.
var unsupportedCases = map[string]string{
	"ABS":              "ABS(-3)",
	"ADDDATE":          "ADDDATE('2026-01-05', 3)",
	"BIT_AND":          "(SELECT BIT_AND(State) FROM sites)",
	"BIT_XOR":          "(SELECT BIT_XOR(State) FROM sites)",
	"CEILING":          "CEILING(-1.2)",
	"CHARACTER_LENGTH": "CHARACTER_LENGTH('é')",
	"CHAR_LENGTH":      "CHAR_LENGTH('é')",
	"COALESCE":         "COALESCE(NULL, NULL, 'x')",
	"CONCAT_WS":        "CONCAT_WS('-', 'a', NULL, 'b')",
	"CONVERT":          "CONVERT('7', UNSIGNED)",
	"CURRENT_DATE":     "CURRENT_DATE",
	"CURRENT_TIME":     "CURRENT_TIME()",
	"DATEDIFF":         "DATEDIFF('2026-01-05 23:59:59', '2026-01-04')",
	"DAYNAME":          "DAYNAME('2026-01-05')",
	"DAYOFMONTH":       "DAYOFMONTH('2026-01-05')",
	"DAYOFWEEK":        "DAYOFWEEK('2026-01-05')",
	"DAYOFYEAR":        "DAYOFYEAR('2026-02-01')",
	"EXTRACT":          "EXTRACT(MINUTE FROM NOW())",
	"FIND_IN_SET":      "FIND_IN_SET('B', 'a,b,c')",
	"FLOOR":            "FLOOR(-1.2)",
	"FROM_DAYS":        "FROM_DAYS(733321)",
	"FROM_UNIXTIME":    "FROM_UNIXTIME(86400)",
	"GREATEST":         "GREATEST(1, 3, 2)",
	"GROUP_CONCAT":     "(SELECT GROUP_CONCAT(Id) FROM sites)",
	"INSTR":            "INSTR('abc', 'C')",
	"ISNULL":           "ISNULL(NULL)",
	"LAST_DAY":         "LAST_DAY('2024-02-03')",
	"LCASE":            "LCASE('X')",
	"LEAST":            "LEAST(1, 3, NULL)",
	"LEFT":             "LEFT('abc', 2)",
	"LOCALTIME":        "LOCALTIME()",
	"LOCALTIMESTAMP":   "LOCALTIMESTAMP",
	"LOCATE":           "LOCATE('B', 'abc')",
	"LOWER":            "LOWER('ÉA')",
	"LPAD":             "LPAD('a', 3, 'b')",
	"LTRIM":            "LTRIM(' a')",
	"MICROSECOND":      "MICROSECOND(NOW())",
	"MID":              "MID('abc', 2, 1)",
	"MONTHNAME":        "MONTHNAME(NOW())",
	"NULLIF":           "NULLIF(1, 1)",
	"OCTET_LENGTH":     "OCTET_LENGTH('abc')",
	"POSITION":         "POSITION('c' IN 'abc')",
	"POW":              "POW(2, 10)",
	"POWER":            "POWER(2, 10)",
	"QUARTER":          "QUARTER(NOW())",
	"REPLACE":          "REPLACE('aXa', 'X', 'b')",
	"REVERSE":          "REVERSE('abc')",
	"RIGHT":            "RIGHT('abc', 2)",
	"ROUND":            "ROUND(2.5)",
	"RTRIM":            "RTRIM('a ')",
	"SEC_TO_TIME":      "SEC_TO_TIME(3661)",
	"SIGN":             "SIGN(-9)",
	"SQRT":             "SQRT(-1)",
	"SUBDATE":          "SUBDATE(NOW(), INTERVAL 3 MONTH)",
	"SUBSTR":           "SUBSTR('abc', 2, -1)",
	"SUBSTRING_INDEX":  "SUBSTRING_INDEX('www.x.org', '.', -2)",
	"SYSDATE":          "SYSDATE() = NOW()",
	"TIMESTAMP":        "TIMESTAMP('2026-01-05')",
	"TIMESTAMPADD":     "TIMESTAMPADD(MINUTE, 3, '2026-01-05 00:00:00')",
	"TO_DAYS":          "TO_DAYS('1970-01-01')",
	"TRIM":             "TRIM(LEADING 'x' FROM 'xxa')",
	"TRUNCATE":         "TRUNCATE(1.99, 1)",
	"UCASE":            "UCASE('x')",
	"UNIX_TIMESTAMP":   "UNIX_TIMESTAMP('1970-01-02')",
	"UPPER":            "UPPER('éa')",
	"UTC_DATE":         "UTC_DATE()",
	"UTC_TIME":         "UTC_TIME()",
	"UTC_TIMESTAMP":    "UTC_TIMESTAMP()",
	"WEEK":             "WEEK('2008-02-20')",
	"WEEKDAY":          "WEEKDAY('2026-01-05')",
	"WEEKOFYEAR":       "WEEKOFYEAR('2008-02-20')",
}

func TestUnsupportedFunctions(t *testing.T) {
	want := "is not supported; supported: " + strings.Join(Supported(), ", ")
	for name, text := range unsupportedCases {
		t.Run(name, func(t *testing.T) {
			for _, dialect := range []Dialect{SQLite, MySQL} {
				s := urlScope()
				s.Dialect = dialect
				q, err := s.Value(text)
				var e *Error
				if !errors.As(err, &e) || e.Part != "function "+name || e.Reason != want {
					t.Errorf("dialect %d: %q, %v", dialect, q.Text, err)
				}
			}
		})
	}
	for _, name := range strings.Fields(forbidden) {
		if _, err := urlScope().Value(name + "('a')"); err == nil || err.Error() != "function "+name+" is not allowed" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFunctionsAreCompared checks that each supported function occurs in the cases that
// TestMariaDBCases and TestMariaDBShared compare.
func TestFunctionsAreCompared(t *testing.T) {
	var texts []string
	for text := range valueCases {
		texts = append(texts, text)
	}
	all := strings.Join(slices.Concat(texts, sharedCases), "\n")
	for _, name := range Supported() {
		if !strings.Contains(all, name+"(") {
			t.Errorf("no case calls %s", name)
		}
	}
}
