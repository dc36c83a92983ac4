package content

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hce/dc/canonical"
	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/pdate"
)

// Sources are the inputs of PDate. A zero value is a source without a date.
type Sources struct {
	URL      string
	Feed     time.Time
	Header   http.Header
	Modified time.Time // as LastModified returned it
}

// PDate returns the publication date by the sources that the crawler has, in UTC; zero if
// none has a date.
func PDate(masks pdate.Masks, s Sources) (found time.Time) {
	masks.Choose(func(bit int64) bool {
		t := s.sourceDate(bit)
		if !t.IsZero() {
			found = t
		}
		return !t.IsZero()
	})
	return found
}

func (s Sources) sourceDate(bit int64) time.Time {
	switch bit {
	case pdate.URL:
		return URLDate(s.URL)
	case pdate.Feed:
		return s.Feed.UTC()
	case pdate.HTTPDate:
		t, _ := ParseDate(s.Header.Get("Date"))
		return t
	case pdate.Modified:
		return s.Modified.UTC()
	}
	return time.Time{}
}

// datePath finds /2024/05/17 and 2024-05-17 that no digit touches.
var datePath = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)[0-9]{2})(?:/([0-9]{1,2})/([0-9]{1,2})|-([0-9]{2})-([0-9]{2}))(?:[^0-9]|$)`)

// maxPath bounds the URL that is searched, in bytes.
const maxPath = 4096

// URLDate returns the first date in the path of a URL, at midnight UTC; zero without one.
func URLDate(text string) time.Time {
	u, err := canonical.Net(text[:min(len(text), maxPath)])
	if err != nil {
		return time.Time{}
	}
	// An invalid date may overlap a valid one, so the search continues right after its
	// year.
	for path, tries := u.Path, 8; tries > 0; tries-- {
		m := datePath.FindStringSubmatch(path)
		if m == nil {
			break
		}
		year, _ := strconv.Atoi(m[1])
		month, _ := strconv.Atoi(m[2] + m[4])
		day, _ := strconv.Atoi(m[3] + m[5])
		t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if t.Day() == day && int(t.Month()) == month { // time.Date normalises invalid days
			return t
		}
		_, path, _ = strings.Cut(path, m[1])
	}
	return time.Time{}
}

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
		text := strings.TrimSpace(header.Get(name))
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
