package mysqlvalue

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Moment is a DATE or DATETIME of MySQL, in UTC, years 0 to 9999, in whole seconds.
type Moment struct {
	Time    time.Time
	HasTime bool
}

// Format writes the moment as MySQL does.
func (m Moment) Format() string {
	if m.HasTime {
		return m.Time.Format(time.DateTime)
	}
	return m.Time.Format(time.DateOnly)
}

// ParseMoment reads a date as MySQL does: 'YYYY-MM-DD' with an optional time of day,
// any separators, and one digit or two; or 'YYYYMMDD[hhmmss]' as a text or a number. It
// ignores the rest of the text. It rejects invalid dates and the zero date.
func ParseMoment(v any) (Moment, bool) {
	switch v := v.(type) {
	case string:
		return momentOfText(v)
	case []byte:
		return momentOfText(string(v))
	case int64:
		return momentOfNumber(v)
	case float64:
		return momentOfNumber(Round(v))
	}
	return Moment{}, false
}

func momentOfNumber(n int64) (Moment, bool) {
	for _, digits := range []int{6, 8, 12, 14} {
		if text := fmt.Sprintf("%0*d", digits, n); n > 0 && len(text) == digits {
			return momentOfText(text)
		}
	}
	return Moment{}, false
}

func momentOfText(s string) (Moment, bool) {
	if len(s) == len(time.DateTime) { // the form that columns hold
		if t, err := time.Parse(time.DateTime, s); err == nil {
			return Moment{Time: t, HasTime: true}, true
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
		if n == 6 || s == "" || s[0] >= 0x80 || s[0] != 'T' && continuesWord(s[0]) {
			break
		}
		if n == 3 {
			s = strings.TrimLeft(s[1:], " ")
			continue
		}
		s = s[1:]
	}
	if n < 3 {
		return Moment{}, false
	}
	if lengths[0] <= 2 {
		parts[0] = fullYear(parts[0])
	}
	return makeMoment(parts, n > 3)
}

func compactMoment(s string, run int) (Moment, bool) {
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

func makeMoment(p [6]int, hasTime bool) (Moment, bool) {
	if p[1] < 1 || p[1] > 12 || p[2] < 1 || p[3] > 23 || p[4] > 59 || p[5] > 59 {
		return Moment{}, false
	}
	t := time.Date(p[0], time.Month(p[1]), p[2], p[3], p[4], p[5], 0, time.UTC)
	return Moment{Time: t, HasTime: hasTime}, t.Day() == p[2]
}

// continuesWord reports whether an ASCII byte is a part of a name.
func continuesWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
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

// ParseStamp reads a text that consists of one date or time stamp, with an optional
// zone. It returns 'YYYY-MM-DD hh:mm:ss' in UTC. isStamp is false for any other text; valid is false for a
// text of this shape with an invalid date.
func ParseStamp(text string) (stamp string, isStamp, valid bool) {
	if len(text) > 40 || !plain.MatchString(text) {
		return "", false, false
	}
	m, ok := momentOfText(text)
	if !ok {
		return "", true, false
	}
	if zone := plain.FindStringSubmatch(text)[4]; len(zone) > 1 {
		hours, _ := strconv.Atoi(zone[1:3])
		minutes, _ := strconv.Atoi(zone[len(zone)-2:])
		shift := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
		if zone[0] == '+' {
			shift = -shift
		}
		m.Time = m.Time.Add(shift)
	}
	return m.Time.Format(time.DateTime), true, true
}

// Span is a TIME of MySQL in whole seconds, from -838:59:59 to 838:59:59.
type Span int64

const (
	Minute  Span = 60
	Hour         = 60 * Minute
	maxSpan      = 838*Hour + 59*Minute + 59
)

// Clamp returns the nearest span that MySQL has.
func (d Span) Clamp() Span { return min(max(d, -maxSpan), maxSpan) }

func (d Span) String() string {
	sign := ""
	if d < 0 {
		sign, d = "-", -d
	}
	return fmt.Sprintf("%s%02d:%02d:%02d", sign, d/Hour, d/Minute%60, d%60)
}

// clockNumber returns the number hhmmss.
func (d Span) clockNumber() int64 {
	return int64(d/Hour*10000 + d/Minute%60*100 + d%60)
}

// ParseSpan reads a span of time: '[-][D ]hh:mm[:ss]', hhmmss as a text or a number,
// or the time of day of a date.
func ParseSpan(v any) (Span, bool) {
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

func clockOfNumber(n int64) (Span, bool) {
	if n >= 10000000000 {
		m, ok := momentOfNumber(n)
		return timeOfDay(m), ok
	}
	sign := Span(1)
	if n < 0 {
		sign, n = -1, -n
	}
	h, m, s := n/10000, n/100%100, n%100
	if m > 59 || s > 59 {
		return 0, false
	}
	return (sign * (Span(h)*Hour + Span(m)*Minute + Span(s))).Clamp(), true
}

func timeOfDay(m Moment) Span {
	h, mi, s := m.Time.Clock()
	return Span(h)*Hour + Span(mi)*Minute + Span(s)
}

var clockText = regexp.MustCompile(`^(-?)(?:(\d{1,3}) +)?(\d{1,4}):(\d{1,2})(?::(\d{1,2}))?`)

func clockOfText(s string) (Span, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 8 && s[4] == '-' {
		m, ok := momentOfText(s)
		return timeOfDay(m), ok
	}
	g := clockText.FindStringSubmatch(s)
	if g == nil {
		prefix, _ := numberPrefix(s)
		number := Number(LeadingNumber(s))
		if number == 0 && !strings.HasPrefix(s, "0") || math.Abs(number) > 1e15 || strings.ContainsAny(prefix, "eE") {
			return 0, false
		}
		return clockOfNumber(int64(number))
	}
	at := func(i int) Span { n, _ := strconv.Atoi(g[i]); return Span(n) }
	if at(4) > 59 || at(5) > 59 {
		return 0, false
	}
	d := at(2)*24*Hour + at(3)*Hour + at(4)*Minute + at(5)
	if g[1] == "-" {
		d = -d
	}
	return d.Clamp(), true
}

// TimeNumber converts a date or a time of day to the number YYYYMMDDhhmmss,
// YYYYMMDD or hhmmss. An invalid value gives 0.
func TimeNumber(v any) int64 {
	s := Text(v)
	if i := strings.IndexByte(s, ':'); i >= 0 && !strings.Contains(strings.TrimPrefix(s[:i], "-"), "-") {
		d, _ := clockOfText(s)
		return d.clockNumber()
	}
	m, ok := ParseMoment(v)
	if !ok {
		return 0
	}
	n := int64(m.Time.Year())*10000 + int64(m.Time.Month())*100 + int64(m.Time.Day())
	if m.HasTime {
		n = n*1000000 + int64(m.Time.Hour())*10000 + int64(m.Time.Minute())*100 + int64(m.Time.Second())
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

// AddUnits moves a Moment by count units. As in MySQL, it rounds the count half away from
// zero. A fraction of a second is cut off the sum. It returns false outside the years 0 to
// 9999.
func (m Moment) AddUnits(count any, unit string, sign int) (Moment, bool) {
	n := int64(sign) * min(max(Int(count), -maxCount), maxCount)
	if unit == "SECOND" {
		n = int64(math.Floor(float64(sign) * min(max(Number(count), -maxCount), maxCount)))
	}
	if months := unitMonths[unit]; months > 0 {
		total := int64(m.Time.Year()*12+int(m.Time.Month())-1) + n*int64(months)
		if total < 0 || total >= 120000 {
			return m, false
		}
		year, month := int(total/12), time.Month(total%12+1)
		last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
		h, mi, s := m.Time.Clock()
		m.Time = time.Date(year, month, min(m.Time.Day(), last), h, mi, s, 0, time.UTC)
		return m, true
	}
	m.Time = time.Unix(m.Time.Unix()+n*unitSeconds[unit], 0).UTC()
	m.HasTime = m.HasTime || unit != "DAY" && unit != "WEEK"
	return m, m.Time.Year() >= 0 && m.Time.Year() <= 9999
}

// CountUnits is TIMESTAMPDIFF: the whole units from a to b.
func CountUnits(unit string, a, b Moment) int64 {
	if size := unitSeconds[unit]; size > 0 {
		return (b.Time.Unix() - a.Time.Unix()) / size
	}
	if a.Time.After(b.Time) {
		return -CountUnits(unit, b, a)
	}
	months := (b.Time.Year()-a.Time.Year())*12 + int(b.Time.Month()) - int(a.Time.Month())
	if b.Time.Day() < a.Time.Day() || b.Time.Day() == a.Time.Day() && timeOfDay(b) < timeOfDay(a) {
		months--
	}
	return int64(months / unitMonths[unit])
}

// FindUnknownSpecifiers returns the specifiers of a pattern that FormatPattern does not know.
func FindUnknownSpecifiers(pattern string) (unknown []string) {
	for _, s := range specifier.FindAllString(pattern, -1) {
		if specifiers[s] == "" {
			unknown = append(unknown, s)
		}
	}
	return unknown
}

// specifiers maps the specifiers of DATE_FORMAT to layouts of package time.
var specifiers = map[string]string{
	"%Y": "2006", "%y": "06", "%m": "01", "%c": "1", "%M": "January", "%b": "Jan", "%d": "02", "%e": "2", "%j": "002", "%W": "Monday", "%a": "Mon",
	"%H": "15", "%h": "03", "%I": "03", "%l": "3", "%i": "04", "%S": "05", "%s": "05", "%p": "PM", "%T": "15:04:05", "%r": "03:04:05 PM", "%%": "%",
}

var specifier = regexp.MustCompile(`(?s)%.`)

// FormatPattern is DATE_FORMAT with a pattern that has no unknown specifiers.
func (m Moment) FormatPattern(pattern string) string {
	return specifier.ReplaceAllStringFunc(pattern, func(s string) string { return m.Time.Format(specifiers[s]) })
}
