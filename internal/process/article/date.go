package article

import (
	"strings"
	"time"
)

// layouts are the date formats in mark-up, most frequent first.
var layouts = []struct {
	layout string
	zoned  bool
}{
	{time.RFC3339, true},
	{"2006-01-02", false},
	{"2006-01-02T15:04:05", false},
	{"2006-01-02 15:04:05", false},
	{"2006-01-02T15:04:05Z0700", true},
	{"2006-01-02 15:04:05Z07:00", true},
	{"2006-01-02 15:04:05 Z07:00", true},
	{"2006-01-02 15:04:05 Z0700", true},
	{"2006-01-02T15:04Z07:00", true},
	{"2006-01-02T15:04", false},
	{"2006-01-02 15:04", false},
	{"20060102T150405Z0700", true},
	{"20060102T150405", false},
	{"20060102", false},
	{"2006/01/02", false},
	{"2006/01/02 15:04:05", false},
	{"2006.01.02", false},
	{"02.01.2006", false},
	{"02.01.2006 15:04", false},
	{time.RFC1123Z, true},
	{time.RFC1123, true},
	{"Mon, 2 Jan 2006 15:04:05 -0700", true},
	{"January 2, 2006", false},
	{"Jan 2, 2006", false},
	{"2 January 2006", false},
	{"2 Jan 2006", false},
}

// parseDate reads a date in mark-up. A date without a zone is UTC, and zoned is false. It
// refuses dates outside of the years 1970 to 2200.
func parseDate(text string) (date time.Time, zoned, ok bool) {
	text = strings.TrimSpace(text)
	if len(text) < 8 || len(text) > 40 {
		return time.Time{}, false, false
	}
	for _, l := range layouts {
		t, err := time.Parse(l.layout, text)
		if err != nil {
			continue
		}
		if y := t.Year(); y < 1970 || y > 2200 {
			return time.Time{}, false, false
		}
		return t, l.zoned, true
	}
	return time.Time{}, false, false
}
