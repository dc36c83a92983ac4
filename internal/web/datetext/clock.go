package datetext

import (
	"slices"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// clock is a time of day.
type clock struct{ hour, minute, second int }

func (c clock) isValid() bool {
	return c.hour <= 23 && c.minute <= 59 && c.second <= 60 || c == clock{hour: 24}
}

// findClock finds the first time of day of the text, and the zone behind it.
func (p *parser) findClock() {
	for i := range p.tokens {
		if p.tokenAt(i).kind != number {
			continue
		}
		c, end := p.clockAt(i)
		if end == 0 {
			continue
		}
		if c, end = p.applyHalfDay(c, i, end); !c.isValid() {
			continue
		}
		p.clock, p.hasClock = c, true
		p.markUsed(i, end-1)
		p.findZone(i, end)
		return
	}
}

// clockAt reads a clock time that begins at token i: 18:59, 18:59:08.5, 18.59 Uhr, 18h30,
// 3 pm, 18 Uhr, 18時59分, T0410. end is the token behind it; 0: there is no clock time.
func (p *parser) clockAt(i int) (c clock, end int) {
	c.hour = p.tokenAt(i).value
	next, behind := p.tokenAt(i+1), p.tokenAt(i+2)
	switch {
	case p.tokenAt(i-1).text == "t" && !p.tokenAt(i).space && p.tokenAt(i-2).countDigits() == 8:
		return p.compactClock(i)
	case p.tokenAt(i).countDigits() > 2, p.tokenAt(i-1).isSymbol("+") && !p.tokenAt(i).space: // 2015-11-03+09:00
		return c, 0
	case next.isSymbol(":") && behind.countDigits() == 2 && !behind.space && !p.tokenAt(i-1).isSymbol(":"):
		return p.readMinutes(c, i+2)
	case next.text == "h" && behind.countDigits() == 2 && !next.space:
		c.minute = behind.value
		return c, i + 3
	case next.east && hasPrefix(next.text, hourMarks):
		return p.eastClock(c, i)
	case next.isSymbol(".") && behind.countDigits() == 2 && clockWords.numberOf(p.tokenAt(i+3).text) != 0:
		c.minute = behind.value
		return c, i + 4
	case clockWords.numberOf(next.text) != 0:
		return c, i + 2
	case c.hour >= 1 && c.hour <= 12 && p.halfAt(i+1) != 0 && !next.east:
		return c, i + 1
	}
	return c, 0
}

// readMinutes reads minutes at i, and seconds with a fraction behind them.
func (p *parser) readMinutes(c clock, i int) (clock, int) {
	c.minute = p.tokenAt(i).value
	i++
	if p.tokenAt(i).isSymbol(":") && p.tokenAt(i+1).countDigits() == 2 {
		c.second = p.tokenAt(i + 1).value
		i += 2
		if dot := p.tokenAt(i); (dot.isSymbol(".") || dot.isSymbol(",")) && !dot.space && p.tokenAt(i+1).kind == number && !p.tokenAt(i+1).space && p.tokenAt(i+1).countDigits() != 4 {
			i += 2
		}
	}
	if clockWords.numberOf(p.tokenAt(i).text) != 0 {
		i++
	}
	return c, i
}

// compactClock reads hhmm or hhmmss.
func (p *parser) compactClock(i int) (c clock, end int) {
	n := p.tokenAt(i).value
	switch p.tokenAt(i).countDigits() {
	case 4:
		return clock{n / 100, n % 100, 0}, i + 1
	case 6:
		return clock{n / 10000, n / 100 % 100, n % 100}, i + 1
	case 2:
		if p.tokenAt(i + 1).isSymbol(":") {
			return p.readMinutes(clock{hour: n}, i+2)
		}
	}
	return c, 0
}

// What stands behind hours, minutes and seconds in Japanese, Chinese and Korean.
var (
	hourMarks   = []string{"時", "时", "点", foldText("시")}
	minuteMarks = []string{"分", foldText("분")}
	secondMarks = []string{"秒", foldText("초")}
	elapsed     = []string{"時間", "时间", foldText("시간")} // hours of a duration
)

func hasPrefix(text string, list []string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(text, p) })
}

