package article

import (
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// layouts are the date formats in mark-up that package dates does not know.
var layouts = []string{
	"20060102T150405Z0700",
	"20060102T150405",
	"2006.01.02",
	"02.01.2006",
	"02.01.2006 15:04",
}

// parseDate reads a date in mark-up. A date without a zone is UTC. It returns the zero time
// for other texts and for dates outside of the years 1970 to 2200.
func parseDate(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) < 8 || len(text) > 40 {
		return time.Time{}
	}
	t, known := dates.Parse(text)
	for i := 0; !known && i < len(layouts); i++ {
		var err error
		t, err = time.Parse(layouts[i], text)
		known = err == nil
	}
	if !known || t.Year() < 1970 || t.Year() > 2200 {
		return time.Time{}
	}
	return t
}
