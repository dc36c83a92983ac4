package dates

import "time"

// Precision says how much of a date its source states.
type Precision uint8

// Precisions, from nothing to a moment of the world.
const (
	None    Precision = iota
	Month             // 2024-05
	Day               // 2024-05-06
	Clock             // 2024-05-06T07:08:09, on the clock of the page: no zone is known
	Instant           // 2024-05-06T07:08:09+09:00
)

// maxOffset is how far the clock of a place may be ahead of UTC.
const maxOffset = 14 * time.Hour

// Value is a date as its source states it: a time of day or a zone that the source does not state
// is not invented. The zero Value is no date. Values are comparable and may be shared.
type Value struct {
	wall      time.Time // the clock of the page, in time.UTC and whole seconds
	offset    int32     // of an Instant: seconds east of UTC
	precision Precision
}

// MonthOf returns a month. The day of t does not count.
func MonthOf(t time.Time) Value {
	return Value{wall: time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC), precision: Month}
}

// DayOf returns the day of t in its own zone, without the time.
func DayOf(t time.Time) Value {
	return Value{wall: time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC), precision: Day}
}

// ClockOf returns the clock of t in its own zone, without the zone.
func ClockOf(t time.Time) Value { return Value{wall: wallOf(t), precision: Clock} }

// InstantOf returns a moment with the offset that t has.
func InstantOf(t time.Time) Value {
	_, offset := t.Zone()
	return Value{wall: wallOf(t), offset: int32(offset), precision: Instant}
}

func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// Stored returns the date of the tags pubdate and pubdate_tz, such as "2024-07-01 23:30:00" and "+0900".
// Without a zone, midnight means that the page states no time: Stored returns a Day. It returns the
// zero Value if clock is not a date.
func Stored(clock, zone string) Value {
	t, err := time.Parse(time.DateTime, clock)
	switch {
	case err != nil:
		return Value{}
	case zone == "" && t.Equal(t.Truncate(24*time.Hour)):
		return DayOf(t)
	}
	return ClockOf(t).WithZone(zone)
}

// WithZone returns the moment at which a clock of the zone shows v. v is returned unchanged if it has a
// zone, if it is no date, and if Zone does not know zone.
func (v Value) WithZone(zone string) Value {
	if offset, ok := Zone(zone); ok && v.precision != None && v.precision != Instant {
		v.offset, v.precision = int32(offset/time.Second), Instant
	}
	return v
}

// Precision returns how much the source states.
func (v Value) Precision() Precision { return v.precision }

// IsZero reports whether v is no date.
func (v Value) IsZero() bool { return v.precision == None }

// Wall returns the clock of the page in time.UTC. What the source does not state is its first moment:
// the first day of a month, midnight of a day.
func (v Value) Wall() time.Time { return v.wall }

// UTC returns the moment of an Instant in time.UTC. Other values count as if UTC were their zone.
func (v Value) UTC() time.Time { return v.wall.Add(-time.Duration(v.offset) * time.Second) }

// Zone returns the offset of an Instant, such as "+0900", else "".
func (v Value) Zone() string {
	if v.precision != Instant {
		return ""
	}
	return v.UTC().In(time.FixedZone("", int(v.offset))).Format("-0700")
}

// After reports whether v is later than now wherever on Earth it was written.
func (v Value) After(now time.Time) bool {
	if v.precision == Instant {
		return v.UTC().After(now)
	}
	return v.wall.After(now.Add(maxOffset))
}

// layouts are the text forms of ISO 8601 by precision.
var layouts = [...]string{Month: "2006-01", Day: time.DateOnly, Clock: "2006-01-02T15:04:05", Instant: time.RFC3339}

// String returns the ISO 8601 form of what is stated: "2024-05", "2024-05-06", "2024-05-06T07:08:09",
// "2024-05-06T07:08:09+09:00", "2024-05-06T07:08:09Z"; "" for the zero Value.
func (v Value) String() string {
	if v.precision == None {
		return ""
	}
	at := v.wall
	if v.precision == Instant && v.offset != 0 {
		at = v.UTC().In(time.FixedZone("", int(v.offset)))
	}
	return at.Format(layouts[v.precision])
}

// MarshalText returns the form of String.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }
