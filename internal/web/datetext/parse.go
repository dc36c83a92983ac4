package datetext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
)

// Order says how numbers such as 03/04/2015 are read.
type Order uint8

// Orders of day and month. A number above 12 is the day in each order.
const (
	Usual      Order = iota // month first; day first between dots, and with words of other languages than English
	DayFirst                // day, month, year
	MonthFirst              // month, day, year
)

// Options say what a text leaves open.
type Options struct {
	// Now is the time for "yesterday", "2 hours ago", "18:59" and dates without a year, in
	// the zone of the text. Zero: such texts are not dates.
	Now time.Time

	// CurrentYear reads a date without a year as one of the year of Now.
	CurrentYear bool

	Order Order
}

// Years of dates; others are mistakes.
const (
	firstYear = 1970
	lastYear  = 2200
)

// Parse returns the first date of a text of which it reads at most 512 bytes. The time is
// that of the clock on the page: in time.UTC if the text states no zone, else in a fixed
// zone with a name such as +0900 (see Zone). A date without a time of day is at midnight.
// ok is false for texts without a date, and for codes of letters and digits.
func Parse(text string, o Options) (t time.Time, ok bool) {
	t, _, ok = parseText(text, o)
	return t, ok
}

// Read returns the same date with what the text states of it: no time and no zone is added. Of
// a time relative to Now the zone is that of Now and unknown to the text.
func Read(text string, o Options) (v dates.Value, ok bool) {
	if v, ok = dates.ParseISO(strings.TrimSpace(text)); ok {
		if y := v.Wall().Year(); y < firstYear || y > lastYear {
			return dates.Value{}, false
		}
		return v, true
	}
	t, precision, ok := parseText(text, o)
	if !ok {
		return dates.Value{}, false
	}
	switch precision {
	case dates.Month:
		return dates.MonthOf(t), true
	case dates.Day:
		return dates.DayOf(t), true
	case dates.Instant:
		return dates.InstantOf(t), true
	}
	return dates.ClockOf(t), true
}

func parseText(text string, o Options) (t time.Time, precision dates.Precision, ok bool) {
	p := parser{Options: o, tokens: splitTokens(text), precision: dates.Day}
	if len(p.tokens) == 0 || p.isCode() {
		return time.Time{}, dates.None, false
	}
	if len(p.tokens) == 1 && p.tokens[0].kind == number {
		t, p.precision, ok = ofDigits(p.tokens[0].text)
	} else {
		t, ok = p.parseTime()
	}
	if !ok || t.Year() < firstYear || t.Year() > lastYear {
		return time.Time{}, dates.None, false
	}
	return t, p.precision, true
}

// Zone returns the zone that the text of a date stated, such as "+0900", or "".
func Zone(t time.Time) string {
	if t.Location() == time.UTC {
		return ""
	}
	return t.Format("-0700")
}

// Fixed returns the time zone of an offset, in the form that Zone recognizes.
func Fixed(offset time.Duration) *time.Location {
	seconds := int(offset / time.Second)
	sign, minutes := '+', seconds/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	return time.FixedZone(fmt.Sprintf("%c%02d%02d", sign, minutes/60, minutes%60), seconds)
}

// parser finds the parts of a date in the tokens of a text.
type parser struct {
	Options
	tokens []token

	clock    clock
	hasClock bool
	zone     *time.Location // nil: none
	foreign  bool           // the text has a word of a language with the day first

	precision dates.Precision // of what was found
}

func (p *parser) parseTime() (time.Time, bool) {
	p.findClock()
	if !p.Now.IsZero() {
		if t, ok := p.readRelativeTime(); ok {
			return t, true
		}
	}
	if d, ok := p.findDate(); ok {
		return p.timeOn(d), true
	}
	if !p.hasClock || p.Now.IsZero() || p.moreNumbers() {
		return time.Time{}, false
	}
	t := p.timeOn(p.currentDay())
	if t.After(p.Now) {
		t = t.AddDate(0, 0, -1)
	}
	return t, true
}

// date is a day of the calendar.
type date struct{ year, month, day int }

// isValid reports whether the calendar has the day.
func (d date) isValid() bool {
	t := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return d.month >= 1 && d.month <= 12 && d.day >= 1 && t.Day() == d.day
}

// currentDay is the day of Now in the zone of the text.
func (p *parser) currentDay() date {
	now := p.Now
	if p.zone != nil {
		now = now.In(p.zone)
	}
	return date{now.Year(), int(now.Month()), now.Day()}
}

// timeOn returns the time of a day with the clock and the zone of the text.
func (p *parser) timeOn(d date) time.Time {
	zone := time.UTC
	if p.zone != nil {
		zone = p.zone
	}
	switch {
	case p.precision == dates.Month || !p.hasClock:
	case p.zone != nil:
		p.precision = dates.Instant
	default:
		p.precision = dates.Clock
	}
	c := p.clock
	return time.Date(d.year, time.Month(d.month), d.day, c.hour, c.minute, c.second, 0, zone)
}

// moreNumbers reports whether the text has numbers that nothing explains: those of a day
// that does not exist.
func (p *parser) moreNumbers() bool {
	return slices.ContainsFunc(p.tokens, func(t token) bool { return t.kind == number && !t.used })
}

// tokenAt returns the token at i. Outside of the text it is a symbol without text.
func (p *parser) tokenAt(i int) token {
	if i < 0 || i >= len(p.tokens) {
		return token{kind: symbol, value: -1, space: true}
	}
	return p.tokens[i]
}

// markUsed marks the tokens from first to last as part of what was found.
func (p *parser) markUsed(first, last int) {
	for i := max(first, 0); i <= last && i < len(p.tokens); i++ {
		p.tokens[i].used = true
	}
}
