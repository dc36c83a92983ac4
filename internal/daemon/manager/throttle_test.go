package manager

import (
	"testing"
	"time"
)

func TestThrottle(t *testing.T) {
	var c throttle
	at := time.Unix(1000, 0)
	steps := []struct {
		after    time.Duration
		heldBack int
		ok       bool
	}{
		{0, 0, true}, {0, 0, false}, {time.Second, 0, false}, {complaintGap - time.Nanosecond, 0, false},
		{complaintGap, 3, true}, {complaintGap, 0, false}, {2 * complaintGap, 1, true},
	}
	for i, s := range steps {
		if heldBack, ok := c.allow(at.Add(s.after)); heldBack != s.heldBack || ok != s.ok {
			t.Errorf("step %d: %d, %t", i, heldBack, ok)
		}
	}
}
