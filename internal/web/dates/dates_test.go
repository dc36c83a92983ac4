package dates

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	want := "2024-03-05T09:07:08Z"
	for _, in := range []string{
		"Tue, 05 Mar 2024 09:07:08 GMT", "Tue, 5 Mar 2024 09:07:08 +0000", "Tue, 05 Mar 2024 18:07:08 +09:00",
		"Tue, 05 Mar 2024 18:07:08 JST", "tue, 05 mar 2024 18:07:08 +0900 (JST)", "Tuesday, 5 March 2024 09:07:08 Z",
		"05 Mar 24 09:07:08 UT", "5 Mar. 2024 04:07:08 EST", "2024-03-05T09:07:08Z", "2024-03-05t09:07:08z",
		"2024-03-05T18:07:08+09:00", "2024-03-05T18:07:08+0900", "2024-03-05 18:07:08 +09:00", "2024-03-05T09:07:08",
		"2024-03-05T09:07:08:+0000", "Mar 5, 2024 9:07:08 AM", "March 5,2024 09:07:08", "Tue Mar 5 2024 18:07:08 GMT+0900 (Japan)",
		"20240305T090708Z"[:8] + " 09:07:08", "2024/03/05 09:07:08", "Tue, 05 Mar 2024 02:07:08 -700", "5-Mar-2024 09:07:08",
		" Tue,  05 Mar 2024\n09:07:08 GMT ", "Tues, 05 Mar 2024 09:07:08GMT",
	} {
		if got, ok := Parse(in); !ok || got.Format(time.RFC3339) != want {
			t.Errorf("%q: %s, %v", in, got, ok)
		}
	}
	for in, want := range map[string]string{
		"2024-03-05T09:07:08,250Z": "2024-03-05T09:07:08.25Z", "2024-03-05T09:07:08.25Z": "2024-03-05T09:07:08.25Z",
		"Thu, 05 Sept 2024": "2024-09-05T00:00:00Z", "2024-03": "2024-03-01T00:00:00Z",
		"Sun Nov  6 08:49:37 1994": "1994-11-06T08:49:37Z", "Sun Nov 6 08:49:37 UTC 1994": "1994-11-06T08:49:37Z",
		"1994 Nov 6 08:49:37 pm": "1994-11-06T20:49:37Z", "Nov 6, 1994 8:49:37 pm": "1994-11-06T20:49:37Z",
	} {
		got := ""
		if at, ok := Parse(in); ok {
			got = at.Format(time.RFC3339Nano)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{"", "now", "yesterday at noon", "2024-13-41", "+0900", "(x)", ",,,", "99 Foo 2024", strings.Repeat("1", 200)} {
		if got, ok := Parse(in); ok || !got.IsZero() {
			t.Errorf("%q: %s", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"Sun, 06 Nov 1994 08:49:37 GMT", "06-Nov-94", "GMT+0200", "1994-11-06T", "+02:00", "()", "--", "UTC", "5 Mar 2024 9:07 pm"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := Parse(text); d.Location() != time.UTC || !ok && !d.IsZero() {
			t.Errorf("%q: %v, %v", text, d, ok)
		}
	})
}
