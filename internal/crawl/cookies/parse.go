package cookies

import (
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

// parse parses a Set-Cookie line (RFC 6265bis 5.6). A cookie to remove has the zero expiry
// time. ok is false if the line must be ignored.
func parse(line string, now time.Time) (c setCookie, ok bool) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, named := strings.Cut(pair, "=")
	if !named {
		name, value = "", pair
	}
	c = setCookie{name: trim(name), value: trim(value), expires: now.Add(SessionAge)}
	if c.name == "" && c.value == "" || !sendable(c.name, c.value) {
		return c, false
	}
	aged := false // Max-Age overrides Expires
	for attributes != "" {
		var attribute string
		attribute, attributes, _ = strings.Cut(attributes, ";")
		key, value, _ := strings.Cut(attribute, "=")
		key, value = trim(key), trim(value)
		if len(value) > maxAttribute || strings.ContainsFunc(value, control) || !utf8.ValidString(value) {
			continue
		}
		switch strings.ToLower(key) {
		case "expires":
			if at, ok := parseDate(value); ok && !aged {
				c.expires = expiry(at, now)
			}
		case "max-age":
			if age, ok := parseAge(value); ok {
				c.expires, aged = expiry(now.Add(age), now), true
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

// sendable reports whether a request can carry the pair and a file can store it.
func sendable(name, value string) bool {
	return len(name)+len(value) <= maxPair &&
		!strings.ContainsFunc(name, control) && !strings.ContainsFunc(value, control) &&
		!strings.ContainsAny(name, "=;") && !strings.Contains(value, ";") &&
		utf8.ValidString(name) && utf8.ValidString(value)
}

func trim(s string) string { return strings.Trim(s, " \t") }

// expiry limits an expiry time. A time in the past becomes the zero time.
func expiry(at, now time.Time) time.Time {
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

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

// parseDate parses the date of Expires as browsers do (RFC 6265bis 5.1.1): words in any
// order between delimiters. It ignores unknown words.
func parseDate(text string) (time.Time, bool) {
	var hour, minute, second, day, month, year int
	var clock bool
	day, year = -1, -1
	for _, word := range strings.FieldsFunc(text, delimiter) {
		if !clock {
			if hour, minute, second, clock = parseClock(word); clock {
				continue
			}
		}
		if day < 0 {
			if n, ok := leadingNumber(word, 1, 2); ok {
				day = n
				continue
			}
		}
		if month == 0 {
			if month = parseMonth(word); month > 0 {
				continue
			}
		}
		if year < 0 {
			if n, ok := leadingNumber(word, 2, 4); ok {
				year = n
			}
		}
	}
	switch {
	case year >= 70 && year <= 99:
		year += 1900
	case year >= 0 && year <= 69:
		year += 2000
	}
	if !clock || month == 0 || year < 1601 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	at := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	return at, at.Day() == day // false for the 31st of a short month
}

// delimiter reports whether r separates words of a date.
func delimiter(r rune) bool {
	return r == '\t' || r >= ' ' && r <= '/' || r >= ';' && r <= '@' || r >= '[' && r <= '`' || r >= '{' && r <= '~'
}

// parseClock parses h:m:s, each of one or two digits.
func parseClock(word string) (hour, minute, second int, ok bool) {
	parts := strings.SplitN(word, ":", 3)
	if len(parts) < 3 {
		return 0, 0, 0, false
	}
	hour, ok1 := number(parts[0], 1, 2)
	minute, ok2 := number(parts[1], 1, 2)
	second, ok3 := leadingNumber(parts[2], 1, 2)
	return hour, minute, second, ok1 && ok2 && ok3
}

func parseMonth(word string) int {
	if len(word) >= 3 {
		for i, name := range months {
			if strings.EqualFold(word[:3], name) {
				return i + 1
			}
		}
	}
	return 0
}

// leadingNumber parses least to most digits at the start of word. No further digit may
// follow them directly.
func leadingNumber(word string, least, most int) (int, bool) {
	end := strings.IndexFunc(word, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(word)
	}
	return number(word[:end], least, most)
}

func number(digits string, least, most int) (int, bool) {
	if len(digits) < least || len(digits) > most || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(digits)
	return n, err == nil
}
