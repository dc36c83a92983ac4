// Package hostqueue decides which host of a batch is asked next, and for which of its items.
//
//	q := hostqueue.New[*item](most, slots.PaceOf)
//	for _, h := range q.Add("a.example", 1, it) { // each start is one worker
//		go work(h)                                // calls q.Next(h) until there is no item
//	}
//
// It knows no clock, no network and no goroutine: who calls it starts the workers.
package hostqueue

import "hce/dc/internal/frontier/slots"

// Queues are items that wait for their request, by host. A host is active while it has items: its items are
// requested one after the other, or as many at once as its limit allows. A bounded number of hosts is active; of the
// others, quick ones follow first, then new ones, each in order of arrival. Goroutines may not share them.
type Queues[T any] struct {
	most    int // active hosts; of them at most three quarters are slow
	paceOf  func(host string) slots.Pace
	byName  map[string]*Host[T]
	active  int
	slow    int // of them
	waiting [slots.PaceSlow + 1][]*Host[T]
}

// Host has the items of one host, in order.
type Host[T any] struct {
	Name    string
	items   []T
	workers int // that request its items; 0: the host waits
	limit   int // maximum of workers
	pace    slots.Pace
}

// New returns queues of which at most most hosts are active. paceOf says what is known of a host when it gets its
// first item.
func New[T any](most int, paceOf func(host string) slots.Pace) *Queues[T] {
	return &Queues[T]{most: most, paceOf: paceOf, byName: map[string]*Host[T]{}}
}

// Add appends an item to the queue of its host, which may have limit workers; the highest limit of its items counts.
// It returns the hosts that get a worker, one entry for each worker.
func (q *Queues[T]) Add(name string, limit int, one T) (starts []*Host[T]) {
	h := q.byName[name]
	if h == nil {
		h = &Host[T]{Name: name, pace: q.paceOf(name)}
		q.byName[name] = h
		q.waiting[h.pace] = append(q.waiting[h.pace], h)
	}
	h.items = append(h.items, one)
	h.limit = max(h.limit, limit)
	if h.workers > 0 {
		starts = h.addWorkers(starts)
	}
	return q.activateHosts(starts)
}

// Next returns the next item of a host to one of its workers. ok is false without one: the worker ends. Then other
// hosts may get workers.
func (q *Queues[T]) Next(h *Host[T]) (one T, ok bool, starts []*Host[T]) {
	var none T
	if len(h.items) > 0 {
		one, h.items[0] = h.items[0], none
		h.items = h.items[1:]
		return one, true, nil
	}
	h.workers--
	if h.workers > 0 {
		return none, false, nil
	}
	delete(q.byName, h.Name)
	q.active--
	if h.pace == slots.PaceSlow {
		q.slow--
	}
	return none, false, q.activateHosts(nil)
}

// RemoveItems removes the waiting items of a host and returns them.
func (q *Queues[T]) RemoveItems(name string) (items []T) {
	if h := q.byName[name]; h != nil {
		items, h.items = h.items, nil
	}
	return items
}

// CountHosts returns the number of hosts with items.
func (q *Queues[T]) CountHosts() int { return len(q.byName) }

// activateHosts makes waiting hosts active while there is room.
func (q *Queues[T]) activateHosts(starts []*Host[T]) []*Host[T] {
	for kind := range q.waiting {
		for len(q.waiting[kind]) > 0 && q.active < q.most && (slots.Pace(kind) != slots.PaceSlow || q.slow < q.most*3/4) {
			h := q.waiting[kind][0]
			q.waiting[kind] = q.waiting[kind][1:]
			q.active++
			if h.pace == slots.PaceSlow {
				q.slow++
			}
			starts = h.addWorkers(starts)
		}
	}
	return starts
}

// addWorkers counts the workers that the items of a host need.
func (h *Host[T]) addWorkers(starts []*Host[T]) []*Host[T] {
	for range min(h.limit-h.workers, len(h.items)) {
		h.workers++
		starts = append(starts, h)
	}
	return starts
}
