package executor

import "container/heap"

// lane is the queue and the slots of one type of task. Its owner locks it.
type lane struct {
	limit int // slots
	busy  int // slots taken
	queue waiters
}

// waiter stands in a lane's queue until it is begun or leaves. Its functions are
// called under the owner's lock and must not block.
type waiter struct {
	priority int
	age      uint64      // smaller is older
	look     func() bool // may it begin? nil: yes. If not, it has left the lane
	begin    func()      // called with the slot taken
	place    int         // in the heap, -1 outside
}

// join puts w into the queue.
func (l *lane) join(w *waiter) { heap.Push(&l.queue, w) }

// leave takes w out of the queue; it is false when w has been begun already.
func (l *lane) leave(w *waiter) bool {
	if w.place < 0 {
		return false
	}
	heap.Remove(&l.queue, w.place)
	return true
}

// fill begins waiters while slots are free: by priority, then by age. Who looks
// and may not begin gives way to the next.
func (l *lane) fill() {
	for l.busy < l.limit && len(l.queue) > 0 {
		w := heap.Pop(&l.queue).(*waiter)
		if w.look != nil && !w.look() {
			continue
		}
		l.busy++
		w.begin()
	}
}

// waiters is a heap.Interface with the next one to begin at its head.
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
