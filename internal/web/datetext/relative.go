package datetext

import (
	"slices"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// readRelativeTime reads times relative to now: "3 hours ago", "vor 3 Stunden", "2 days left",
// "3日前", and days such as "yesterday, 18:59".
func (p *parser) readRelativeTime() (time.Time, bool) {
	for i, t := range p.tokens {
		if t.used || t.kind == symbol {
			continue
		}
		if span, behind := p.readElapsed(i); span != (elapsedTime{}) {
			if sign := p.timeDirection(i, behind); sign != 0 {
				return p.shiftNow(span, sign), true
			}
		}
		if t.kind != word {
			continue
		}
		if justNow.numberOf(t.text) != 0 || t.text == "just" && p.tokenAt(i+1).text == "now" {
			p.precision = dates.Clock
			return p.wallClock(p.Now), true
		}
		if n := p.dayWord(i); n != 0 {
			d := p.currentDay()
			d.day += n - dayShift // p.at normalizes it
			return p.timeOn(d), true
		}
	}
	return time.Time{}, false
}

// dayWord returns the number of a day word, shifted by dayShift, or 0.
func (p *parser) dayWord(i int) int {
	t := p.tokenAt(i)
	n := days.numberOf(t.text)
	if t.east {
		n = days.findPrefix(t.text)
	}
	switch {
	case t.text == "day" && p.tokenAt(i+1).text == "before" && p.tokenAt(i+2).text == "yesterday",
		t.text == "avant" && p.tokenAt(i+1).isSymbol("-") && p.tokenAt(i+2).text == "hier":
		return dayShift - 2
	}
	return n
}

// elapsedTime is the sum of "1 day, 3 hours".
type elapsedTime struct {
	months, days int
	time         time.Duration
}

// maxElapsed is the largest number of units.
const maxElapsed = 99999

// readElapsed reads a number and a unit, and more of them behind. behind is the token after it.
func (p *parser) readElapsed(i int) (span elapsedTime, behind int) {
	for {
		n := p.tokenAt(i).value
		if p.tokenAt(i).kind == word {
			n = one.numberOf(p.tokenAt(i).text) // 1, or 0 for other words
		}
		u := unit(0)
		if next := p.tokenAt(i + 1); next.kind == word {
			u = unit(units.numberOf(next.text))
			if next.east {
				u, i = p.eastUnit(i)
			}
		}
		if n <= 0 || n > maxElapsed || u == 0 {
			return span, behind
		}
		span.addUnits(n, u)
		behind = i + 2
		for i = behind; p.tokenAt(i).isSymbol(",") || p.tokenAt(i).isSymbol(".") || p.tokenAt(i).text == "and" || p.tokenAt(i).text == "und"; {
			i++
		}
	}
}

func (e *elapsedTime) addUnits(n int, u unit) {
	switch u {
	case second:
		e.time += time.Duration(n) * time.Second
	case minute:
		e.time += time.Duration(n) * time.Minute
	case hour:
		e.time += time.Duration(n) * time.Hour
	case day:
		e.days += n
	case week:
		e.days += 7 * n
	case month:
		e.months += n
	case year:
		e.months += 12 * n
	}
}

// eastUnit returns the unit of the words behind the number at token i, such as 時間前, or 0.
// It returns i + 1 if they are two words, such as 시간 전.
func (p *parser) eastUnit(i int) (unit, int) {
	text, words := p.tokenAt(i+1).text, i
	if p.tokenAt(i + 2).east {
		text, words = text+p.tokenAt(i+2).text, i+1
	}
	for _, u := range eastUnits {
		if strings.HasPrefix(text, u.text) {
			return u.unit, words
		}
	}
	return 0, i
}

// timeDirection returns -1 if the elapsed time of the tokens from i to behind is in the past, 1
// if it is in the future, and 0 if nothing says so.
func (p *parser) timeDirection(i, behind int) int {
	next := p.tokenAt(behind)
	if next.isSymbol(".") {
		next = p.tokenAt(behind + 1)
	}
	before := p.tokenAt(i - 1)
	switch {
	case p.tokenAt(behind - 1).east, ago.numberOf(next.text) != 0, agoBefore.numberOf(before.text) != 0:
		return -1
	case before.text == "a" && p.tokenAt(i-2).text == "y" && p.tokenAt(i-3).text == "il":
		return -1
	case later.numberOf(next.text) != 0, before.text == "in", before.text == "через":
		return 1
	}
	return 0
}

// shiftNow returns now plus or minus a span. A clock time of the text replaces that of
// whole days.
func (p *parser) shiftNow(span elapsedTime, sign int) time.Time {
	t := p.Now.AddDate(0, sign*span.months, sign*span.days).Add(time.Duration(sign) * span.time)
	switch {
	case p.hasClock && span.time == 0:
		return p.timeOn(date{t.Year(), int(t.Month()), t.Day()})
	case span.time != 0:
		p.precision = dates.Clock
	case span.days%7 == 0: // weeks, months, years: about that time
		p.precision = dates.Month
	}
	return p.wallClock(t)
}

// wallClock returns the clock on the wall at t, without a zone and in whole seconds.
func (*parser) wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// findPrefix returns the number of the longest word of the table that text begins with, or 0.
func (t *table) findPrefix(text string) (n int) {
	longest := 0
	for w, value := range t.words {
		if len(w) > longest && strings.HasPrefix(text, w) {
			longest, n = len(w), value
		}
	}
	return n
}

// findSuffix returns the number of a word of the table that text ends with, or 0.
func (t *table) findSuffix(text string) int {
	runes := []rune(text)
	for from := range slices.Backward(runes) {
		if n := t.words[string(runes[from:])]; n != 0 {
			return n
		}
	}
	return 0
}
