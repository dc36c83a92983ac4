package feed

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDate bounds the text of a date, in bytes.
const maxDate = 100

// firstDate returns the first valid date of the candidates in UTC, or zero. gofeed's own
// result is the second choice: it knows more layouts, but reads an unknown zone as UTC.
func firstDate(candidates ...dateText) time.Time {
	for _, c := range candidates {
		t := parseDate(c.text)
		if t.IsZero() && c.parsed != nil {
			t = c.parsed.UTC()
		}
		if y := t.Year(); !t.IsZero() && y >= 1900 && y <= 9999 {
			return t
		}
	}
	return time.Time{}
}

type dateText struct {
	text   string
	parsed *time.Time
}

// Layouts of the day and of the time after it, as normalise leaves them.
var (
	dayForms  = []string{"2 Jan 2006", "2006-1-2", "Jan 2 2006", "2 Jan 06", "2006/1/2", "2-Jan-2006", "2-Jan-06", "20060102", "2006-1"}
	hourForms = []string{" 15:4:5", " 15:4", "", " 3:4:5 PM", " 3:4 PM"}
)

// parseDate parses dates of RFC 822 and ISO 8601 and common deviations: any zone, full or
// short names of weekdays and months. It returns zero for other texts.
func parseDate(text string) time.Time {
	if len(text) > maxDate {
		return time.Time{}
	}
	text, zone := splitZone(normalise(text))
	for _, day := range dayForms {
		for _, hour := range hourForms {
			if t, err := time.Parse(day+hour, text); err == nil {
				return t.Add(-zone)
			}
		}
	}
	return time.Time{}
}

// normalise splits a date into words, without weekday and comment, months as three letters.
func normalise(text string) []string {
	text, _, _ = strings.Cut(text, "(")
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ',' && i > 2 && text[i-3] == ':': // a comma before the fraction of seconds
			b.WriteByte('.')
		case c == ',':
			b.WriteByte(' ')
		case (c == 'T' || c == 't') && i > 0 && i+1 < len(text) && isDigit(text[i-1]) && isDigit(text[i+1]):
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	parts := strings.Fields(b.String())
	if len(parts) > 0 && isWeekDay(parts[0]) {
		parts = parts[1:]
	}
	for i, p := range parts {
		parts[i] = shortMonth(p)
	}
	return parts
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWeekDay(word string) bool {
	word = strings.ToLower(strings.TrimRight(word, "."))
	if len(word) < 3 {
		return false
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if strings.HasPrefix(strings.ToLower(d.String()), word) {
			return true
		}
	}
	return false
}

func shortMonth(word string) string {
	name := strings.ToLower(strings.TrimRight(word, "."))
	if name == "sept" {
		return "Sep"
	}
	if len(name) >= 3 {
		for m := time.January; m <= time.December; m++ {
			if strings.HasPrefix(strings.ToLower(m.String()), name) {
				return m.String()[:3]
			}
		}
	}
	return word
}

// splitZone removes the zone from the end of a date, even if no space precedes it. Without
// a zone the date is in UTC.
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
	n := len(parts)
	for n > 1 { // of "+0900 JST" the number counts
		z, known := zoneOffset(parts[n-1])
		if !known {
			break
		}
		zone = z
		n--
	}
	return strings.Join(parts[:n], " "), zone
}

func endsClock(r rune) bool { return r != ':' && r != '.' && (r < '0' || r > '9') }

// zones maps the abbreviations in use to minutes east of UTC. For an ambiguous one it has
// the most common meaning.
var zones = map[string]int{
	"Z": 0, "UT": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": 60, "BST": 60,
	"CET": 60, "CEST": 120, "MET": 60, "MEST": 120, "EET": 120, "EEST": 180, "MSK": 180, "MSD": 240,
	"EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360, "PST": -480, "PDT": -420,
	"AKST": -540, "AKDT": -480, "HST": -600, "AST": -240, "ADT": -180, "NST": -210, "NDT": -150,
	"BRT": -180, "BRST": -120, "ART": -180, "SAST": 120, "IST": 330, "PKT": 300, "ICT": 420, "WIB": 420,
	"SGT": 480, "HKT": 480, "PHT": 480, "AWST": 480, "JST": 540, "KST": 540, "ACST": 570, "ACDT": 630,
	"AEST": 600, "AEDT": 660, "NZST": 720, "NZDT": 780,
}

// zoneOffset parses a zone: a name, "+0900", "+09:00", "-7", "GMT+9", "--0700".
func zoneOffset(zone string) (time.Duration, bool) {
	zone = strings.ToUpper(zone)
	if minutes, known := zones[zone]; known {
		return time.Duration(minutes) * time.Minute, true
	}
	zone = strings.TrimPrefix(strings.TrimPrefix(zone, "GMT"), "UTC")
	zone = strings.TrimLeft(zone, ":")
	if len(zone) < 2 || zone[0] != '+' && zone[0] != '-' {
		return 0, false
	}
	negative := zone[0] == '-'
	digits := strings.ReplaceAll(strings.TrimLeft(zone, "+-"), ":", "")
	if len(digits) == 6 { // with seconds
		digits = digits[:4]
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || len(digits) > 4 {
		return 0, false
	}
	if len(digits) <= 2 {
		n *= 100
	}
	if n/100 > 15 || n%100 > 59 {
		return 0, false
	}
	offset := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if negative {
		offset = -offset
	}
	return offset, true
}
