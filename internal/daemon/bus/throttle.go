package bus

import (
	"sync"
	"time"
)

// throttleGap is the least time between two log lines of one kind.
const throttleGap = 10 * time.Second

// Throttle limits log lines that peers can cause: one of a kind passes per ten seconds, the
// others are counted. The zero value is ready. It is safe for concurrent use.
type Throttle struct {
	mu    sync.Mutex
	kinds map[string]*throttled
}

type throttled struct {
	last   time.Time
	silent int
}

// Allow reports whether a line of that kind may be logged at now, and how many were
// suppressed since the last one. The set of kinds must be small: never use a peer's text.
func (t *Throttle) Allow(kind string, now time.Time) (suppressed int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]*throttled{}
	}
	c := t.kinds[kind]
	if c == nil {
		c = &throttled{}
		t.kinds[kind] = c
	}
	if !c.last.IsZero() && now.Sub(c.last) < throttleGap {
		c.silent++
		return 0, false
	}
	suppressed, c.silent, c.last = c.silent, 0, now
	return suppressed, true
}
