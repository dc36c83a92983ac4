package executor

import "container/heap"

// lane is the queue and the slots of one type of task. Local.mu guards it.
type lane struct {
	limit int // slots
	busy  int // slots taken
	queue waiters
}

// waiter is an entry in a lane's queue. Its functions run with Local.mu held and must not block.
type waiter struct {
	priority int
	age      uint64      // smaller is older
	look     func() bool // reports whether it may start; if not, it has left the lane
	begin    func()      // runs after the slot was taken
	place    int         // index in the heap, -1 outside
}

// join puts w into the queue.
func (l *lane) join(w *waiter) { heap.Push(&l.queue, w) }

// leave removes w from the queue; it returns false if w is not in it.
func (l *lane) leave(w *waiter) bool {
	if w.place < 0 {
		return false
	}
	heap.Remove(&l.queue, w.place)
	return true
}

// fill starts waiters while slots are free: by priority, then by age. A waiter that may not
// start yields to the next one.
func (l *lane) fill() {
	for l.busy < l.limit && len(l.queue) > 0 {
		w := heap.Pop(&l.queue).(*waiter)
		if !w.look() {
			continue
		}
		l.busy++
		w.begin()
	}
}

// waiters is a heap.Interface; its head starts next.
type waiters []*waiter

func (q waiters) Len() int { return len(q) }

func (q waiters) Less(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].age < q[j].age
}

func (q waiters) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

func (q *waiters) Push(x any) {
	w := x.(*waiter)
	w.place = len(*q)
	*q = append(*q, w)
}

func (q *waiters) Pop() any {
	last := len(*q) - 1
	w := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	w.place = -1
	return w
}
