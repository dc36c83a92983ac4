package feed

import (
	"time"

	"hce/dc/internal/web/dates"
)

// firstDate returns the first valid date of the candidates in UTC, or zero. gofeed's own
// result is the second choice: it knows more layouts, but reads an unknown zone as UTC.
func firstDate(candidates ...dateText) time.Time {
	for _, c := range candidates {
		t, ok := dates.Parse(c.text)
		if !ok && c.parsed != nil {
			t = c.parsed.UTC()
		}
		if y := t.Year(); y >= 1900 && y <= 9999 {
			return t
		}
	}
	return time.Time{}
}

type dateText struct {
	text   string
	parsed *time.Time
}
