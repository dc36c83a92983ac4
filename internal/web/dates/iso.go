package dates

import (
	"strings"
	"time"
)

// ParseISO reads ISO 8601 and RFC 3339 in extended form, without an allocation: 2024-05, 2024-05-06,
// 2024-05-06T07:08, 2024-05-06 07:08:09.5 +09:00, 2024-05-06T07:08:09Z. It is the reverse of String.
// ok is false for other texts, which package datetext may know.
func ParseISO(text string) (v Value, ok bool) {
	year, rest, ok1 := readDigits(text, 4)
	month, rest, ok2 := readDigits(afterByte(rest, '-'), 2)
	if !ok1 || !ok2 || month < 1 || month > 12 {
		return Value{}, false
	}
	if rest == "" {
		return MonthOf(time.Date(year, time.Month(month), 1, 0, 0, 0, 0, time.UTC)), true
	}
	day, rest, ok := readDigits(afterByte(rest, '-'), 2)
	at := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	if !ok || at.Day() != day { // time.Date normalises invalid days
		return Value{}, false
	}
	if rest == "" {
		return DayOf(at), true
	}
	if rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' {
		return Value{}, false
	}
	return isoClock(at, strings.TrimLeft(rest[1:], " "))
}

// isoClock reads the time of day behind a day, and its zone.
func isoClock(day time.Time, text string) (Value, bool) {
	hour, rest, ok1 := readDigits(text, 2)
	minute, rest, ok2 := readDigits(afterByte(rest, ':'), 2)
	second := 0
	ok := true
	if strings.HasPrefix(rest, ":") {
		second, rest, ok = readDigits(rest[1:], 2)
		if ok && len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && isDigit(rest[1]) {
			rest = strings.TrimLeft(rest[1:], "0123456789")
		}
	}
	if !ok1 || !ok2 || !ok || hour > 23 || minute > 59 || second > 60 {
		return Value{}, false
	}
	at := day.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
	switch rest = strings.TrimLeft(rest, " "); {
	case rest == "":
		return ClockOf(at), true
	case rest == "Z" || rest == "z":
		return InstantOf(at), true
	}
	offset, ok := isoOffset(rest)
	if !ok {
		return Value{}, false
	}
	return Value{wall: at, offset: offset, precision: Instant}, true
}

// isoOffset reads +09:00, +0900 or +09, in seconds.
func isoOffset(text string) (seconds int32, ok bool) {
	if text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	hours, rest, ok := readDigits(text[1:], 2)
	minutes := 0
	if ok && rest != "" {
		minutes, rest, ok = readDigits(strings.TrimPrefix(rest, ":"), 2)
	}
	if !ok || rest != "" || hours > 15 || minutes > 59 {
		return 0, false
	}
	seconds = int32(hours*3600 + minutes*60)
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds, true
}

// readDigits reads a number of n digits. rest is the text behind it.
func readDigits(text string, n int) (number int, rest string, ok bool) {
	if len(text) < n {
		return 0, "", false
	}
	for i := range n {
		if !isDigit(text[i]) {
			return 0, "", false
		}
		number = number*10 + int(text[i]-'0')
	}
	return number, text[n:], true
}

// afterByte returns the text behind its first byte, which must be c; else "".
func afterByte(text string, c byte) string {
	if text == "" || text[0] != c {
		return ""
	}
	return text[1:]
}
