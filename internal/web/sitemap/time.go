package sitemap

import (
	"strings"
	"time"
)

// timeForms are the layouts of the W3C note on dates and common deviations: a blank instead
// of "T", no zone, a zone without colon, a mail date. time.Parse accepts a fraction after
// seconds.
var timeForms = []string{
	time.RFC3339, time.DateOnly,
	"2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04",
	"2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07",
	"2006-01", "2006", "20060102", "2006-1-2",
	time.RFC1123, time.RFC1123Z,
}

// parseTime parses a lastmod, in UTC. It returns zero for an invalid text and a year before
// 1900, which some programs write for an unknown date.
func parseTime(text string) time.Time {
	text = strings.ToUpper(strings.TrimSpace(text))
	if len(text) > 64 {
		return time.Time{}
	}
	iso := text
	if len(text) > len(time.DateOnly) && text[4] == '-' {
		day, clock := text[:len(time.DateOnly)], strings.TrimLeft(text[len(time.DateOnly):], " T")
		iso = day + "T" + strings.ReplaceAll(clock, " ", "")
	}
	for _, form := range timeForms {
		t, err := time.Parse(form, iso)
		if err != nil {
			continue
		}
		if t = t.UTC(); t.Year() >= 1900 && t.Year() <= 9999 {
			return t
		}
		break
	}
	return time.Time{}
}
