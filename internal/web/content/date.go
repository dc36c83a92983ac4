package content

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxDate bounds the text of a date, in bytes.
const maxDate = 80

// dateLayouts are the layouts of plainDate's output. time.Parse accepts one-digit days and
// hours in all of them.
var dateLayouts = []string{
	"2 Jan 2006 15:04:05 -0700", // RFC 9110 5.6.7
	"2 Jan 06 15:04:05 -0700",   // RFC 850
	"Jan 2 15:04:05 2006 -0700", // asctime
	"Jan 2 15:04:05 -0700 2006", // date(1)
	"Jan 2 2006 15:04:05 -0700", // "Jan 2, 2006 15:04:05"
	"2006 Jan 2 15:04:05 -0700",
	"2 January 2006 15:04:05 -0700",
	"January 2 2006 15:04:05 -0700",
	"2 Jan 2006 15:04 -0700",
	"2 Jan 2006 3:04:05 PM -0700",
	"Jan 2 2006 3:04:05 PM -0700",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04 -0700",
	"2006/01/02 15:04:05 -0700",
	"2 Jan 2006 -0700",
	"2006-01-02 -0700",
}

// zones holds the zones of RFC 822 5.1 and a few others in use. plainDate treats an unknown
// name as part of the date, which then does not parse.
var zones = map[string]string{
	"EST": "-0500", "EDT": "-0400", "CST": "-0600", "CDT": "-0500", "MST": "-0700", "MDT": "-0600",
	"PST": "-0800", "PDT": "-0700", "CET": "+0100", "CEST": "+0200", "EET": "+0200", "EEST": "+0300",
	"BST": "+0100", "MSK": "+0300", "JST": "+0900",
}

// ParseDate parses the date of a header: the forms of RFC 9110 5.6.7 and common deviations,
// such as other zones, a missing weekday, dashes, ISO 8601 and Unix seconds. The result is
// in UTC and in the years 1971 to 9999; ok is false for all other texts.
func ParseDate(text string) (t time.Time, ok bool) {
	text = strings.Trim(text, " \t\r\n\"'")
	if text == "" || len(text) > maxDate {
		return time.Time{}, false
	}
	if t, err := http.ParseTime(text); err == nil {
		return inRange(t)
	}
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(text) < 9 || len(text) > 11 {
			return time.Time{}, false
		}
		return inRange(time.Unix(seconds, 0))
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return inRange(t)
	}
	text = plainDate(text)
	for _, layout := range dateLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return inRange(t)
		}
	}
	return time.Time{}, false
}

// plainDate rewrites a date to match dateLayouts: no weekday, one space between words, a
// numeric zone at the end (+0000 by default).
func plainDate(text string) string {
	text, _, _ = strings.Cut(text, "(") // a comment, such as "(CET)"
	words := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(words) > 0 && isDay(words[0]) {
		words = words[1:]
	}
	var out []string
	zone := ""
	for _, w := range words {
		switch upper := strings.ToUpper(w); {
		case isOffset(w):
			zone = strings.Replace(w, ":", "", 1)
		case upper == "AM" || upper == "PM":
			out = append(out, upper)
		case zones[upper] != "":
			zone = zones[upper]
		case upper == "GMT" || upper == "UTC" || upper == "UT" || upper == "Z":
			zone = "+0000"
		case strings.HasPrefix(upper, "GMT") && isOffset(w[3:]), strings.HasPrefix(upper, "UTC") && isOffset(w[3:]):
			zone = strings.Replace(w[3:], ":", "", 1)
		case strings.Count(w, "-") == 2 && w[0] >= '0' && w[0] <= '9' && !isISO(w): // 2-Jan-2006
			out = append(out, strings.Split(w, "-")...)
		case isISO(w):
			day, clock, _ := strings.Cut(strings.TrimRight(upper, "Z"), "T")
			out = append(out, day)
			if clock != "" {
				out = append(out, clock)
			}
		default:
			out = append(out, w)
		}
	}
	if zone == "" {
		zone = "+0000"
	}
	return strings.Join(append(out, zone), " ")
}

func isDay(w string) bool {
	w = strings.ToLower(strings.TrimSuffix(w, "."))
	for _, day := range [...]string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		if len(w) >= 3 && strings.HasPrefix(day, w) {
			return true
		}
	}
	return false
}

// isOffset reports whether w is a zone such as -0700 or +01:00.
func isOffset(w string) bool {
	if len(w) < 5 || w[0] != '+' && w[0] != '-' {
		return false
	}
	digits := strings.Replace(w[1:], ":", "", 1)
	_, err := strconv.ParseUint(digits, 10, 16)
	return err == nil && len(digits) == 4
}

// isISO reports whether w begins like 2006-01-02.
func isISO(w string) bool {
	return len(w) >= 10 && w[4] == '-' && w[7] == '-'
}

// inRange converts t to UTC and rejects years before 1971: 1970 means a server without a
// clock.
func inRange(t time.Time) (time.Time, bool) {
	t = t.UTC()
	if y := t.Year(); y < 1971 || y > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// LastModified returns when the content of a response last changed: for code 304 the known
// date of the row (tcDate), else the header Last-Modified, else Date, else now minus
// fallback. An invalid header or a future date gives now. The result is in UTC, in whole
// seconds. Source: docs/spec/crawling.md 2.3.
func LastModified(code int, header http.Header, tcDate, now time.Time, fallback time.Duration) time.Time {
	now = now.UTC().Truncate(time.Second)
	if code == http.StatusNotModified && !tcDate.IsZero() {
		return tcDate.UTC().Truncate(time.Second)
	}
	for _, name := range [...]string{"Last-Modified", "Date"} {
		text := field(header, name)
		if text == "" {
			continue
		}
		if t, ok := ParseDate(text); ok && t.Before(now) {
			return t.Truncate(time.Second)
		}
		return now
	}
	return now.Add(-max(fallback, 0)).Truncate(time.Second)
}

// field returns the first value of a header field in any letter case: headers of files and
// feeds are not in canonical form.
func field(header http.Header, name string) string {
	if values := header[http.CanonicalHeaderKey(name)]; len(values) > 0 {
		return strings.TrimSpace(values[0])
	}
	for key, values := range header {
		if strings.EqualFold(key, name) && len(values) > 0 {
			return strings.TrimSpace(values[0])
		}
	}
	return ""
}
