package content

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hce/dc/internal/wire/prop"
)

// Bits of PDATE_SOURCES_MASK: where the date of publication may come from, in
// the order in which the sources are asked. Higher bits belong to processing.
const (
	SourceURL      = 1 // a date in the path of the URL
	SourceFeed     = 2 // the date of the feed's entry
	SourceDate     = 4 // the header Date
	SourceModified = 8 // the header Last-Modified, or what stands for it
)

// Values of the properties where a site has none. By default a later source
// replaces what an earlier one found.
const (
	DefaultSources   = 255
	DefaultOverwrite = 192
)

// ParseMask reads PDATE_SOURCES_MASK and PDATE_SOURCES_MASK_OVERWRITE: a whole
// number of at least 0.
func ParseMask(text string) (int64, error) {
	mask := prop.Int(-1)
	if err := prop.Decode(text, &mask); err != nil {
		return 0, err
	}
	if mask < 0 {
		return 0, fmt.Errorf("has %.80q, where a number of at least 0 is wanted", strings.TrimSpace(text))
	}
	return int64(mask), nil
}

// Sources are what PDate chooses from; zero values are sources that are silent.
type Sources struct {
	URL      string
	Feed     time.Time
	Header   http.Header
	Modified time.Time // as LastModified returned it
}

// PDate returns the date of publication by the sources whose bits are in mask,
// UTC; the zero time when none of them knows. A source whose bit is also in
// overwrite counts only as long as no date was found; others replace what was.
func PDate(mask, overwrite int64, s Sources) time.Time {
	var found time.Time
	for _, bit := range [...]int64{SourceURL, SourceFeed, SourceDate, SourceModified} {
		if mask&bit == 0 || overwrite&bit != 0 && !found.IsZero() {
			continue
		}
		if t := s.date(bit); !t.IsZero() {
			found = t.UTC()
		}
	}
	return found
}

func (s Sources) date(bit int64) time.Time {
	switch bit {
	case SourceURL:
		return URLDate(s.URL)
	case SourceFeed:
		return s.Feed
	case SourceDate:
		t, _ := ParseDate(field(s.Header, "Date"))
		return t
	}
	return s.Modified
}

// datePath finds /2024/05/17 and 2024-05-17. No digit may touch it.
var datePath = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)[0-9]{2})(?:/([0-9]{1,2})/([0-9]{1,2})|-([0-9]{2})-([0-9]{2}))(?:[^0-9]|$)`)

// maxPath bounds the URL that is looked through.
const maxPath = 4096

// URLDate returns the first date in the path of a URL, at midnight UTC; the zero
// time when it has none.
func URLDate(text string) time.Time {
	u, err := url.Parse(text[:min(len(text), maxPath)])
	if err != nil {
		return time.Time{}
	}
	// A date that is none may end where the next begins, so the search goes on
	// right behind its year.
	for path, tries := u.Path, 8; tries > 0; tries-- {
		m := datePath.FindStringSubmatch(path)
		if m == nil {
			break
		}
		year, _ := strconv.Atoi(m[1])
		month, _ := strconv.Atoi(m[2] + m[4])
		day, _ := strconv.Atoi(m[3] + m[5])
		t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		if t.Day() == day && int(t.Month()) == month { // else it is no day of the calendar
			return t
		}
		_, path, _ = strings.Cut(path, m[1])
	}
	return time.Time{}
}