// eastClock reads 18時59分08秒 and 18時.
func (p *parser) eastClock(c clock, i int) (clock, int) {
	if hasPrefix(p.tokenAt(i+1).text, elapsed) { // a duration
		return c, 0
	}
	end := i + 2
	if m := p.tokenAt(end + 1); p.tokenAt(end).kind == number && hasPrefix(m.text, minuteMarks) {
		c.minute = p.tokenAt(end).value
		end += 2
		if s := p.tokenAt(end + 1); p.tokenAt(end).kind == number && hasPrefix(s.text, secondMarks) {
			c.second = p.tokenAt(end).value
			end += 2
		}
	}
	return c, end
}

// halfAt returns 1 for am and 2 for pm at token i, in the forms pm and p.m., else 0.
func (p *parser) halfAt(i int) int {
	t := p.tokenAt(i)
	if (t.text == "a" || t.text == "p") && p.tokenAt(i+1).isSymbol(".") && p.tokenAt(i+2).text == "m" {
		return halves.numberOf(t.text + "m")
	}
	if t.kind != word {
		return 0
	}
	return halves.numberOf(t.text)
}

// applyHalfDay applies am and pm to a clock time of the tokens from start to end. It returns the
// token behind them.
func (p *parser) applyHalfDay(c clock, start, end int) (clock, int) {
	half := p.halfAt(end)
	if half != 0 {
		if p.tokenAt(end+1).isSymbol(".") && p.tokenAt(end+2).text == "m" { // p.m.
			end += 2
		}
		if end++; p.tokenAt(end).isSymbol(".") {
			end++
		}
	} else if before := p.tokenAt(start - 1); before.east {
		half = halves.findSuffix(before.text)
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
	for p.tokenAt(i).isSymbol("(") || p.tokenAt(i).isSymbol(",") && p.tokenAt(i+1).kind == word {
		i++
	}
	name := p.tokenAt(i)
	named := name.kind == word && (name.upper || name.text == "gmt" || name.text == "utc" || name.text[0] >= 0x80)
	if offset, ok := dates.Zone(name.text); named && ok {
		p.setZone(offset)
		p.markUsed(first, i)
		i++
	}
	if z, end, ok := p.readOffset(start, i, named); ok {
		p.setZone(z)
		p.markUsed(first, end-1)
	}
}

func (p *parser) setZone(offset time.Duration) { p.zone = Fixed(offset) }

// readOffset reads +0900, +09:00, -500 or GMT+9 at token i. end is the token behind it.
func (p *parser) readOffset(start, i int, named bool) (offset time.Duration, end int, ok bool) {
	sign, n := p.tokenAt(i), p.tokenAt(i+1)
	if !sign.isSymbol("+") && !sign.isSymbol("-") || n.kind != number || n.space || n.countDigits() > 4 {
		return 0, 0, false
	}
	text, end := sign.text+n.text, i+2
	if p.tokenAt(end).isSymbol(":") && p.tokenAt(end+1).countDigits() == 2 && n.countDigits() <= 2 {
		text += p.tokenAt(end + 1).text
		end += 2
		if n.countDigits() == 1 {
			text = sign.text + "0" + text[1:]
		}
	}
	after := p.tokenAt(end)
	if sign.isSymbol("-") && !named && !p.minusIsZone(start, i, end) || after.isSymbol(".") && p.tokenAt(end+1).kind == number || after.isSymbol("-") && !after.space {
		return 0, 0, false
	}
	offset, ok = dates.Zone(text)
	return offset, end, ok
}

// minusIsZone reports whether a minus behind a clock time begins a zone, and not the end of
// a range such as 10:00-12:00. end is the token behind the number.
func (p *parser) minusIsZone(start, i, end int) bool {
	withSeconds := i-start >= 5
	afterT := p.tokenAt(start-1).text == "t" || p.tokenAt(start-1).isSymbol("-")
	return withSeconds || afterT || end == i+2 && p.tokenAt(i+1).countDigits() == 4
}
