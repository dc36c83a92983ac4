package bus

import (
	"sync"
	"time"
)

// complaintGap is the least time between two log lines about one kind of refusal.
const complaintGap = 10 * time.Second

// throttle lets one complaint of a kind pass per complaintGap and counts the
// others: what peers bring about must not fill a disk. Several goroutines may
// share it.
type throttle struct {
	mu    sync.Mutex
	kinds map[string]*complaints
}

type complaints struct {
	last   time.Time
	silent int
}

// allow reports whether a complaint of that kind may be logged at now, and how
// many were held back since the last one. Kinds are few, and never a peer's words.
func (t *throttle) allow(kind string, now time.Time) (heldBack int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kinds == nil {
		t.kinds = map[string]*complaints{}
	}
	c := t.kinds[kind]
	if c == nil {
		c = &complaints{}
		t.kinds[kind] = c
	}
	if !c.last.IsZero() && now.Sub(c.last) < complaintGap {
		c.silent++
		return 0, false
	}
	heldBack, c.silent, c.last = c.silent, 0, now
	return heldBack, true
}
