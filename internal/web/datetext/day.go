package datetext

import (
	"slices"
	"strings"
)

// findDate returns the first day of the text.
func (p *parser) findDate() (date, bool) {
	p.foreign = p.isForeign()
	for i, t := range p.tokens {
		if t.used {
			continue
		}
		if d, ok := p.dateAt(i); ok {
			return d, true
		}
	}
	return p.readNumberPair()
}

// dateAt reads the day whose month name or first number is token i.
func (p *parser) dateAt(i int) (date, bool) {
	if t := p.tokenAt(i); t.kind == word {
		if m := months.numberOf(t.text); m != 0 && !t.east {
			return p.readNamedMonth(i, m)
		}
		return date{}, false
	} else if t.kind == symbol {
		return date{}, false
	}
	for _, read := range [...]func(*parser, int) (date, bool){(*parser).readCompactDate, (*parser).readEastAsianDate, (*parser).readNumericDate, (*parser).readEightDigits} {
		if d, ok := read(p, i); ok {
			return d, true
		}
	}
	return date{}, false
}

// readEightDigits reads 20160324 that nothing touches.
func (p *parser) readEightDigits(i int) (date, bool) {
	if p.isTouched(i, i) {
		return date{}, false
	}
	return ofEight(p.tokenAt(i).text)
}

// isTouched reports whether a letter or digit of another token touches the tokens from first
// to last, also with a dot, dash or slash between.
func (p *parser) isTouched(first, last int) bool {
	before, after := p.tokenAt(first-1), p.tokenAt(last+1)
	if !p.tokenAt(first).space && (before.kind == word && !before.east || p.isJoined(first-1)) {
		return true
	}
	return !after.space && (after.kind == word && !after.east && after.text != "t" || p.isJoined(last+1) && p.tokenAt(last+2).kind == number && !p.tokenAt(last+2).space)
}

// isJoined reports whether token i is a separator right behind a number or word.
func (p *parser) isJoined(i int) bool {
	t := p.tokenAt(i)
	return isSeparator(t) && !t.space && p.tokenAt(i-1).kind != symbol
}

func isSeparator(t token) bool { return t.isSymbol(".") || t.isSymbol("-") || t.isSymbol("/") }

// readNumericDate reads three numbers with the same separator: 2015-11-03, 03.11.2015, 11/03/15.
func (p *parser) readNumericDate(i int) (date, bool) {
	a, b, c := p.tokenAt(i), p.tokenAt(i+2), p.tokenAt(i+4)
	sep := p.tokenAt(i + 1)
	if !isSeparator(sep) || !p.tokenAt(i+3).isSymbol(sep.text) || b.countDigits() == 0 || b.countDigits() > 2 || p.isTouched(i, i+4) {
		return date{}, false
	}
	var d date
	switch {
	case a.countDigits() == 4 && c.countDigits() >= 1 && c.countDigits() <= 2:
		d = date{a.value, b.value, c.value}
	case a.countDigits() >= 1 && a.countDigits() <= 2 && (c.countDigits() == 4 || c.countDigits() == 2):
		d = p.orderDayMonth(a.value, b.value, sep.text)
		d.year = fullYear(c)
	}
	return d, d.isValid() && d.year >= firstYear && d.year <= lastYear
}

// fullYear returns the year of a number: of two digits it is in this century.
func fullYear(t token) int {
	if t.countDigits() == 2 {
		return 2000 + t.value
	}
	return t.value
}

// orderDayMonth tells day and month apart.
func (p *parser) orderDayMonth(a, b int, separator string) date {
	dayFirst := p.Order == DayFirst || p.Order == Usual && (separator == "." || p.foreign)
	if dayFirst && b <= 12 || !dayFirst && a > 12 {
		return date{month: b, day: a}
	}
	return date{month: a, day: b}
}

