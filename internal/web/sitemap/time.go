package sitemap

import (
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// parseTime parses a lastmod, in UTC; a year alone is its first day. It returns zero for an
// invalid text and a year before 1900, which some programs write for an unknown date.
func parseTime(text string) time.Time {
	t, ok := dates.Parse(text)
	if !ok {
		t, _ = time.Parse("2006", strings.TrimSpace(text))
	}
	if y := t.Year(); y < 1900 || y > 9999 {
		return time.Time{}
	}
	return t
}
