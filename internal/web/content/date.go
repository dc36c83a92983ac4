package content

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// ParseDate parses the date of a header: the forms of RFC 9110 5.6.7, the deviations that
// package dates accepts, and Unix seconds. The result is in UTC and in the years 1971 to 9999;
// ok is false for all other texts. 1970 means a server without a clock.
func ParseDate(text string) (t time.Time, ok bool) {
	text = strings.Trim(text, " \t\r\n\"'")
	if seconds, err := strconv.ParseInt(text, 10, 64); err == nil {
		if len(text) < 9 || len(text) > 11 {
			return time.Time{}, false
		}
		t = time.Unix(seconds, 0).UTC()
	} else if t, ok = dates.Parse(text); !ok {
		return time.Time{}, false
	}
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
