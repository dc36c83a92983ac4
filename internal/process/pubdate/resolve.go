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
)

// Sources are what is known about the date of a page. An empty field is a source without a
// date.
type Sources struct {
	URL  string    // of the page, for the patterns of the rules
	Now  time.Time // its location is the zone LOCAL
	Feed time.Time // of the feed entry of the page

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
	Date   wire.Date // the time on the clock of the page; "": no source has a date
	Zone   string    // its offset from UTC, such as "+0900"; "": the source states none
	Source int64     // the bit of the source that won
	Steps  []string  // how the date was found, one decision each
	Errs   []error   // parts of the rules that could not be followed
}

// Resolve asks the sources in the order of the masks, and then applies PDATE_TIME and
// PDATE_TIMEZONES. A date without a zone counts as UTC there.
func Resolve(s Sources, rules Rules) Resolved {
	r := resolver{Sources: s, rules: rules, order: rules.orderOf(&s)}
	_, r.out.Source = rules.Masks.Choose(func(bit int64) time.Time {
		t := r.ask(bit)
		if !t.IsZero() { // it replaces the dates of earlier sources
			r.set(t)
		}
		return t
	})
	if r.out.Source == 0 {
		r.say("no source has a date")
		return r.out
	}
	r.say("%s wins", sourceNames[r.out.Source])
	r.compute()
	r.shift()
	return r.out
}

// Read parses the text of one date as Resolve does, without the rules that follow. ok is
// false if the text is not a date.
func (s Sources) Read(text string, rules Rules) (t time.Time, ok bool) {
	return datetext.Parse(text, datetext.Options{Now: s.Now.UTC(), CurrentYear: true, Order: rules.orderOf(&s)})
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
	rules Rules
	order datetext.Order
	out   Resolved
}

func (r *resolver) say(format string, args ...any) {
	r.out.Steps = append(r.out.Steps, fmt.Sprintf(format, args...))
}

func (r *resolver) fail(err error) {
	r.out.Errs = append(r.out.Errs, err)
	r.say("error: %v", err)
}

// set stores a date and the zone that it states.
func (r *resolver) set(t time.Time) {
	r.out.Date, r.out.Zone = wire.Date(t.Format(wire.DateLayout)), datetext.Zone(t)
}

// ask returns the date of a source. Other bits are sources of the crawler.
func (r *resolver) ask(bit int64) time.Time {
	switch bit {
	case pdate.Feed:
		if !r.Feed.IsZero() {
			t := r.Feed.In(datetext.Fixed(0))
			r.say("the feed entry has %s", t.Format(time.DateTime))
			return t
		}
	case pdate.DublinCore:
		if strings.TrimSpace(r.PubDate) == "" {
			return r.read("dc_date", r.DublinCore)
		}
	case pdate.Page:
		t := r.read("pubdate", r.PubDate)
		for i := 0; i < len(r.Others) && t.IsZero(); i++ {
			t = r.read("a tag of type datetime", r.Others[i])
		}
		return t
	case pdate.Now:
		return r.Now.UTC()
	case pdate.Expression:
		if r.rules.Expression != "" {
			return r.evaluate("PDATE_SOURCES_EXPRESSION", r.rules.Expression)
		}
	}
	return time.Time{}
}

// read parses a text with the order of the page.
func (r *resolver) read(name, text string) time.Time {
	if strings.TrimSpace(text) == "" {
		return time.Time{}
	}
	t, ok := datetext.Parse(text, datetext.Options{Now: r.Now.UTC(), CurrentYear: true, Order: r.order})
	if !ok {
		r.say("%s has %q, which is not a date", name, prop.Clip(text))
		return time.Time{}
	}
	r.say("%s has %q, which is %s", name, prop.Clip(text), described(t))
	return t
}

func described(t time.Time) string {
	return strings.TrimSpace(t.Format(time.DateTime) + " " + datetext.Zone(t))
}

// evaluate returns the date of an SQL expression, or the zero time. %PDATE% is the date
// found so far.
func (r *resolver) evaluate(property, expression string) time.Time {
	if r.Evaluate == nil {
		r.fail(fmt.Errorf("property %s has %q, which cannot be evaluated here", property, prop.Clip(expression)))
		return time.Time{}
	}
	date := "NULL"
	if r.out.Date != "" {
		date = "'" + string(r.out.Date) + "'"
	}
	value, err := r.Evaluate(wire.DateMacro(expression, date))
	if err != nil {
		r.fail(fmt.Errorf("property %s has %q, which cannot be evaluated: %w", property, prop.Clip(expression), err))
		return time.Time{}
	}
	if strings.TrimSpace(value) == "" {
		return time.Time{}
	}
	t, ok := datetext.Parse(value, datetext.Options{})
	if !ok {
		r.fail(fmt.Errorf("property %s has %q, which gives %q; expected a date", property, prop.Clip(expression), prop.Clip(value)))
		return time.Time{}
	}
	return t
}

// compute applies the first rule of PDATE_TIME for the URL. The zone of the date stays,
// unless the value states one.
func (r *resolver) compute() {
	for _, c := range r.rules.times {
		if !c.pattern.MatchString(r.URL) {
			continue
		}
		if t := r.evaluate("PDATE_TIME", c.expression); !t.IsZero() {
			before := r.out.Zone
			r.set(t)
			r.out.Zone = cmp.Or(r.out.Zone, before)
			r.say("PDATE_TIME gives %s", described(t))
		}
		return
	}
}

// shift applies the first rule of PDATE_TIMEZONES for the URL whose condition holds.
func (r *resolver) shift() {
	source := time.UTC
	if offset, ok := dates.Zone(r.out.Zone); ok {
		source = datetext.Fixed(offset)
	}
	for _, s := range r.rules.shifts {
		if !s.pattern.MatchString(r.URL) {
			continue
		}
		t, err := time.ParseInLocation(wire.DateLayout, string(r.out.Date), source)
		if err != nil || !r.holds(s, t) {
			continue
		}
		server := r.Now.Location()
		if s.from.given {
			t, _ = time.ParseInLocation(wire.DateLayout, string(r.out.Date), s.from.in(server))
		}
		to := t.In(s.to.in(server))
		r.out.Date, r.out.Zone = wire.Date(to.Format(wire.DateLayout)), to.Format("-0700")
		r.say("PDATE_TIMEZONES shifts it from %s to %s: %s", t.Format("-0700"), r.out.Zone, r.out.Date)
		return
	}
}

// holds reports whether the condition of a rule holds for a date in its own zone.
func (r *resolver) holds(s shift, t time.Time) bool {
	zoned := r.out.Zone != ""
	switch s.condition {
	case ifZoned:
		return zoned
	case ifUnzoned:
		return !zoned
	case ifFrom, ifNotFrom:
		_, source := t.Zone()
		_, from := t.In(s.from.in(r.Now.Location())).Zone()
		return (zoned && source == from) == (s.condition == ifFrom)
	}
	return true
}
