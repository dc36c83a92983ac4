package article

import (
	"strings"
	"time"

	"hce/dc/internal/web/datetext"
)

// parseDate reads a date in mark-up or in a text. A date without a zone is UTC. It returns the
// zero time for other texts.
func parseDate(text string) time.Time {
	text = strings.TrimSpace(text)
	if len(text) < 8 || len(text) > maxDateBytes {
		return time.Time{}
	}
	t, _ := datetext.Parse(text, datetext.Options{})
	return t
}

// maxDateBytes is the longest text of a date.
const maxDateBytes = 80
