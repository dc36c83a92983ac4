package article

import (
	"strings"
	"time"
)

// layouts are the date formats in mark-up, most frequent first.
var layouts = []string{
	time.RFC3339,
	"2006-01-02",
	"2006-01-02T15:04:05",
	"2006-01-02 15:04:05",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 Z07:00",
	"2006-01-02 15:04:05 Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"20060102T150405Z0700",
	"20060102T150405",
	"20060102",
	"2006/01/02",
	"2006/01/02 15:04:05",
	"2006.01.02",
	"02.01.2006",
	"02.01.2006 15:04",
	time.RFC1123Z,
	time.RFC1123,
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"January 2, 2006",
	"Jan 2, 2006",
	"2 January 2006",
	"2 Jan 2006",
}

// parseDate reads a date in mark-up. A date without a zone is UTC. It returns the zero time
// for other texts and for dates outside of the years 1970 to 2200.
func parseDate(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) < 8 || len(text) > 40 {
		return time.Time{}
	}
	for _, layout := range layouts {
		t, err := time.Parse(layout, text)
		if err != nil {
			continue
		}
		if y := t.Year(); y < 1970 || y > 2200 {
			return time.Time{}
		}
		return t
	}
	return time.Time{}
}
