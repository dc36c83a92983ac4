// Package slots bounds the requests of a batch that run at the same time. Slow requests have slots of their own.
//
//	s := slots.New(most, mostSlow)
//	slot, err := s.AcquireSlot(ctx, host)
//	slot.EndRequest()  // the answer is there, its memory is still held
//	slot.ReleaseSlot()
package slots

import (
	"context"
	"slices"
	"sync"
	"time"
)

// SlowAfter is the duration from which a request is slow.
const SlowAfter = time.Second

// Pace says what is known about the requests to a host.
type Pace int

// The values of a Pace, in the order in which waiting requests may start.
const (
	PaceQuick Pace = iota // the last one was quick
	PaceNew               // none has ended yet
	PaceSlow              // the last one was slow, or is already
)

// Slots bound the requests that run at the same time. Slow requests have slots of their own,
// because they cost little but last long: a request that turns slow moves there. Hosts that were
// not asked before get at most three quarters of the others. So hosts that are known to be quick
// always find a slot soon, however many slow ones there are. It is safe for concurrent use.
type Slots struct {
	most, mostNew, mostSlow int

	mu      sync.Mutex
	running [PaceSlow + 1]int   // requests, by kind
	waiting [PaceSlow + 1]queue // in order of arrival, by kind
	overdue queue               // slow requests that wait for a slow slot
	paces   map[string]time.Duration
	// Turned, if not nil, is called when a request to a host that was not known as slow turns slow.
	// It must not wait, nor use the slots.
	Turned func(host string)
}

type queue []*Slot

// Slot is the right to one request.
type Slot struct {
	of      *Slots
	host    string
	kind    Pace
	ready   chan struct{}
	begin   time.Time
	took    time.Duration // 0: the request goes on
	timer   *time.Timer
	running bool
}

// MostPaces bounds the hosts whose pace is remembered. Beyond it all are new again.
const MostPaces = 1 << 16

// New returns slots for most requests and mostSlow slow ones in addition.
func New(most, mostSlow int) *Slots {
	most = max(most, 1)
	return &Slots{most: most, mostNew: max(most*3/4, 1), mostSlow: max(mostSlow, 0), paces: map[string]time.Duration{}}
}

// PaceOf returns what is known about a host.
func (s *Slots) PaceOf(host string) Pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knownPace(host)
}

func (s *Slots) knownPace(host string) Pace {
	switch took, known := s.paces[host]; {
	case !known:
		return PaceNew
	case took < SlowAfter:
		return PaceQuick
	case s.mostSlow == 0:
		return PaceNew // no slots of their own
	}
	return PaceSlow
}

// AcquireSlot waits for a slot for a request to host. The error is ctx's.
func (s *Slots) AcquireSlot(ctx context.Context, host string) (*Slot, error) {
	s.mu.Lock()
	t := &Slot{of: s, host: host, kind: s.knownPace(host)}
	if s.hasFree(t.kind) {
		s.grantSlot(t)
		s.mu.Unlock()
		return t, nil
	}
	t.ready = make(chan struct{})
	s.waiting[t.kind] = append(s.waiting[t.kind], t)
	s.mu.Unlock()
	select {
	case <-t.ready:
		return t, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.running {
		return t, nil // granted in the meantime
	}
	s.waiting[t.kind].remove(t)
	return nil, ctx.Err()
}

// hasFree reports whether a request of a kind may start.
func (s *Slots) hasFree(kind Pace) bool {
	quick, fresh := s.running[PaceQuick], s.running[PaceNew]
	switch kind {
	case PaceSlow:
		return s.running[PaceSlow] < s.mostSlow
	case PaceNew:
		return quick+fresh < s.most && fresh < s.mostNew
	}
	return quick+fresh < s.most
}

// grantSlot grants a slot. mu must be held.
func (s *Slots) grantSlot(t *Slot) {
	t.running, t.begin = true, time.Now()
	s.running[t.kind]++
	if t.kind != PaceSlow {
		t.timer = time.AfterFunc(SlowAfter, t.turnSlow)
	}
	if t.ready != nil {
		close(t.ready)
	}
}

// startWaiting starts what may start: first quick hosts, then new ones. mu must be held.
func (s *Slots) startWaiting() {
	for len(s.overdue) > 0 && s.hasFree(PaceSlow) {
		s.moveToSlow(s.overdue.pop())
	}
	for kind := range s.waiting {
		for len(s.waiting[kind]) > 0 && s.hasFree(Pace(kind)) {
			s.grantSlot(s.waiting[kind].pop())
		}
	}
}

// moveToSlow makes a running request slow. mu must be held.
func (s *Slots) moveToSlow(t *Slot) {
	s.running[t.kind]--
	t.kind = PaceSlow
	s.running[PaceSlow]++
}

// turnSlow moves a request to the slow ones, when one of their slots is free.
func (t *Slot) turnSlow() {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.running || t.took > 0 {
		return
	}
	if s.knownPace(t.host) != PaceSlow {
		s.rememberTime(t.host, SlowAfter)
		if s.Turned != nil {
			s.Turned(t.host)
		}
	}
	s.overdue = append(s.overdue, t)
	s.startWaiting()
}

// rememberTime remembers how long a request took. mu must be held.
func (s *Slots) rememberTime(host string, took time.Duration) {
	if len(s.paces) >= MostPaces {
		clear(s.paces)
	}
	s.paces[host] = took
}

// EndRequest ends the request, but not the slot. t may be nil.
func (t *Slot) EndRequest() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.noteEnd()
}

// noteEnd notes how long the request took. mu must be held.
func (t *Slot) noteEnd() {
	if t.took > 0 {
		return
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.took = max(time.Since(t.begin), 1)
	t.of.overdue.remove(t)
	t.of.rememberTime(t.host, t.took)
}

// ReleaseSlot gives the slot back. t may be nil.
func (t *Slot) ReleaseSlot() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.noteEnd()
	t.running = false
	t.of.running[t.kind]--
	t.of.startWaiting()
}

// LastTime returns how long the last request to a host took, or 0 without one.
func (s *Slots) LastTime(host string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paces[host]
}

// HasSlow reports whether slow requests run.
func (s *Slots) HasSlow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[PaceSlow]+len(s.overdue) > 0
}

func (q *queue) pop() *Slot {
	t := (*q)[0]
	*q = (*q)[1:]
	return t
}

func (q *queue) remove(t *Slot) {
	if i := slices.Index(*q, t); i >= 0 {
		*q = slices.Delete(*q, i, i+1)
	}
}
