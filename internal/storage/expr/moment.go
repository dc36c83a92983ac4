package expr

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// moment is a DATE or DATETIME of MySQL, in UTC, years 0 to 9999, in whole seconds.
type moment struct {
	t       time.Time
	hasTime bool
}

func (m moment) formatMoment() string {
	if m.hasTime {
		return m.t.Format(time.DateTime)
	}
	return m.t.Format(time.DateOnly)
}

// parseMoment reads a date as MySQL does: 'YYYY-MM-DD' with an optional time of day,
// any separators, and one digit or two; or 'YYYYMMDD[hhmmss]' as a text or a number. It
// ignores the rest of the text. It rejects invalid dates and the zero date.
func parseMoment(v any) (moment, bool) {
	switch v := v.(type) {
	case string:
		return momentOfText(v)
	case []byte:
		return momentOfText(string(v))
	case int64:
		return momentOfNumber(v)
	case float64:
		return momentOfNumber(roundInt(v))
	}
	return moment{}, false
}

func momentOfNumber(n int64) (moment, bool) {
	for _, digits := range []int{6, 8, 12, 14} {
		if text := fmt.Sprintf("%0*d", digits, n); n > 0 && len(text) == digits {
			return momentOfText(text)
		}
	}
	return moment{}, false
}

func momentOfText(s string) (moment, bool) {
	if len(s) == len(time.DateTime) { // the form that columns hold
		if t, err := time.Parse(time.DateTime, s); err == nil {
			return moment{t: t, hasTime: true}, true
		}
	}
	s = strings.TrimLeft(s, " \t\n")
	run := countDigits(s)
	if run == 6 || run == 8 || run == 12 || run == 14 {
		return compactMoment(s, run)
	}
	var parts [6]int
	lengths := [6]int{}
	n := 0
	for n < 6 {
		run := countDigits(s)
		if run == 0 || run > 4 {
			break
		}
		parts[n], _ = strconv.Atoi(s[:run])
		lengths[n] = run
		s = s[run:]
		n++
		if n == 6 || s == "" || s[0] >= 0x80 || s[0] != 'T' && isWordByte(s[0]) {
			break
		}
		if n == 3 {
			s = strings.TrimLeft(s[1:], " ")
			continue
		}
		s = s[1:]
	}
	if n < 3 {
		return moment{}, false
	}
	if lengths[0] <= 2 {
		parts[0] = fullYear(parts[0])
	}
	return makeMoment(parts, n > 3)
}

func compactMoment(s string, run int) (moment, bool) {
	year := 2
	if run == 8 || run == 14 {
		year = 4
	}
	var parts [6]int
	parts[0], _ = strconv.Atoi(s[:year])
	if year == 2 {
		parts[0] = fullYear(parts[0])
	}
	n := 1
	for at := year; at < run; at += 2 {
		parts[n], _ = strconv.Atoi(s[at : at+2])
		n++
	}
	return makeMoment(parts, n > 3)
}

func makeMoment(p [6]int, hasTime bool) (moment, bool) {
	if p[1] < 1 || p[1] > 12 || p[2] < 1 || p[3] > 23 || p[4] > 59 || p[5] > 59 {
		return moment{}, false
	}
	t := time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], 0, time.UTC)
	return moment{t: t, hasTime: hasTime}, t.Day() == p[2]
}

