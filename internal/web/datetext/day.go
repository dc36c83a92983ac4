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
	return p.pair()
}

// dateAt reads the day whose month name or first number is token i.
func (p *parser) dateAt(i int) (date, bool) {
	if t := p.token(i); t.kind == word {
		if m := months.of(t.text); m != 0 && !t.east {
			return p.named(i, m)
		}
		return date{}, false
	} else if t.kind == symbol {
		return date{}, false
	}
	for _, read := range [...]func(*parser, int) (date, bool){(*parser).compact, (*parser).east, (*parser).numeric, (*parser).eight} {
		if d, ok := read(p, i); ok {
			return d, true
		}
	}
	return date{}, false
}

// eight reads 20160324 that nothing touches.
func (p *parser) eight(i int) (date, bool) {
	if p.touched(i, i) {
		return date{}, false
	}
	return ofEight(p.token(i).text)
}

// touched reports whether a letter or digit of another token touches the tokens from first
// to last, also with a dot, dash or slash between.
func (p *parser) touched(first, last int) bool {
	before, after := p.token(first-1), p.token(last+1)
	if !p.token(first).space && (before.kind == word && !before.east || p.joined(first-1)) {
		return true
	}
	return !after.space && (after.kind == word && !after.east && after.text != "t" || p.joined(last+1) && p.token(last+2).kind == number && !p.token(last+2).space)
}

// joined reports whether token i is a separator right behind a number or word.
func (p *parser) joined(i int) bool {
	t := p.token(i)
	return isSeparator(t) && !t.space && p.token(i-1).kind != symbol
}

func isSeparator(t token) bool { return t.is(".") || t.is("-") || t.is("/") }

// numeric reads three numbers with the same separator: 2015-11-03, 03.11.2015, 11/03/15.
func (p *parser) numeric(i int) (date, bool) {
	a, b, c := p.token(i), p.token(i+2), p.token(i+4)
	sep := p.token(i + 1)
	if !isSeparator(sep) || !p.token(i+3).is(sep.text) || b.digits() == 0 || b.digits() > 2 || p.touched(i, i+4) {
		return date{}, false
	}
	var d date
	switch {
	case a.digits() == 4 && c.digits() >= 1 && c.digits() <= 2:
		d = date{a.value, b.value, c.value}
	case a.digits() >= 1 && a.digits() <= 2 && (c.digits() == 4 || c.digits() == 2):
		d = p.ordered(a.value, b.value, sep.text)
		d.year = century(c)
	}
	return d, d.valid() && d.year >= firstYear && d.year <= lastYear
}

// century returns the year of a number: of two digits it is in this century.
func century(t token) int {
	if t.digits() == 2 {
		return 2000 + t.value
	}
	return t.value
}

// ordered tells day and month apart.
func (p *parser) ordered(a, b int, separator string) date {
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
		return t.kind == word && !t.east && (t.text[0] >= 0x80 || clockWords.of(t.text) != 0)
	})
}

// Marks behind year, month and day in Japanese, Chinese and Korean.
var (
	yearMarks  = []string{"年", fold("년")}
	monthMarks = []string{"月", fold("월")}
	dayMarks   = []string{"日", "号", fold("일")}
)

// marked reports whether the number at token i is followed by a word that begins with a mark.
func (p *parser) marked(i int, marks []string) bool {
	return p.token(i).kind == number && p.token(i).value >= 0 && p.token(i+1).east && hasPrefix(p.token(i+1).text, marks)
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

// east reads 2015年4月22日, 平成28年5月25日, 令和元年5月1日, 2015年4月 and, with
// CurrentYear, 4月22日.
func (p *parser) east(i int) (d date, ok bool) {
	before := p.token(i - 1)
	first, ofEra := strings.CutSuffix(before.text, "元年")
	given := true
	switch {
	case p.marked(i, yearMarks):
		if d.year = century(p.token(i)); eraOf(before) != 0 {
			d.year = eraOf(before) + p.token(i).value
		}
		i += 2
	case ofEra && eraOf(token{text: first}) != 0:
		d.year = eraOf(token{text: first}) + 1
	default:
		d.year, given = p.missingYear(), false
	}
	if !p.marked(i, monthMarks) {
		return d, false
	}
	d.month, d.day = p.token(i).value, 1
	if p.marked(i+2, dayMarks) {
		d.day = p.token(i + 2).value
	} else if !given {
		return d, false
	} else {
		p.withoutDay(d)
	}
	return d, d.year >= firstYear && d.valid()
}

// missingYear returns the year of a date without one, or 0 if such dates do not count.
func (p *parser) missingYear() int {
	if !p.CurrentYear || p.Now.IsZero() {
		return 0
	}
	return p.today().year
}

// pair reads a text that has nothing else than two numbers and a clock time: 2015-11,
// 11/2015 and, with CurrentYear, 25.05. and 5/25.
func (p *parser) pair() (d date, ok bool) {
	at := -1
	for i, t := range p.tokens {
		switch {
		case t.used, t.kind == symbol, t.kind == word && harmless.of(t.text) != 0:
		case t.kind == number && at < 0:
			at = i
		case t.kind == number && i == at+2:
		default:
			return d, false
		}
	}
	if at < 0 || !isSeparator(p.token(at+1)) {
		return d, false
	}
	a, b := p.token(at), p.token(at+2)
	switch {
	case a.digits() == 4 && b.digits() <= 2:
		d = p.withoutDay(date{a.value, b.value, 1})
	case b.digits() == 4 && a.digits() <= 2:
		d = p.withoutDay(date{b.value, a.value, 1})
	case (p.hasClock || a.digits()+b.digits() >= 3) && a.digits() <= 2 && b.digits() <= 2 && !p.token(at+1).is("-"):
		d = p.ordered(a.value, b.value, p.token(at+1).text)
		d.year = p.missingYear()
	}
	return d, d.year >= firstYear && d.valid()
}
