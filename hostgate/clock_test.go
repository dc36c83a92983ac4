package hostgate

import (
	"testing"
	"time"
)

// What a process writes is the monotonic clock of the machine to the nanosecond, whatever passed while
// the process set up its clock. Every process reads the same moment back.
func TestClocksAgree(t *testing.T) {
	for range 1000 {
		a, b := newClock(), newClock()
		from := a.mustUptime(t)
		s := a.stampOf(a.currentTime())
		to := a.mustUptime(t)
		if up := time.Duration(s.Up); up < from || up > to {
			t.Fatalf("the stamp says %v, the machine was between %v and %v", up, from, to)
		}
		if again := b.stampOf(b.timeOf(s, a.boot)); again.Up != s.Up {
			t.Fatalf("another process reads %d as %d", s.Up, again.Up)
		}
	}
}

func (c clock) mustUptime(t *testing.T) time.Duration {
	t.Helper()
	up, err := readUptime()
	if err != nil || c.boot == 0 {
		t.Fatalf("this system has no clock that processes share: %v", err)
	}
	return up
}
