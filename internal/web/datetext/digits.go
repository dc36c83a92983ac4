package datetext

import (
	"strconv"
	"time"

	"hce/dc/internal/web/dates"
)

// ofDigits reads a text of digits: Unix seconds or milliseconds, or a date without
// separators.
func ofDigits(text string) (time.Time, dates.Precision, bool) {
	switch len(text) {
	case 10, 13:
		n, err := strconv.ParseInt(text, 10, 64)
		if len(text) == 13 {
			n /= 1000
		}
		return time.Unix(n, 0).In(Fixed(0)), dates.Instant, err == nil
	case 8:
		t, err := time.Parse("20060102", text)
		return t, dates.Day, err == nil
	case 12, 14:
		t, err := time.Parse("20060102150405"[:len(text)], text)
		return t, dates.Clock, err == nil
	}
	return time.Time{}, dates.None, false
}

// isCode reports whether the text is one run of ASCII letters and digits, such as a hash,
// and neither 20160324T0410Z nor 05MAR2024.
func (p *parser) isCode() bool {
	letters, digits, month := false, false, false
	for i, t := range p.tokens {
		if t.space && i > 0 || t.kind == symbol && t.text != "_" || t.east {
			return false
		}
		letters = letters || t.kind == word
		digits = digits || t.kind == number
		month = month || t.kind == word && months.numberOf(t.text) != 0
	}
	if !letters || !digits {
		return false
	}
	_, compact := p.readCompactDate(0)
	return !compact && !(month && len(p.tokens) <= 3)
}

// readCompactDate reads a date without separators, before a clock time: 20160324T0410.
func (p *parser) readCompactDate(i int) (date, bool) {
	if p.tokenAt(i).countDigits() != 8 || p.tokenAt(i+1).text != "t" || p.tokenAt(i+1).space {
		return date{}, false
	}
	return ofEight(p.tokenAt(i).text)
}

// ofEight reads YYYYMMDD.
func ofEight(text string) (date, bool) {
	n, err := strconv.Atoi(text)
	d := date{n / 10000, n / 100 % 100, n % 100}
	return d, err == nil && len(text) == 8 && d.year >= firstYear && d.year <= lastYear && d.isValid()
}
