package dates

import (
	"strings"
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	at := time.Date(2026, 3, 5, 18, 7, 9, 0, time.FixedZone("", 9*3600))
	for format, want := range map[string]string{
		"%Y-%m-%d %H:%M:%S": "2026-03-05 18:07:09", "%d.%m.%y": "05.03.26", "%A, %B %-d": "Thursday, March 5",
		"%z": "+0900", "%I:%M %p": "06:07 PM", "100%%": "100%", "%Q%": "1772701629000%", "": "", "%j": "064",
	} {
		if got, err := Format(format, at); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", format, got, err, want)
		}
	}
	if _, err := Format(strings.Repeat("%B", MaxFormat), at); err == nil {
		t.Error("no error for a long format")
	}
}
