package simulation

import (
	"sync/atomic"
	"time"
)

// midnight is the start of the simulation, UTC. It is a Monday.
var midnight = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// clock is a clock that only the test changes. It is safe for concurrent use.
type clock struct{ seconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.set(midnight)
	return c
}

func (c *clock) now() time.Time  { return time.Unix(c.seconds.Load(), 0).UTC() }
func (c *clock) set(t time.Time) { c.seconds.Store(t.Unix()) }

// minute returns the time since the start in minutes, the unit of the model.
func minute(t time.Time) int { return int(t.Sub(midnight) / time.Minute) }

// at returns the time of a minute.
func at(minute int) time.Time { return midnight.Add(time.Duration(minute) * time.Minute) }
