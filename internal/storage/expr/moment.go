package expr

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// moment is a DATE or DATETIME of MySQL, in UTC, years 0 to 9999.
type moment struct {
	t       time.Time
	hasTime bool
}

func (m moment) dateText() string { return m.t.Format("2006-01-02") }

func (m moment) dateTimeText() string {
	if m.t.Nanosecond() != 0 {
		return m.t.Format("2006-01-02 15:04:05.000000")
	}
	return m.t.Format("2006-01-02 15:04:05")
}

func (m moment) text() string {
	if m.hasTime {
		return m.dateTimeText()
	}
	return m.dateText()
}

// parseMoment reads a date as MySQL does: 'YYYY-MM-DD' with an optional time of day
// and fraction, any separators, and one digit or two; or 'YYYYMMDD[hhmmss]' as a
// text or a number. It ignores the rest of the text. It rejects invalid dates and
// the zero date.
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
	switch {
	case n <= 0 || n > 99991231235959:
		return moment{}, false
	case n <= 991231:
		return momentOfText(fmt.Sprintf("%06d", n))
	case n <= 99991231:
		return momentOfText(fmt.Sprintf("%08d", n))
	case n <= 991231235959:
		return momentOfText(fmt.Sprintf("%012d", n))
	}
	return momentOfText(fmt.Sprintf("%014d", n))
}

// stored is the fast path for the form that columns hold, 'YYYY-MM-DD hh:mm:ss'. It
// runs for every row.
func stored(s string) ([6]int, bool) {
	var p [6]int
	if len(s) != 19 || s[4] != '-' || s[7] != '-' || s[10] != ' ' || s[13] != ':' || s[16] != ':' {
		return p, false
	}
	for i, at := range [6]int{0, 5, 8, 11, 14, 17} {
		end := at + 2
		if i == 0 {
			end = 4
		}
		for ; at < end; at++ {
			if s[at] < '0' || s[at] > '9' {
				return p, false
			}
			p[i] = p[i]*10 + int(s[at]-'0')
		}
	}
	return p, true
}

func momentOfText(s string) (moment, bool) {
	if p, ok := stored(s); ok {
		return makeMoment(p, true, 0)
	}
	s = strings.TrimLeft(s, " \t\n")
	run := digits(s)
	if run == 6 || run == 8 || run == 12 || run == 14 {
		return compactMoment(s, run)
	}
	var parts [6]int
	lengths := [6]int{}
	n := 0
	for n < 6 {
		run := digits(s)
		if run == 0 || run > 4 {
			break
		}
		parts[n], _ = strconv.Atoi(s[:run])
		lengths[n] = run
		s = s[run:]
		n++
		if n == 6 || s == "" || s[0] >= 0x80 || s[0] != 'T' && word(s[0]) {
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
		parts[0] = century(parts[0])
	}
	nanos := 0
	if n == 6 {
		nanos = fraction(s)
	}
	return makeMoment(parts, n > 3, nanos)
}

func compactMoment(s string, run int) (moment, bool) {
	year := 2
	if run == 8 || run == 14 {
		year = 4
	}
	var parts [6]int
	parts[0], _ = strconv.Atoi(s[:year])
	if year == 2 {
		parts[0] = century(parts[0])
	}
	n := 1
	for at := year; at < run; at += 2 {
		parts[n], _ = strconv.Atoi(s[at : at+2])
		n++
	}
	return makeMoment(parts, n > 3, fraction(s[run:]))
}

func makeMoment(p [6]int, hasTime bool, nanos int) (moment, bool) {
	if p[1] < 1 || p[1] > 12 || p[2] < 1 || p[3] > 23 || p[4] > 59 || p[5] > 59 {
		return moment{}, false
	}
	t := time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], 0, time.UTC)
	if t.Day() != p[2] {
		return moment{}, false
	}
	t = t.Add(time.Duration(nanos))
	return moment{t: t, hasTime: hasTime}, t.Year() <= 9999
}

