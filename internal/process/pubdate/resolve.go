package pubdate

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hce/dc/internal/web/dates"
	"hce/dc/internal/web/datetext"
	"hce/dc/internal/web/pdate"
	"hce/dc/internal/wire"
	"hce/dc/internal/wire/prop"
	"hce/dc/internal/wire/schema"
)

// Sources are what is known about the date of a page. An empty field is a source without a
// date.
type Sources struct {
	URL  string    // of the page, for the patterns of the rules
	Now  time.Time // of processing; its location is the zone LOCAL
	Feed time.Time // of the feed entry of the page

	// Fetched is when the page was fetched; zero: Now. Relative dates count from it.
	Fetched time.Time

	Modified dates.Value // when the page says that it was changed; zero: it does not say so

	DublinCore string   // the tag dc_date. It counts if PubDate is blank
	PubDate    string   // the tag pubdate
	Others     []string // other tags of type datetime, used if PubDate is not a date

	// Language is the language tag of the page, or "". It says what 03/04/2015 means.
	Language string

	// Evaluate returns the value of an SQL expression over the fields of the URL, which the
	// expression has as %FIELD%; "" for NULL. nil: expressions cannot be evaluated.
	Evaluate func(expression string) (string, error)
}

// Resolved is the publication date of a page.
type Resolved struct {
	Value  dates.Value // zero: no source has a date
	Date   schema.Date // the time on the clock of the page; "" without a date
	Zone   string      // its offset from UTC, such as "+0900"; "": the source states none
	Source int64       // the bit of the source that won
	// Assumed says that Date is not when the page was published: it is the time of processing, the first
	// day of a month, or after the fetch.
	Assumed bool

	Steps []string // how the date was found, one decision each
	Errs  []error  // parts of the rules that could not be followed
}

// Resolve asks the sources in the order of the masks, and then applies PDATE_TIME and
// PDATE_TIMEZONES. A date without a zone counts as UTC there.
func Resolve(s Sources, rules Rules) Resolved {
	r := resolver{Sources: s, rules: rules, order: rules.orderOf(&s)}
	r.Now, r.server = s.Now.UTC(), s.Now.Location()
	r.Fetched = r.Now
	if !s.Fetched.IsZero() {
		r.Fetched = s.Fetched.UTC()
	}
	r.out.Source = rules.Masks.Choose(func(bit int64) bool {
		v := r.dateFromSource(bit)
		if !v.IsZero() { // it replaces the dates of earlier sources
			r.setDate(v)
		}
		return !v.IsZero()
	})
	if r.out.Source == 0 {
		r.addStep("no source has a date")
		return r.out
	}
	r.addStep("%s wins", sourceNames[r.out.Source])
	r.out.Assumed = r.out.Source == pdate.Now || r.out.Value.Precision() == dates.Month
	r.computeTime()
	r.shiftZone()
	if r.out.Value.After(r.Fetched) {
		r.out.Assumed = true
		r.addStep("the date is after the fetch at %s", r.Fetched.Format(time.DateTime))
	}
	return r.out
}

// Read parses the text of one date as Resolve does, without the rules that follow. ok is
// false if the text is not a date.
func (s Sources) Read(text string, rules Rules) (v dates.Value, ok bool) {
	now := s.Now
	if !s.Fetched.IsZero() {
		now = s.Fetched
	}
	return datetext.Read(text, datetext.Options{Now: now.UTC(), CurrentYear: true, Order: rules.orderOf(&s)})
}

// SourceName names the source that won, for people; "" without one.
func (r Resolved) SourceName() string { return sourceNames[r.Source] }

// sourceNames name the bits for people.
var sourceNames = map[int64]string{
	pdate.Feed: "the feed entry (2)", pdate.DublinCore: "the tag dc_date (16)", pdate.Page: "the page (32)",
	pdate.Now: "the current time (64)", pdate.Expression: "PDATE_SOURCES_EXPRESSION (128)",
}

// resolver is the state of one Resolve.
type resolver struct {
	Sources
	rules  Rules
	order  datetext.Order
	server *time.Location
	out    Resolved
}

func (r *resolver) addStep(format string, args ...any) {
	r.out.Steps = append(r.out.Steps, fmt.Sprintf(format, args...))
}

func (r *resolver) addError(err error) {
	r.out.Errs = append(r.out.Errs, err)
	r.addStep("error: %v", err)
}

// setDate stores a date and the zone that it states.
func (r *resolver) setDate(v dates.Value) {
	r.out.Value, r.out.Date, r.out.Zone = v, schema.Date(v.Wall().Format(schema.DateLayout)), v.Zone()
}

