package datetext

import "hce/dc/internal/web/dates"

// named reads the day of a month name at token i: 17 April 2016, April 14-17, 2016, 05-Mar-94,
// 2015 March 5, March 2015 and, with CurrentYear, 17 April.
func (p *parser) named(i, month int) (date, bool) {
	left, right := p.dayBefore(i), p.skip(i+1)
	if !p.isDay(right) {
		right = -1
	}
	if left >= 0 && right >= 0 && p.fourDigits(p.skip(right+1)) == 0 {
		right = -1 // 05 Mar 24
	}
	d := date{month: month, day: 1}
	switch {
	case right >= 0:
		d.day = p.token(right).value
		d.year = p.yearBehind(right, false)
		if d.year == 0 {
			d.year = p.fourDigits(p.skipBack(i - 1))
		}
	case left >= 0:
		d.day = p.token(left).value
		d.year = p.yearBehind(i, true)
	default:
		d.year = p.fourDigits(p.skip(i + 1))
		return p.withoutDay(d), d.year != 0
	}
	if d.year == 0 {
		d.year = p.missingYear()
	}
	return d, d.year >= firstYear && d.valid()
}

// withoutDay notes that a valid date has no day.
func (p *parser) withoutDay(d date) date {
	if d.valid() && d.year >= firstYear {
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
	if p.token(dash).is("-") || p.token(dash).is("/") {
		first := dash - 1
		if p.token(first).is(".") {
			first--
		}
		if p.isDay(first) && p.token(first).value < p.token(at).value {
			return first
		}
	}
	return at
}

// isDay reports whether token i may be the day of a month.
func (p *parser) isDay(i int) bool {
	t := p.token(i)
	return !t.used && t.digits() >= 1 && t.digits() <= 2 && t.value >= 1 && t.value <= 31
}

// fourDigits returns the year at token i, or 0.
func (p *parser) fourDigits(i int) int {
	if t := p.token(i); !t.used && t.digits() == 4 && t.value >= firstYear && t.value <= lastYear {
		return t.value
	}
	return 0
}

// yearBehind returns the year behind token i: two digits right behind it if short is set,
// else the first year of four digits of the rest, or 0.
func (p *parser) yearBehind(i int, short bool) int {
	next := p.skip(i + 1)
	if t := p.token(next); short && t.digits() == 2 && !t.used && months.of(p.token(p.skip(next+1)).text) == 0 {
		return century(t)
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

// skip returns the first token from i on that is no separator and no linking word.
func (p *parser) skip(i int) int {
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
	t := p.token(i)
	switch {
	case t.used:
		return false
	case t.kind == word:
		return links.of(t.text) != 0
	case t.kind == symbol:
		switch t.text {
		case ".", ",", "-", "/", "'", "’", "º", "ª", "°", "`":
			return true
		}
	}
	return false
}
