package executor

import (
	"cmp"
	"slices"
)

// lane is the queue and the slots of one type of task. Local.mu guards it.
type lane struct {
	limit int       // slots
	busy  int       // slots taken
	queue []*waiter // oldest first
}

// waiter is an entry in a lane's queue. Its functions run with Local.mu held and must not block.
type waiter struct {
	age   uint64      // smaller is older
	look  func() bool // reports whether it may start; if not, it has left the lane; nil: always
	begin func()      // runs after the slot was taken
}

// addWaiter puts w into the queue.
func (l *lane) addWaiter(w *waiter) {
	place, _ := slices.BinarySearchFunc(l.queue, w.age, func(other *waiter, age uint64) int { return cmp.Compare(other.age, age) })
	l.queue = slices.Insert(l.queue, place, w)
}

// removeWaiter removes w from the queue; it returns false if w is not in it.
func (l *lane) removeWaiter(w *waiter) bool {
	place := slices.Index(l.queue, w)
	if place < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, place, place+1)
	return true
}

// startWaiters starts waiters while slots are free, the oldest first. A waiter that may not start yields
// to the next one.
func (l *lane) startWaiters() {
	for l.busy < l.limit && len(l.queue) > 0 {
		w := l.queue[0]
		l.removeWaiter(w)
		if w.look != nil && !w.look() {
			continue
		}
		l.busy++
		w.begin()
	}
}
