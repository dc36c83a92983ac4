package datetext

import "hce/dc/internal/web/dates"

// readNamedMonth reads the day of a month name at token i: 17 April 2016, April 14-17, 2016, 05-Mar-94,
// 2015 March 5, March 2015 and, with CurrentYear, 17 April.
func (p *parser) readNamedMonth(i, month int) (date, bool) {
	left, right := p.dayBefore(i), p.skipLinking(i+1)
	if !p.isDay(right) {
		right = -1
	}
	if left >= 0 && right >= 0 && p.fourDigits(p.skipLinking(right+1)) == 0 {
		right = -1 // 05 Mar 24
	}
	d := date{month: month, day: 1}
	switch {
	case right >= 0:
		d.day = p.tokenAt(right).value
		d.year = p.yearBehind(right, false)
		if d.year == 0 {
			d.year = p.fourDigits(p.skipBack(i - 1))
		}
	case left >= 0:
		d.day = p.tokenAt(left).value
		d.year = p.yearBehind(i, true)
	default:
		d.year = p.fourDigits(p.skipLinking(i + 1))
		return p.withoutDay(d), d.year != 0
	}
	if d.year == 0 {
		d.year = p.missingYear()
	}
	return d, d.year >= firstYear && d.isValid()
}

// withoutDay notes that a valid date has no day.
func (p *parser) withoutDay(d date) date {
	if d.isValid() && d.year >= firstYear {
		p.precision = dates.Month
	}
	return d
}

// dayBefore returns the token of the day before the month name at i, or -1. Of a range it is
// the first day.
func (p *parser) dayBefore(i int) int {
	at := p.skipBack(i - 1)
	if !p.isDay(at) {
		return -1
	}
	dash := at - 1
	if p.tokenAt(dash).isSymbol("-") || p.tokenAt(dash).isSymbol("/") {
		first := dash - 1
		if p.tokenAt(first).isSymbol(".") {
			first--
		}
		if p.isDay(first) && p.tokenAt(first).value < p.tokenAt(at).value {
			return first
		}
	}
	return at
}

// isDay reports whether token i may be the day of a month.
func (p *parser) isDay(i int) bool {
	t := p.tokenAt(i)
	return !t.used && t.countDigits() >= 1 && t.countDigits() <= 2 && t.value >= 1 && t.value <= 31
}

// fourDigits returns the year at token i, or 0.
func (p *parser) fourDigits(i int) int {
	if t := p.tokenAt(i); !t.used && t.countDigits() == 4 && t.value >= firstYear && t.value <= lastYear {
		return t.value
	}
	return 0
}

// yearBehind returns the year behind token i: two digits right behind it if short is set,
// else the first year of four digits of the rest, or 0.
func (p *parser) yearBehind(i int, short bool) int {
	next := p.skipLinking(i + 1)
	if t := p.tokenAt(next); short && t.countDigits() == 2 && !t.used && months.numberOf(p.tokenAt(p.skipLinking(next+1)).text) == 0 {
		return fullYear(t)
	}
	for ; next < len(p.tokens); next++ {
		if y := p.fourDigits(next); y != 0 {
			return y
		}
	}
	return 0
}

// maxLinks is the most tokens between two parts of a date.
const maxLinks = 3

// skipLinking returns the first token from i on that is no separator and no linking word.
func (p *parser) skipLinking(i int) int {
	for n := 0; n < maxLinks && p.isLink(i); n++ {
		i++
	}
	return i
}

func (p *parser) skipBack(i int) int {
	for n := 0; n < maxLinks && p.isLink(i); n++ {
		i--
	}
	return i
}

func (p *parser) isLink(i int) bool {
	t := p.tokenAt(i)
	switch {
	case t.used:
		return false
	case t.kind == word:
		return links.numberOf(t.text) != 0
	case t.kind == symbol:
		switch t.text {
		case ".", ",", "-", "/", "'", "’", "º", "ª", "°", "`":
			return true
		}
	}
	return false
}
