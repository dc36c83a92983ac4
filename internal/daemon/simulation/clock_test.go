package simulation

import (
	"sync/atomic"
	"time"
)

// midnight is when the simulation begins, UTC: a Monday, so that a week is a week.
var midnight = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// clock stands still until the test sets it. Goroutines may share it.
type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.set(midnight)
	return c
}

func (c *clock) now() time.Time  { return time.Unix(c.seconds.Load(), 0).UTC() }
func (c *clock) set(t time.Time) { c.seconds.Store(t.Unix()) }

// minute is the time since the simulation began, the unit of the model.
func minute(t time.Time) int { return int(t.Sub(midnight) / time.Minute) }

// at is the time of a minute.
func at(minute int) time.Time { return midnight.Add(time.Duration(minute) * time.Minute) }
