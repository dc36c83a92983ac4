package manager

import "time"

// complaintGap is the least time between two log lines about what peers do.
const complaintGap = 10 * time.Second

// throttle lets one complaint pass per complaintGap and counts the others.
type throttle struct {
	last   time.Time
	silent int
}

// allow reports whether a complaint may be logged at now, and how many were
// held back since the last one.
func (t *throttle) allow(now time.Time) (heldBack int, ok bool) {
	if !t.last.IsZero() && now.Sub(t.last) < complaintGap {
		t.silent++
		return 0, false
	}
	heldBack, t.silent, t.last = t.silent, 0, now
	return heldBack, true
}
