package storage

import "testing"

func TestEvaluate(t *testing.T) {
	for expression, want := range map[string]string{
		"":                       "",
		"1 + 2":                  "3",
		"IF(5 > 3, 'yes', 'no')": "yes",
		"DATE_ADD('2026-01-05 10:00:00', INTERVAL 2 HOUR)": "2026-01-05 12:00:00",
		"NULL":             "",
		"CONCAT('a', 'b')": "ab",
	} {
		if got, err := Evaluate(expression); err != nil || got != want {
			t.Errorf("%s is %q, %v, want %q", expression, got, err, want)
		}
	}
	for _, refused := range []string{"Status", "(SELECT 1 FROM `sites`)", "SLEEP(9)", "load_extension('x')", "1; DROP TABLE a"} {
		if got, err := Evaluate(refused); err == nil {
			t.Errorf("%s is %q; it must be refused", refused, got)
		}
	}
}