// isForeign reports whether the text has a word in another script than Latin, or the word
// for a clock time of a language with the day first.
func (p *parser) isForeign() bool {
	return slices.ContainsFunc(p.tokens, func(t token) bool {
		return t.kind == word && !t.east && (t.text[0] >= 0x80 || clockWords.numberOf(t.text) != 0)
	})
}

// Marks behind year, month and day in Japanese, Chinese and Korean.
var (
	yearMarks  = []string{"年", foldText("년")}
	monthMarks = []string{"月", foldText("월")}
	dayMarks   = []string{"日", "号", foldText("일")}
)

// hasMark reports whether the number at token i is followed by a word that begins with a mark.
func (p *parser) hasMark(i int, marks []string) bool {
	return p.tokenAt(i).kind == number && p.tokenAt(i).value >= 0 && p.tokenAt(i+1).east && hasPrefix(p.tokenAt(i+1).text, marks)
}

// eras maps Japanese eras to the year before their first.
var eras = map[string]int{"平成": 1988, "令和": 2018, "昭和": 1925, "大正": 1911}

// eraOf returns the year before the first year of the era that a word ends with, or 0.
func eraOf(t token) int {
	for name, base := range eras {
		if strings.HasSuffix(t.text, name) {
			return base
		}
	}
	return 0
}

// readEastAsianDate reads 2015年4月22日, 平成28年5月25日, 令和元年5月1日, 2015年4月 and, with
// CurrentYear, 4月22日.
func (p *parser) readEastAsianDate(i int) (d date, ok bool) {
	before := p.tokenAt(i - 1)
	first, ofEra := strings.CutSuffix(before.text, "元年")
	given := true
	switch {
	case p.hasMark(i, yearMarks):
		if d.year = fullYear(p.tokenAt(i)); eraOf(before) != 0 {
			d.year = eraOf(before) + p.tokenAt(i).value
		}
		i += 2
	case ofEra && eraOf(token{text: first}) != 0:
		d.year = eraOf(token{text: first}) + 1
	default:
		d.year, given = p.missingYear(), false
	}
	if !p.hasMark(i, monthMarks) {
		return d, false
	}
	d.month, d.day = p.tokenAt(i).value, 1
	if p.hasMark(i+2, dayMarks) {
		d.day = p.tokenAt(i + 2).value
	} else if !given {
		return d, false
	} else {
		p.withoutDay(d)
	}
	return d, d.year >= firstYear && d.isValid()
}

// missingYear returns the year of a date without one, or 0 if such dates do not count.
func (p *parser) missingYear() int {
	if !p.CurrentYear || p.Now.IsZero() {
		return 0
	}
	return p.currentDay().year
}

// readNumberPair reads a text that has nothing else than two numbers and a clock time: 2015-11,
// 11/2015 and, with CurrentYear, 25.05. and 5/25.
func (p *parser) readNumberPair() (d date, ok bool) {
	at := -1
	for i, t := range p.tokens {
		switch {
		case t.used, t.kind == symbol, t.kind == word && harmless.numberOf(t.text) != 0:
		case t.kind == number && at < 0:
			at = i
		case t.kind == number && i == at+2:
		default:
			return d, false
		}
	}
	if at < 0 || !isSeparator(p.tokenAt(at+1)) {
		return d, false
	}
	a, b := p.tokenAt(at), p.tokenAt(at+2)
	switch {
	case a.countDigits() == 4 && b.countDigits() <= 2:
		d = p.withoutDay(date{a.value, b.value, 1})
	case b.countDigits() == 4 && a.countDigits() <= 2:
		d = p.withoutDay(date{b.value, a.value, 1})
	case (p.hasClock || a.countDigits()+b.countDigits() >= 3) && a.countDigits() <= 2 && b.countDigits() <= 2 && !p.tokenAt(at+1).isSymbol("-"):
		d = p.orderDayMonth(a.value, b.value, p.tokenAt(at+1).text)
		d.year = p.missingYear()
	}
	return d, d.year >= firstYear && d.isValid()
}
