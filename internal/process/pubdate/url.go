package pubdate

import (
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/dates"
)

// ofURL reads the day in the path of a URL; zero without one.
func ofURL(text string) (v dates.Value) {
	if t := content.URLDate(text); !t.IsZero() {
		v = dates.DayOf(t)
	}
	return v
}
