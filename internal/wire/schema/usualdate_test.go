package schema

import "testing"

// Dates as the tables of the original read them.
func TestUsualDate(t *testing.T) {
	for text, want := range map[string]string{
		"12-12-12 12.12.12": "2012-12-12 12:12:12", "69-1-2": "2069-01-02 00:00:00", "70/01/02 3:04": "1970-01-02 03:04:00", "2012.05.16T1:2:3": "2012-05-16 01:02:03",
		"2012-05-16 10:00:00": "2012-05-16 10:00:00", "NOW()": "NOW()", "UDate-1": "UDate-1", "1-2-3": "1-2-3", "12-12": "12-12", "2012-05-16 10:00:00Z": "2012-05-16 10:00:00Z",
	} {
		if got := usualDate(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
