package fields

import (
	"strconv"
	"strings"
	"unicode"
)

// numberIn returns the first number in a text, as people write prices and counts: "$1,234.50", "1.234,50 €", "12 500". A comma or dot
// is the decimal sign if it is the last sign of two kinds, or the only one; but a comma before exactly three digits separates
// thousands, as signs that occur twice do.
func numberIn(text string) (float64, bool) {
	digits, ok := numberText(text)
	if !ok {
		return 0, false
	}
	dot, comma := strings.LastIndexByte(digits, '.'), strings.LastIndexByte(digits, ',')
	decimal := max(dot, comma)
	switch {
	case decimal < 0:
	case dot >= 0 && comma >= 0:
	case strings.Count(digits, digits[decimal:decimal+1]) > 1, comma >= 0 && len(digits)-comma == 4:
		decimal = -1
	}
	var plain strings.Builder
	for i := range len(digits) {
		switch c := digits[i]; {
		case i == decimal:
			plain.WriteByte('.')
		case c != '.' && c != ',':
			plain.WriteByte(c)
		}
	}
	n, err := strconv.ParseFloat(plain.String(), 64)
	return n, err == nil
}

// numberText returns the first number of a text with its sign, dots and commas, without blanks between groups of digits.
func numberText(text string) (string, bool) {
	start := strings.IndexFunc(text, isDigit)
	if start < 0 {
		return "", false
	}
	var b strings.Builder
	before := strings.TrimRightFunc(text[:start], func(r rune) bool { return unicode.Is(unicode.Sc, r) || unicode.IsSpace(r) })
	if strings.HasSuffix(before, "-") || strings.HasSuffix(before, "−") {
		b.WriteByte('-')
	}
	runes := []rune(text[start:])
	for i, r := range runes {
		switch {
		case isDigit(r), isExponent(runes, i):
			b.WriteRune(r)
		case isGroupSign(r) && isGroup(runes[i+1:]):
			if r == '.' || r == ',' {
				b.WriteRune(r)
			}
		case (r == '.' || r == ',') && i+1 < len(runes) && isDigit(runes[i+1]):
			b.WriteRune(r)
		default:
			return b.String(), true
		}
	}
	return b.String(), true
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// isExponent reports whether the letter or sign at i is a part of an exponent, as JSON writes it.
func isExponent(runes []rune, i int) bool {
	at := func(i int) rune {
		if i >= 0 && i < len(runes) {
			return runes[i]
		}
		return ' '
	}
	switch r := runes[i]; {
	case r == 'e' || r == 'E':
		return isDigit(at(i-1)) && (isDigit(at(i+1)) || (at(i+1) == '-' || at(i+1) == '+') && isDigit(at(i+2)))
	case r == '-' || r == '+':
		return (at(i-1) == 'e' || at(i-1) == 'E') && isDigit(at(i+1))
	}
	return false
}

// isGroupSign reports whether a sign may stand between groups of three digits.
func isGroupSign(r rune) bool {
	return r == ' ' || r == '\u00a0' || r == '\u202f' || r == '\u2009' || r == '\'' || r == '’' || r == '.' || r == ','
}

// isGroup reports whether a group of exactly three digits follows.
func isGroup(runes []rune) bool {
	return len(runes) >= 3 && isDigit(runes[0]) && isDigit(runes[1]) && isDigit(runes[2]) && (len(runes) == 3 || !isDigit(runes[3]))
}
