package datetext

import "testing"

// Read adds nothing that the text does not state.
func TestRead(t *testing.T) {
	for _, tt := range []row{
		{"RFC 3339", "2024-07-01T23:30:00+09:00", "2024-07-01T23:30:00+09:00"},
		{"ISO 8601, minutes", " 2024-07-01T23:30Z ", "2024-07-01T23:30:00Z"},
		{"a day", "2024-07-01", "2024-07-01"},
		{"a day with a zone", "2024-07-01+09:00", "2024-07-01"},
		{"a day in digits", "20240701", "2024-07-01"},
		{"a day and a clock in digits", "20240701233000", "2024-07-01T23:30:00"},
		{"RFC 5322", "Mon, 01 Jul 2024 23:30:00 +0900", "2024-07-01T23:30:00+09:00"},
		{"RFC 5322, name of a zone", "Mon, 01 Jul 2024 23:30:00 GMT", "2024-07-01T23:30:00Z"},
		{"Unix seconds", "1717522200", "2024-06-04T17:30:00Z"},
		{"Unix milliseconds", "1717522200123", "2024-06-04T17:30:00Z"},
		{"words, day", "Posted on July 1st, 2024", "2024-07-01"},
		{"words, clock", "July 1, 2024 at 11:30 p.m.", "2024-07-01T23:30:00"},
		{"words, clock and zone", "July 1, 2024 at 11:30 p.m. EST", "2024-07-01T23:30:00-05:00"},
		{"words, month", "July 2024", "2024-07"},
		{"numbers, month", "07/2024", "2024-07"},
		{"Japanese, month", "2024年7月", "2024-07"},
		{"Japanese, day", "2024年7月1日", "2024-07-01"},
		{"a month and a clock", "July 2024, 10:00", "2024-07"},
		{"hours ago", "3 hours ago", "2016-06-01T09:00:00"},
		{"days ago", "3 days ago", "2016-05-29"},
		{"days ago, clock", "2 days ago, 18:59", "2016-05-30T18:59:00"},
		{"weeks ago", "2 weeks ago", "2016-05"},
		{"months ago", "2 months ago", "2016-04"},
		{"yesterday", "yesterday", "2016-05-31"},
		{"midnight is a time", "2024-07-01 00:00", "2024-07-01T00:00:00"},
		{"before all dates", "1969-07-21", ""},
		{"no date", "soon", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Read(tt.text, usual); got.String() != tt.want || ok != (tt.want != "") {
				t.Errorf("%q: %q, %v, want %q", tt.text, got, ok, tt.want)
			}
		})
	}
}
