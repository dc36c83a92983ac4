// Package dates parses the dates that servers, feeds and sitemaps write.
//
//	t, ok := dates.Parse("Tuesday, 5 March 2024 18:07 +0900") // 2024-03-05 09:07:00 UTC
//
// Callers restrict the years that make sense to them. Sources: RFC 9110 5.6.7, RFC 5322 3.3,
// ISO 8601.
package dates

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxText bounds the text of a date, in bytes.
const maxText = 100

// Layouts of the day and of the time after it, as normalise leaves them.
var (
	dayForms  = []string{"2 Jan 2006", "2006-1-2", "Jan 2 2006", "2 Jan 06", "2006/1/2", "2-Jan-2006", "2-Jan-06", "20060102", "2006-1", "2006 Jan 2"}
	hourForms = []string{" 15:4:5", " 15:4", "", " 3:4:5 PM", " 3:4 PM"}
)

// Parse parses dates of RFC 822, RFC 850, asctime and ISO 8601, and common deviations: any zone,
// full or short names of weekdays and months, a missing or wrong weekday, no time of day. Without
// a zone the date is UTC. The result is in UTC; ok is false for other texts.
func Parse(text string) (t time.Time, ok bool) {
	if len(text) > maxText {
		return time.Time{}, false
	}
	text, zone := splitZone(normaliseDate(text))
	for _, day := range dayForms {
		for _, hour := range hourForms {
			if t, err := time.Parse(day+hour, text); err == nil {
				return t.Add(-zone), true
			}
		}
	}
	if t, err := time.Parse("Jan 2 15:4:5 2006", text); err == nil { // asctime
		return t.Add(-zone), true
	}
	return time.Time{}, false
}

var (
	fraction = regexp.MustCompile(`(:..),`) // of seconds, after a comma
	timeMark = regexp.MustCompile(`([0-9])[Tt]([0-9])`)
)

// normaliseDate splits a date into words, without weekday and comment, months as three letters.
func normaliseDate(text string) []string {
	text, _, _ = strings.Cut(text, "(")
	text = fraction.ReplaceAllString(text, "$1.")
	text = timeMark.ReplaceAllString(text, "$1 $2")
	parts := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(parts) > 0 && isWeekDay(parts[0]) {
		parts = parts[1:]
	}
	for i, p := range parts {
		parts[i] = shortWord(p)
	}
	return parts
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWeekDay(word string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		if abbreviates(word, d.String()) {
			return true
		}
	}
	return false
}

// shortWord returns the name of a month as three letters, AM and PM in upper case, and other
// words as they are.
func shortWord(word string) string {
	for m := time.January; m <= time.December; m++ {
		if abbreviates(word, m.String()) {
			return m.String()[:3]
		}
	}
	if strings.EqualFold(word, "AM") || strings.EqualFold(word, "PM") {
		return strings.ToUpper(word)
	}
	return word
}

// abbreviates reports whether word has at least the first three letters of name.
func abbreviates(word, name string) bool {
	word = strings.TrimRight(word, ".")
	return len(word) >= 3 && len(word) <= len(name) && strings.EqualFold(word, name[:len(word)])
}

// splitZone removes the zone from a date, even if no space precedes it, and joins the rest.
func splitZone(parts []string) (text string, zone time.Duration) {
	for i, p := range parts {
		if !strings.Contains(p, ":") || !isDigit(p[0]) {
			continue
		}
		if at := strings.IndexFunc(p, endsClock); at > 0 {
			parts = slices.Replace(parts, i, i+1, strings.TrimRight(p[:at], ":"), p[at:])
		}
		break
	}
	for i := len(parts) - 1; i > 0; i-- { // of "+0900 JST" the number counts
		if z, known := Zone(parts[i]); known {
			zone, parts = z, slices.Delete(parts, i, i+1)
		}
	}
	return strings.Join(parts, " "), zone
}

func endsClock(r rune) bool { return r != ':' && r != '.' && (r < '0' || r > '9') }