// dateFromSource returns the date of a source. Other bits are sources of the crawler.
func (r *resolver) dateFromSource(bit int64) (v dates.Value) {
	switch bit {
	case pdate.Feed:
		if !r.Feed.IsZero() {
			r.addStep("the feed entry has %s", r.Feed.UTC().Format(time.DateTime))
			return dates.InstantOf(r.Feed.UTC())
		}
	case pdate.DublinCore:
		if strings.TrimSpace(r.PubDate) == "" {
			return r.parseDate("dc_date", r.DublinCore)
		}
	case pdate.Page:
		v = r.parseDate("pubdate", r.PubDate)
		for i := 0; i < len(r.Others) && v.IsZero(); i++ {
			v = r.parseDate("a tag of type datetime", r.Others[i])
		}
		return v
	case pdate.Now:
		return dates.ClockOf(r.Now)
	case pdate.Expression:
		if r.rules.Expression != "" {
			return r.evaluateSQL("PDATE_SOURCES_EXPRESSION", r.rules.Expression)
		}
	}
	return dates.Value{}
}

// parseDate parses a text with the order of the page.
func (r *resolver) parseDate(name, text string) dates.Value {
	if strings.TrimSpace(text) == "" {
		return dates.Value{}
	}
	v, ok := datetext.Read(text, datetext.Options{Now: r.Fetched, CurrentYear: true, Order: r.order})
	if !ok {
		r.addStep("%s has %q, which is not a date", name, prop.Clip(text))
		return dates.Value{}
	}
	r.addStep("%s has %q, which is %s", name, prop.Clip(text), v)
	return v
}

// evaluateSQL returns the date of an SQL expression, or the zero time. %PDATE% is the date
// found so far.
func (r *resolver) evaluateSQL(property, expression string) (v dates.Value) {
	if r.Evaluate == nil {
		r.addError(fmt.Errorf("property %s has %q, which cannot be evaluated here", property, prop.Clip(expression)))
		return v
	}
	date := "NULL"
	if r.out.Date != "" {
		date = "'" + string(r.out.Date) + "'"
	}
	value, err := r.Evaluate(wire.DateMacro(expression, date))
	if err != nil {
		r.addError(fmt.Errorf("property %s has %q, which cannot be evaluated: %w", property, prop.Clip(expression), err))
		return v
	}
	if strings.TrimSpace(value) == "" {
		return v
	}
	v, ok := datetext.Read(value, datetext.Options{})
	if !ok {
		r.addError(fmt.Errorf("property %s has %q, which gives %q; expected a date", property, prop.Clip(expression), prop.Clip(value)))
	}
	return v
}

// computeTime applies the first rule of PDATE_TIME for the URL. The zone of the date stays,
// unless the value states one.
func (r *resolver) computeTime() {
	for _, c := range r.rules.times {
		if !c.pattern.MatchString(r.URL) {
			continue
		}
		if v := r.evaluateSQL("PDATE_TIME", c.expression); !v.IsZero() {
			r.setDate(v.WithZone(r.out.Zone))
			r.out.Assumed = false
			r.addStep("PDATE_TIME gives %s", v)
		}
		return
	}
}

// shiftZone applies the first rule of PDATE_TIMEZONES for the URL whose condition holds.
func (r *resolver) shiftZone() {
	for _, s := range r.rules.shifts {
		if !s.pattern.MatchString(r.URL) || !r.conditionHolds(s) {
			continue
		}
		t := r.out.Value.UTC()
		if s.from.given {
			w := r.out.Value.Wall()
			t = time.Date(w.Year(), w.Month(), w.Day(), w.Hour(), w.Minute(), w.Second(), 0, s.from.locationIn(r.server))
		}
		to := t.In(s.to.locationIn(r.server))
		r.addStep("PDATE_TIMEZONES shifts it from %s to %s: %s", cmp.Or(zoneOf(s, t), r.out.Zone, "+0000"), to.Format("-0700"), to.Format(time.DateTime))
		r.setDate(dates.InstantOf(to))
		return
	}
}

// zoneOf returns the zone that a rule names for t, or "".
func zoneOf(s shift, t time.Time) string {
	if !s.from.given {
		return ""
	}
	return t.Format("-0700")
}

// conditionHolds reports whether the condition of a rule holds for the date in its own zone.
func (r *resolver) conditionHolds(s shift) bool {
	zoned := r.out.Zone != ""
	switch s.condition {
	case ifZoned:
		return zoned
	case ifUnzoned:
		return !zoned
	case ifFrom, ifNotFrom:
		source, _ := dates.Zone(r.out.Zone)
		_, from := r.out.Value.UTC().In(s.from.locationIn(r.server)).Zone()
		return (zoned && int(source/time.Second) == from) == (s.condition == ifFrom)
	}
	return true
}
