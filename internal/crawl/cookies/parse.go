package cookies

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxPair      = 4096 // bytes of name and value together
	maxAttribute = 1024 // bytes of the value of an attribute
	maxAge       = 400 * 24 * time.Hour

	// SessionAge is the life of a cookie without expiry. A crawler has no browser session
	// that could end.
	SessionAge = 24 * time.Hour
)

// setCookie is a parsed Set-Cookie line.
type setCookie struct {
	name, value  string
	domain, path string // "" if not given
	secure       bool
	expires      time.Time
}

// parseSetCookie parses a Set-Cookie line (RFC 6265bis 5.6). A cookie to remove has the zero expiry
// time. ok is false if the line must be ignored.
func parseSetCookie(line string, now time.Time) (c setCookie, ok bool) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	c = setCookie{name: trimBlanks(name), value: trimBlanks(value), expires: now.Add(SessionAge)}
	if c.name == "" && c.value == "" || !isSendable(c.name, c.value) {
		return c, false
	}
	aged := false // Max-Age overrides Expires
	for attributes != "" {
		var attribute string
		attribute, attributes, _ = strings.Cut(attributes, ";")
		key, value, _ := strings.Cut(attribute, "=")
		key, value = trimBlanks(key), trimBlanks(value)
		if len(value) > maxAttribute || strings.ContainsFunc(value, isControl) || !utf8.ValidString(value) {
			continue
		}
		switch strings.ToLower(key) {
		case "expires":
			if at, ok := parseDate(value); ok && !aged {
				c.expires = limitExpiry(at, now)
			}
		case "max-age":
			if age, ok := parseAge(value); ok {
				c.expires, aged = limitExpiry(now.Add(age), now), true
			}
		case "domain":
			c.domain = cleanHost(strings.TrimPrefix(value, "."))
		case "path":
			c.path = ""
			if strings.HasPrefix(value, "/") {
				c.path = value
			}
		case "secure":
			c.secure = true
		}
	}
	return c, true
}

// isSendable reports whether a request can carry the pair and a file can store it.
func isSendable(name, value string) bool {
	return len(name)+len(value) <= maxPair &&
		!strings.ContainsFunc(name, isControl) && !strings.ContainsFunc(value, isControl) &&
		!strings.ContainsAny(name, "=;") && !strings.Contains(value, ";") &&
		utf8.ValidString(name) && utf8.ValidString(value)
}

func trimBlanks(s string) string { return strings.Trim(s, " \t") }

// limitExpiry limits an expiry time. A time in the past becomes the zero time.
func limitExpiry(at, now time.Time) time.Time {
	switch latest := now.Add(maxAge); {
	case !at.After(now):
		return time.Time{}
	case at.After(latest):
		return latest
	}
	return at
}

// parseAge parses Max-Age: digits after an optional minus sign, limited to maxAge.
func parseAge(text string) (time.Duration, bool) {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	if len(digits) < len(text) {
		return 0, true
	}
	seconds, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || seconds > int64(maxAge/time.Second) { // err: more than 64 bits
		return maxAge, true
	}
	return time.Duration(seconds) * time.Second, true
}

// The words of a date (RFC 6265bis 5.1.1). Only a part that is no digit may follow a number.
var (
	clockWord = regexp.MustCompile(`^(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\D|$)`)
	dayWord   = regexp.MustCompile(`^(\d{1,2})(?:\D|$)`)
	yearWord  = regexp.MustCompile(`^(\d{2,4})(?:\D|$)`)
)

const months = "janfebmaraprmayjunjulaugsepoctnovdec"

// parseDate parses the date of Expires as browsers do (RFC 6265bis 5.1.1): words in any
// order between delimiters. It ignores unknown words.
func parseDate(text string) (time.Time, bool) {
	var clock, day, year []int
	month := 0
	for _, word := range strings.FieldsFunc(text, isDelimiter) {
		switch name := strings.ToLower(word[:min(len(word), 3)]); {
		case clock == nil && clockWord.MatchString(word):
			clock = matchNumbers(clockWord, word)
		case day == nil && dayWord.MatchString(word):
			day = matchNumbers(dayWord, word)
		case month == 0 && len(name) == 3 && strings.Index(months, name)%3 == 0:
			month = strings.Index(months, name)/3 + 1
		case year == nil && yearWord.MatchString(word):
			year = matchNumbers(yearWord, word)
		}
	}
	if clock == nil || day == nil || month == 0 || year == nil {
		return time.Time{}, false
	}
	switch {
	case year[0] <= 69:
		year[0] += 2000
	case year[0] <= 99:
		year[0] += 1900
	}
	if year[0] < 1601 || clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return time.Time{}, false
	}
	at := time.Date(year[0], time.Month(month), day[0], clock[0], clock[1], clock[2], 0, time.UTC)
	return at, at.Day() == day[0] // false for the 31st of a short month
}

// matchNumbers returns the groups of a word that matches.
func matchNumbers(word *regexp.Regexp, text string) (list []int) {
	for _, digits := range word.FindStringSubmatch(text)[1:] {
		n, _ := strconv.Atoi(digits) // at most four digits
		list = append(list, n)
	}
	return list
}

// isDelimiter reports whether r separates words of a date.
func isDelimiter(r rune) bool {
	return r == '\t' || r >= ' ' && r <= '/' || r >= ';' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
}
