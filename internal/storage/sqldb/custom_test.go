package sqldb

import "testing"

func TestOneStatement(t *testing.T) {
	cases := map[string]bool{
		"SELECT 1": true, "SELECT 1;": true, "SELECT 1; \n": true, "SELECT ';'": true, `SELECT ";" , ` + "`;`": true,
		"SELECT 1 -- ; x": true, "/* ; */ SELECT 1": true, "SELECT 'it''s; fine'": true,
		"": false, " ": false, ";": false, "-- x": false, "/* x */": false,
		"SELECT 1; SELECT 2": false, "SELECT 1;;": false, "/*/ ' */ SELECT 1; SELECT 2": false, "SELECT '' ; SELECT 2": false,
		"-- '\nSELECT 1; SELECT 2": false, "SELECT 'a'';'; SELECT 2": false,
	}
	for text, want := range cases {
		if got := oneStatement(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
