package datetext

import (
	"slices"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// clock is a time of day.
type clock struct{ hour, minute, second int }

func (c clock) valid() bool {
	return c.hour <= 23 && c.minute <= 59 && c.second <= 60 || c == clock{hour: 24}
}

// findClock finds the first time of day of the text, and the zone behind it.
func (p *parser) findClock() {
	for i := range p.tokens {
		if p.token(i).kind != number {
			continue
		}
		c, end := p.clockAt(i)
		if end == 0 {
			continue
		}
		if c, end = p.half(c, i, end); !c.valid() {
			continue
		}
		p.clock, p.hasClock = c, true
		p.use(i, end-1)
		p.findZone(i, end)
		return
	}
}

// clockAt reads a clock time that begins at token i: 18:59, 18:59:08.5, 18.59 Uhr, 18h30,
// 3 pm, 18 Uhr, 18時59分, T0410. end is the token behind it; 0: there is no clock time.
func (p *parser) clockAt(i int) (c clock, end int) {
	c.hour = p.token(i).value
	next, behind := p.token(i+1), p.token(i+2)
	switch {
	case p.token(i-1).text == "t" && !p.token(i).space && p.token(i-2).digits() == 8:
		return p.compactClock(i)
	case p.token(i).digits() > 2, p.token(i-1).is("+") && !p.token(i).space: // 2015-11-03+09:00
		return c, 0
	case next.is(":") && behind.digits() == 2 && !behind.space && !p.token(i-1).is(":"):
		return p.colons(c, i+2)
	case next.text == "h" && behind.digits() == 2 && !next.space:
		c.minute = behind.value
		return c, i + 3
	case next.east && hasPrefix(next.text, hourMarks):
		return p.eastClock(c, i)
	case next.is(".") && behind.digits() == 2 && clockWords.of(p.token(i+3).text) != 0:
		c.minute = behind.value
		return c, i + 4
	case clockWords.of(next.text) != 0:
		return c, i + 2
	case c.hour >= 1 && c.hour <= 12 && p.halfAt(i+1) != 0 && !next.east:
		return c, i + 1
	}
	return c, 0
}

// colons reads minutes at i, and seconds with a fraction behind them.
func (p *parser) colons(c clock, i int) (clock, int) {
	c.minute = p.token(i).value
	i++
	if p.token(i).is(":") && p.token(i+1).digits() == 2 {
		c.second = p.token(i + 1).value
		i += 2
		if dot := p.token(i); (dot.is(".") || dot.is(",")) && !dot.space && p.token(i+1).kind == number && !p.token(i+1).space && p.token(i+1).digits() != 4 {
			i += 2
		}
	}
	if clockWords.of(p.token(i).text) != 0 {
		i++
	}
	return c, i
}

// compactClock reads hhmm or hhmmss.
func (p *parser) compactClock(i int) (c clock, end int) {
	n := p.token(i).value
	switch p.token(i).digits() {
	case 4:
		return clock{n / 100, n % 100, 0}, i + 1
	case 6:
		return clock{n / 10000, n / 100 % 100, n % 100}, i + 1
	case 2:
		if p.token(i + 1).is(":") {
			return p.colons(clock{hour: n}, i+2)
		}
	}
	return c, 0
}

// What stands behind hours, minutes and seconds in Japanese, Chinese and Korean.
var (
	hourMarks   = []string{"時", "时", "点", fold("시")}
	minuteMarks = []string{"分", fold("분")}
	secondMarks = []string{"秒", fold("초")}
	elapsed     = []string{"時間", "时间", fold("시간")} // hours of a duration
)

func hasPrefix(text string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(text, p) })
}

// eastClock reads 18時59分08秒 and 18時.
func (p *parser) eastClock(c clock, i int) (clock, int) {
	if hasPrefix(p.token(i+1).text, elapsed) { // a duration
		return c, 0
	}
	end := i + 2
	if m := p.token(end + 1); p.token(end).kind == number && hasPrefix(m.text, minuteMarks) {
		c.minute = p.token(end).value
		end += 2
		if s := p.token(end + 1); p.token(end).kind == number && hasPrefix(s.text, secondMarks) {
			c.second = p.token(end).value
			end += 2
		}
	}
	return c, end
}

// halfAt returns 1 for am and 2 for pm at token i, in the forms pm and p.m., else 0.
func (p *parser) halfAt(i int) int {
	t := p.token(i)
	if (t.text == "a" || t.text == "p") && p.token(i+1).is(".") && p.token(i+2).text == "m" {
		return halves.of(t.text + "m")
	}
	if t.kind != word {
		return 0
	}
	return halves.of(t.text)
}

// half applies am and pm to a clock time of the tokens from start to end. It returns the
// token behind them.
func (p *parser) half(c clock, start, end int) (clock, int) {
	half := p.halfAt(end)
	if half != 0 {
		if p.token(end+1).is(".") && p.token(end+2).text == "m" { // p.m.
			end += 2
		}
		if end++; p.token(end).is(".") {
			end++
		}
	} else if before := p.token(start - 1); before.east {
		half = halves.suffix(before.text)
	}
	switch {
	case half != 0 && c.hour > 12:
	case half == 1:
		c.hour %= 12
	case half == 2:
		c.hour = c.hour%12 + 12
	}
	return c, end
}

// findZone reads the zone at token i, behind the clock time that begins at start.
func (p *parser) findZone(start, i int) {
	first := i
	for p.token(i).is("(") || p.token(i).is(",") && p.token(i+1).kind == word {
		i++
	}
	name := p.token(i)
	named := name.kind == word && (name.upper || name.text == "gmt" || name.text == "utc" || name.text[0] >= 0x80)
	if offset, ok := dates.Zone(name.text); named && ok {
		p.setZone(offset)
		p.use(first, i)
		i++
	}
	if z, end, ok := p.offset(start, i, named); ok {
		p.setZone(z)
		p.use(first, end-1)
	}
}

func (p *parser) setZone(offset time.Duration) { p.zone = Fixed(offset) }

// offset reads +0900, +09:00, -500 or GMT+9 at token i. end is the token behind it.
func (p *parser) offset(start, i int, named bool) (offset time.Duration, end int, ok bool) {
	sign, n := p.token(i), p.token(i+1)
	if !sign.is("+") && !sign.is("-") || n.kind != number || n.space || n.digits() > 4 {
		return 0, 0, false
	}
	text, end := sign.text+n.text, i+2
	if p.token(end).is(":") && p.token(end+1).digits() == 2 && n.digits() <= 2 {
		text += p.token(end + 1).text
		end += 2
		if n.digits() == 1 {
			text = sign.text + "0" + text[1:]
		}
	}
	after := p.token(end)
	if sign.is("-") && !named && !p.minusIsZone(start, i, end) || after.is(".") && p.token(end+1).kind == number || after.is("-") && !after.space {
		return 0, 0, false
	}
	offset, ok = dates.Zone(text)
	return offset, end, ok
}

// minusIsZone reports whether a minus behind a clock time begins a zone, and not the end of
// a range such as 10:00-12:00. end is the token behind the number.
func (p *parser) minusIsZone(start, i, end int) bool {
	withSeconds := i-start >= 5
	afterT := p.token(start-1).text == "t" || p.token(start-1).is("-")
	return withSeconds || afterT || end == i+2 && p.token(i+1).digits() == 4
}
