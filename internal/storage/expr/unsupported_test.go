package expr

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// unsupportedCases are calls of MySQL functions that the package does not support.
var unsupportedCases = map[string]string{
	"ADDDATE":        "ADDDATE('2026-01-05', 3)",
	"BIT_AND":        "(SELECT BIT_AND(State) FROM sites)",
	"BIT_XOR":        "(SELECT BIT_XOR(State) FROM sites)",
	"CONVERT":        "CONVERT('7', UNSIGNED)",
	"CURRENT_TIME":   "CURRENT_TIME()",
	"DAYNAME":        "DAYNAME('2026-01-05')",
	"EXTRACT":        "EXTRACT(MINUTE FROM NOW())",
	"FIND_IN_SET":    "FIND_IN_SET('B', 'a,b,c')",
	"FROM_DAYS":      "FROM_DAYS(733321)",
	"GROUP_CONCAT":   "(SELECT GROUP_CONCAT(Id) FROM sites)",
	"LAST_DAY":       "LAST_DAY('2024-02-03')",
	"LOCALTIME":      "LOCALTIME()",
	"LOCALTIMESTAMP": "LOCALTIMESTAMP",
	"LPAD":           "LPAD('a', 3, 'b')",
	"MICROSECOND":    "MICROSECOND(NOW())",
	"MONTHNAME":      "MONTHNAME(NOW())",
	"OCTET_LENGTH":   "OCTET_LENGTH('abc')",
	"POSITION":       "POSITION('c' IN 'abc')",
	"POW":            "POW(2, 10)",
	"POWER":          "POWER(2, 10)",
	"QUARTER":        "QUARTER(NOW())",
	"REVERSE":        "REVERSE('abc')",
	"SEC_TO_TIME":    "SEC_TO_TIME(3661)",
	"SIGN":           "SIGN(-9)",
	"SQRT":           "SQRT(-1)",
	"SUBDATE":        "SUBDATE(NOW(), INTERVAL 3 MONTH)",
	"SYSDATE":        "SYSDATE() = NOW()",
	"TIMESTAMP":      "TIMESTAMP('2026-01-05')",
	"TIMESTAMPADD":   "TIMESTAMPADD(MINUTE, 3, '2026-01-05 00:00:00')",
	"TO_DAYS":        "TO_DAYS('1970-01-01')",
	"TRUNCATE":       "TRUNCATE(1.99, 1)",
	"UTC_TIME":       "UTC_TIME()",
	"WEEK":           "WEEK('2008-02-20')",
	"WEEKOFYEAR":     "WEEKOFYEAR('2008-02-20')",
}

func TestUnsupportedFunctions(t *testing.T) {
	for name, text := range unsupportedCases {
		t.Run(name, func(t *testing.T) {
			for _, dialect := range []Dialect{SQLite, MySQL} {
				s := urlScope()
				s.Dialect = dialect
				q, err := s.Value(text)
				var e *Error
				if !errors.As(err, &e) || e.Part != "function "+name || e.Reason != notSupported {
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
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if !strings.Contains(all, name+"(") {
			t.Errorf("no case calls %s", name)
		}
	}
}