func fullYear(year int) int {
	if year < 70 {
		return 2000 + year
	}
	return 1900 + year
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

var plain = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}:?\d{2})?$`)

// plainDate reads a text that consists of one date or time stamp, with an optional
// zone. It returns 'YYYY-MM-DD hh:mm:ss' in UTC and true, or false for any other
// text. A text of this shape with an invalid date gives an *Error.
func plainDate(text string) (string, bool, error) {
	text = strings.TrimSpace(text)
	if len(text) > 40 || !plain.MatchString(text) {
		return "", false, nil
	}
	m, ok := momentOfText(text)
	if !ok {
		return "", false, &Error{Part: "value " + text, Reason: "is not a date"}
	}
	if zone := plain.FindStringSubmatch(text)[4]; len(zone) > 1 {
		hours, _ := strconv.Atoi(zone[1:3])
		minutes, _ := strconv.Atoi(zone[len(zone)-2:])
		shift := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if zone[0] == '+' {
			shift = -shift
		}
		m.t = m.t.Add(shift)
	}
	return m.t.Format(time.DateTime), true, nil
}

// span is a TIME of MySQL in whole seconds, from -838:59:59 to 838:59:59.
type span int64

const (
	minute  span = 60
	hour         = 60 * minute
	maxSpan      = 838*hour + 59*minute + 59
)

func (d span) clamp() span { return min(max(d, -maxSpan), maxSpan) }

func (d span) String() string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%02d:%02d:%02d", sign, d/hour, d/minute%60, d%60)
}

// clockNumber returns the number hhmmss.
func (d span) clockNumber() int64 {
	return int64(d/hour*10000 + d/minute%60*100 + d%60)
}

// parseClock reads a span of time: '[-][D ]hh:mm[:ss]', hhmmss as a text or a number,
// or the time of day of a date.
func parseClock(v any) (span, bool) {
	switch v := v.(type) {
	case string:
		return clockOfText(v)
	case []byte:
		return clockOfText(string(v))
	case int64:
		return clockOfNumber(v)
	case float64:
		d, ok := clockOfNumber(int64(math.Trunc(math.Max(math.Min(v, 1e15), -1e15))))
		return d, ok
	}
	return 0, false
}

func clockOfNumber(n int64) (span, bool) {
	if n >= 10000000000 {
		m, ok := momentOfNumber(n)
		return timeOfDay(m), ok
	}
	sign := span(1)
	if n < 0 {
		sign, n = -1, -n
	}
	h, m, s := n/10000, n/100%100, n%100
	if m > 59 || s > 59 {
		return 0, false
	}
	return (sign * (span(h)*hour + span(m)*minute + span(s))).clamp(), true
}

func timeOfDay(m moment) span {
	h, mi, s := m.t.Clock()
	return span(h)*hour + span(mi)*minute + span(s)
}

var clockText = regexp.MustCompile(`^(-?)(?:(\d{1,3}) +)?(\d{1,4}):(\d{1,2})(?::(\d{1,2}))?`)

func clockOfText(s string) (span, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 8 && s[4] == '-' {
		m, ok := momentOfText(s)
		return timeOfDay(m), ok
	}
	g := clockText.FindStringSubmatch(s)
	if g == nil {
		prefix, _ := numberPrefix(s)
		number := numberOf(leadingNumber(s))
		if number == 0 && !strings.HasPrefix(s, "0") || math.Abs(number) > 1e15 || strings.ContainsAny(prefix, "eE") {
			return 0, false
		}
		return clockOfNumber(int64(number))
	}
	at := func(i int) span { n, _ := strconv.Atoi(g[i]); return span(n) }
	if at(4) > 59 || at(5) > 59 {
		return 0, false
	}
	d := at(2)*24*hour + at(3)*hour + at(4)*minute + at(5)
	if g[1] == "-" {
		d = -d
	}
	return d.clamp(), true
}

// momentNumber converts a date or a time of day to the number YYYYMMDDhhmmss,
// YYYYMMDD or hhmmss. An invalid value gives 0.
func momentNumber(v any) int64 {
	s := textOf(v)
	if i := strings.IndexByte(s, ':'); i >= 0 && !strings.Contains(strings.TrimPrefix(s[:i], "-"), "-") {
		d, _ := clockOfText(s)
		return d.clockNumber()
	}
	m, ok := parseMoment(v)
	if !ok {
		return 0
	}
	n := int64(m.t.Year())*10000 + int64(m.t.Month())*100 + int64(m.t.Day())
	if m.hasTime {
		n = n*1000000 + int64(m.t.Hour())*10000 + int64(m.t.Minute())*100 + int64(m.t.Second())
	}
	return n
}

// unitMonths and unitSeconds are the sizes of the units of an INTERVAL.
var (
	unitMonths  = map[string]int{"MONTH": 1, "YEAR": 12}
	unitSeconds = map[string]int64{"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
)

// maxCount limits the count of an interval, in any unit. More is outside of the years 0 to
// 9999.
const maxCount = 1 << 40

// addUnits moves a moment by count units. As in MySQL, it rounds the count half away from
// zero. A fraction of a second is cut off the sum. It returns false outside the years 0 to
// 9999.
func (m moment) addUnits(count any, unit string, sign int) (moment, bool) {
	n := int64(sign) * min(max(intOf(count), -maxCount), maxCount)
	if unit == "SECOND" {
		n = int64(math.Floor(float64(sign) * min(max(numberOf(count), -maxCount), maxCount)))
	}
	if months := unitMonths[unit]; months > 0 {
		total := int64(m.t.Year()*12+int(m.t.Month())-1) + n*int64(months)
		if total < 0 || total >= 120000 {
			return m, false
		}
		year, month := int(total/12), time.Month(total%12+1)
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		h, mi, s := m.t.Clock()
		m.t = time.Date(year, month, min(m.t.Day(), last), h, mi, s, 0, time.UTC)
		return m, true
	}
	m.t = time.Unix(m.t.Unix()+n*unitSeconds[unit], 0).UTC()
	m.hasTime = m.hasTime || unit != "DAY" && unit != "WEEK"
	return m, m.t.Year() >= 0 && m.t.Year() <= 9999
}

// wholeUnitsBetween is TIMESTAMPDIFF: the whole units from a to b.
func wholeUnitsBetween(unit string, a, b moment) int64 {
	if size := unitSeconds[unit]; size > 0 {
		return (b.t.Unix() - a.t.Unix()) / size
	}
	if a.t.After(b.t) {
		return -wholeUnitsBetween(unit, b, a)
	}
	months := (b.t.Year()-a.t.Year())*12 + int(b.t.Month()) - int(a.t.Month())
	if b.t.Day() < a.t.Day() || b.t.Day() == a.t.Day() && timeOfDay(b) < timeOfDay(a) {
		months--
	}
	return int64(months / unitMonths[unit])
}

// specifiers maps the specifiers of DATE_FORMAT to layouts of package time.
var specifiers = map[string]string{
	"%Y": "2006", "%y": "06", "%m": "01", "%c": "1", "%M": "January", "%b": "Jan", "%d": "02", "%e": "2", "%j": "002", "%W": "Monday", "%a": "Mon",
	"%H": "15", "%h": "03", "%I": "03", "%l": "3", "%i": "04", "%S": "05", "%s": "05", "%p": "PM", "%T": "15:04:05", "%r": "03:04:05 PM", "%%": "%",
}

var specifier = regexp.MustCompile(`(?s)%.`)

// formatPattern is DATE_FORMAT with a pattern that knownFormat accepts.
func (m moment) formatPattern(pattern string) string {
	return specifier.ReplaceAllStringFunc(pattern, func(s string) string { return m.t.Format(specifiers[s]) })
}
