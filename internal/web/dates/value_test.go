package dates

import (
	"testing"
	"time"
)

func TestValue(t *testing.T) {
	tokyo := time.FixedZone("", 9*3600)
	at := time.Date(2024, 7, 1, 23, 30, 0, 5, tokyo)
	for _, tt := range []struct {
		name            string
		value           Value
		text, zone, utc string
	}{
		{"nothing", Value{}, "", "", "0001-01-01T00:00:00Z"},
		{"a month", MonthOf(at), "2024-07", "", "2024-07-01T00:00:00Z"},
		{"a day of Tokyo", DayOf(at), "2024-07-01", "", "2024-07-01T00:00:00Z"},
		{"a clock without a zone", ClockOf(at), "2024-07-01T23:30:00", "", "2024-07-01T23:30:00Z"},
		{"an instant of Tokyo", InstantOf(at), "2024-07-01T23:30:00+09:00", "+0900", "2024-07-01T14:30:00Z"},
		{"an instant in UTC", InstantOf(at.UTC()), "2024-07-01T14:30:00Z", "+0000", "2024-07-01T14:30:00Z"},
		{"half an hour west", InstantOf(at.In(time.FixedZone("", -12600))), "2024-07-01T11:00:00-03:30", "-0330", "2024-07-01T14:30:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.value.String(); got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if got := tt.value.Zone(); got != tt.zone {
				t.Errorf("zone %q, want %q", got, tt.zone)
			}
			if got := tt.value.UTC().Format(time.RFC3339Nano); got != tt.utc {
				t.Errorf("moment %s, want %s", got, tt.utc)
			}
			if tt.value.IsZero() != (tt.text == "") {
				t.Error("IsZero is wrong")
			}
		})
	}
}

func TestStored(t *testing.T) {
	for _, tt := range []struct{ name, clock, zone, want string }{
		{"a zone", "2024-07-01 23:30:00", "+0900", "2024-07-01T23:30:00+09:00"},
		{"midnight with a zone", "2024-07-01 00:00:00", "+0000", "2024-07-01T00:00:00Z"},
		{"no zone", "2024-07-01 23:30:00", "", "2024-07-01T23:30:00"},
		{"midnight without a zone is a day", "2024-07-01 00:00:00", "", "2024-07-01"},
		{"a damaged zone", "2024-07-01 23:30:00", "x", "2024-07-01T23:30:00"},
		{"no date", "", "+0900", ""},
		{"another form", "1 July 2024", "", ""},
	} {
		if got := Stored(tt.clock, tt.zone).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestAfter(t *testing.T) {
	now := time.Date(2024, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name  string
		value Value
		want  bool
	}{
		{"now", InstantOf(now), false},
		{"a second later", InstantOf(now.Add(time.Second)), true},
		{"a clock that is 13 hours ahead: Auckland", ClockOf(now.Add(13 * time.Hour)), false},
		{"a clock that is 15 hours ahead", ClockOf(now.Add(15 * time.Hour)), true},
		{"tomorrow, which has begun in Auckland", DayOf(now.AddDate(0, 0, 1)), false},
		{"the day after tomorrow", DayOf(now.AddDate(0, 0, 2)), true},
		{"this month", MonthOf(now), false},
		{"next month", MonthOf(now.AddDate(0, 1, 0)), true},
	} {
		if got := tt.value.After(now); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