func century(year int) int {
	if year < 70 {
		return 2000 + year
	}
	return 1900 + year
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// fraction reads ".123456" and returns nanoseconds, rounded to microseconds.
func fraction(s string) int {
	if s == "" || s[0] != '.' {
		return 0
	}
	s = s[1:min(len(s), 1+digits(s[1:]))]
	if len(s) > 9 {
		s = s[:9]
	}
	n, _ := strconv.Atoi(s + strings.Repeat("0", 9-len(s)))
	return (n + 500) / 1000 * 1000
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
	return m.t.Format("2006-01-02 15:04:05"), true, nil
}

// span is a TIME of MySQL in microseconds, from -838:59:59 to 838:59:59.
type span int64

const (
	second  span = 1e6
	minute       = 60 * second
	hour         = 60 * minute
	maxSpan      = 838*hour + 59*minute + 59*second
)

func (d span) clamp() span { return min(max(d, -maxSpan), maxSpan) }

func (d span) String() string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	s := fmt.Sprintf("%s%02d:%02d:%02d", sign, d/hour, d/minute%60, d/second%60)
	if f := d % second; f != 0 {
		s += fmt.Sprintf(".%06d", f)
	}
	return s
}

// seconds returns int64 for whole seconds and float64 otherwise.
func (d span) seconds() any {
	if d%second == 0 {
		return int64(d / second)
	}
	return float64(d) / float64(second)
}

// clockNumber returns the number hhmmss.
func (d span) clockNumber() int64 {
	sign := int64(1)
	if d < 0 {
		sign, d = -1, -d
	}
	return sign * int64(d/hour*10000+d/minute%60*100+d/second%60)
}

// parseClock reads a span of time: '[-][D ]hh:mm[:ss[.f]]', hhmmss as a text or a
// number, or the time of day of a date.
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
	return (sign * (span(h)*hour + span(m)*minute + span(s)*second)).clamp(), true
}

func timeOfDay(m moment) span {
	return span(m.t.Sub(time.Date(m.t.Year(), m.t.Month(), m.t.Day(), 0, 0, 0, 0, time.UTC)) / time.Microsecond)
}

var clockText = regexp.MustCompile(`^(-?)(?:(\d{1,3}) +)?(\d{1,4}):(\d{1,2})(?::(\d{1,2})(\.\d*)?)?`)

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
	d := at(2)*24*hour + at(3)*hour + at(4)*minute + at(5)*second + span(fraction(g[6])/1000)
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

var unitSeconds = map[string]float64{"MICROSECOND": 1e-6, "SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}

// add moves a moment by count units. As in MySQL, it rounds the count half away from
// zero; only SECOND keeps a fraction. It returns false outside the years 0 to 9999.
func (m moment) add(count any, unit string, sign int) (moment, bool) {
	n := float64(intOf(count))
	if unit == "SECOND" {
		n = math.Round(numberOf(count)*1e6) / 1e6
	}
	n *= float64(sign)
	if math.Abs(n) > 4e17 {
		return m, false
	}
	switch unit {
	case "MONTH", "QUARTER", "YEAR":
		months := map[string]float64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit] * n
		if math.Abs(months) > 120000 {
			return m, false
		}
		total := m.t.Year()*12 + int(m.t.Month()) - 1 + int(months)
		if total < 0 {
			return m, false
		}
		year, month := total/12, time.Month(total%12+1)
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		h, mi, s := m.t.Clock()
		m.t = time.Date(year, month, min(m.t.Day(), last), h, mi, s, m.t.Nanosecond(), time.UTC)
	default:
		seconds := n * unitSeconds[unit]
		if math.Abs(seconds) > 4e11 {
			return m, false
		}
		whole := math.Floor(seconds)
		micros := math.Round((seconds - whole) * 1e6)
		m.t = time.Unix(m.t.Unix()+int64(whole), int64(m.t.Nanosecond())+int64(micros)*1000).UTC()
		if unit != "DAY" && unit != "WEEK" {
			m.hasTime = true
		}
	}
	return m, m.t.Year() >= 0 && m.t.Year() <= 9999
}

// difference is TIMESTAMPDIFF: the whole units from a to b.
func difference(unit string, a, b moment) int64 {
	if a.t.After(b.t) {
		return -difference(unit, b, a)
	}
	switch unit {
	case "MONTH", "QUARTER", "YEAR":
		months := int64(b.t.Year()-a.t.Year())*12 + int64(b.t.Month()) - int64(a.t.Month())
		if b.t.Day() < a.t.Day() || b.t.Day() == a.t.Day() && timeOfDay(b) < timeOfDay(a) {
			months--
		}
		return months / map[string]int64{"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
	case "MICROSECOND":
		return b.t.UnixMicro() - a.t.UnixMicro()
	}
	return (b.t.UnixMicro() - a.t.UnixMicro()) / 1e6 / int64(unitSeconds[unit])
}

// sundayWeek returns the number of the week, from 0. Week 1 starts on the first
// Sunday of the year.
func (m moment) sundayWeek() int {
	return (m.t.YearDay() - 1 + 7 - int(m.t.Weekday())) / 7
}

// mondayWeek returns the number of the week, from 0. Weeks start on Monday; week 1
// is the first with at least four days of the year.
func (m moment) mondayWeek() int {
	first := (int(time.Date(m.t.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Weekday()) + 6) % 7
	week := (m.t.YearDay() - 1 + first) / 7
	if first <= 3 {
		week++
	}
	return week
}

// format is DATE_FORMAT. It copies characters that are not specifiers.
func (m moment) format(pattern string) string {
	var out strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' || i+1 == len(pattern) {
			out.WriteByte(pattern[i])
			continue
		}
		i++
		out.WriteString(m.specifier(pattern[i]))
	}
	return out.String()
}

func (m moment) specifier(c byte) string {
	t := m.t
	two := func(n int) string { return fmt.Sprintf("%02d", n) }
	twelve := (t.Hour()+11)%12 + 1
	switch c {
	case 'a':
		return t.Format("Mon")
	case 'b':
		return t.Format("Jan")
	case 'c':
		return strconv.Itoa(int(t.Month()))
	case 'D':
		return strconv.Itoa(t.Day()) + ordinal(t.Day())
	case 'd':
		return two(t.Day())
	case 'e':
		return strconv.Itoa(t.Day())
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'H':
		return two(t.Hour())
	case 'h', 'I':
		return two(twelve)
	case 'i':
		return two(t.Minute())
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'k':
		return strconv.Itoa(t.Hour())
	case 'l':
		return strconv.Itoa(twelve)
	case 'M':
		return t.Format("January")
	case 'm':
		return two(int(t.Month()))
	case 'p':
		return t.Format("PM")
	case 'r':
		return t.Format("03:04:05 PM")
	case 'S', 's':
		return two(t.Second())
	case 'T':
		return t.Format("15:04:05")
	case 'U':
		return two(m.sundayWeek())
	case 'u':
		return two(m.mondayWeek())
	case 'V', 'X':
		return m.sundayYearWeek(c)
	case 'v':
		_, week := t.ISOWeek()
		return two(week)
	case 'x':
		year, _ := t.ISOWeek()
		return fmt.Sprintf("%04d", year)
	case 'W':
		return t.Format("Monday")
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'Y':
		return fmt.Sprintf("%04d", t.Year())
	case 'y':
		return two(t.Year() % 100)
	}
	return string(rune(c))
}

// sundayYearWeek is %V or %X. Days before the first Sunday belong to the last week
// of the previous year.
func (m moment) sundayYearWeek(c byte) string {
	week, year := m.sundayWeek(), m.t.Year()
	if week == 0 {
		year--
		week = moment{t: time.Date(year, 12, 31, 0, 0, 0, 0, time.UTC)}.sundayWeek()
	}
	if c == 'X' {
		return fmt.Sprintf("%04d", year)
	}
	return fmt.Sprintf("%02d", week)
}

func ordinal(day int) string {
	if day/10 != 1 {
		switch day % 10 {
		case 1:
			return "st"
		case 2:
			return "nd"
		case 3:
			return "rd"
		}
	}
	return "th"
}
