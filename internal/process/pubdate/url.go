package pubdate

import (
	"hce/dc/internal/web/content"
	"hce/dc/internal/web/dates"
)

// ofURL reads the day in the path of a URL.
func ofURL(text string) (dates.Value, bool) {
	t := content.URLDate(text)
	if t.IsZero() {
		return dates.Value{}, false
	}
	return dates.DayOf(t), true
}
