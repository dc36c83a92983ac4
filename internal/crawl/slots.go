package crawl

import (
	"context"
	"slices"
	"sync"
	"time"
)

// slowAfter is the duration from which a request is slow.
const slowAfter = time.Second

// pace says what is known about the requests to a host.
type pace int

const (
	paceQuick pace = iota // the last one was quick
	paceNew               // none has ended yet
	paceSlow              // the last one was slow, or is already
)

// slots bound the requests that run at the same time. Slow requests have slots of their own,
// because they cost little but last long: a request that turns slow moves there. Hosts that were
// not asked before get at most three quarters of the others. So hosts that are known to be quick
// always find a slot soon, however many slow ones there are. It is safe for concurrent use.
type slots struct {
	most, mostNew, mostSlow int

	mu      sync.Mutex
	running [paceSlow + 1]int   // requests, by kind
	waiting [paceSlow + 1]queue // in order of arrival, by kind
	overdue queue               // slow requests that wait for a slow slot
	paces   map[string]time.Duration
	// turned, if not nil, is called when a request to a host that was not known as slow turns slow.
	// It must not wait, nor use the slots.
	turned func(host string)
}

type queue []*slot

// slot is the right to one request.
type slot struct {
	of      *slots
	host    string
	kind    pace
	ready   chan struct{}
	begin   time.Time
	took    time.Duration // 0: the request goes on
	timer   *time.Timer
	running bool
}

// mostPaces bounds the hosts whose pace is remembered. Beyond it all are new again.
const mostPaces = 1 << 16

func newSlots(most, mostSlow int) *slots {
	most = max(most, 1)
	return &slots{most: most, mostNew: max(most*3/4, 1), mostSlow: max(mostSlow, 0), paces: map[string]time.Duration{}}
}

// paceOf returns what is known about a host.
func (s *slots) paceOf(host string) pace {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.knownPace(host)
}

func (s *slots) knownPace(host string) pace {
	switch took, known := s.paces[host]; {
	case !known:
		return paceNew
	case took < slowAfter:
		return paceQuick
	case s.mostSlow == 0:
		return paceNew // no slots of their own
	}
	return paceSlow
}

// acquireSlot waits for a slot for a request to host. The error is ctx's.
func (s *slots) acquireSlot(ctx context.Context, host string) (*slot, error) {
	s.mu.Lock()
	t := &slot{of: s, host: host, kind: s.knownPace(host)}
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
func (s *slots) hasFree(kind pace) bool {
	quick, fresh := s.running[paceQuick], s.running[paceNew]
	switch kind {
	case paceSlow:
		return s.running[paceSlow] < s.mostSlow
	case paceNew:
		return quick+fresh < s.most && fresh < s.mostNew
	}
	return quick+fresh < s.most
}

// grantSlot grants a slot. mu must be held.
func (s *slots) grantSlot(t *slot) {
	t.running, t.begin = true, time.Now()
	s.running[t.kind]++
	if t.kind != paceSlow {
		t.timer = time.AfterFunc(slowAfter, t.turnSlow)
	}
	if t.ready != nil {
		close(t.ready)
	}
}

// startWaiting starts what may start: first quick hosts, then new ones. mu must be held.
func (s *slots) startWaiting() {
	for len(s.overdue) > 0 && s.hasFree(paceSlow) {
		s.moveToSlow(s.overdue.pop())
	}
	for kind := range s.waiting {
		for len(s.waiting[kind]) > 0 && s.hasFree(pace(kind)) {
			s.grantSlot(s.waiting[kind].pop())
		}
	}
}

// moveToSlow makes a running request slow. mu must be held.
func (s *slots) moveToSlow(t *slot) {
	s.running[t.kind]--
	t.kind = paceSlow
	s.running[paceSlow]++
}

// turnSlow moves a request to the slow ones, when one of their slots is free.
func (t *slot) turnSlow() {
	s := t.of
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.running || t.took > 0 {
		return
	}
	if s.knownPace(t.host) != paceSlow {
		s.rememberTime(t.host, slowAfter)
		if s.turned != nil {
			s.turned(t.host)
		}
	}
	s.overdue = append(s.overdue, t)
	s.startWaiting()
}

// rememberTime remembers how long a request took. mu must be held.
func (s *slots) rememberTime(host string, took time.Duration) {
	if len(s.paces) >= mostPaces {
		clear(s.paces)
	}
	s.paces[host] = took
}

// endRequest ends the request, but not the slot. t may be nil.
func (t *slot) endRequest() {
	if t == nil {
		return
	}
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.noteEnd()
}

// noteEnd notes how long the request took. mu must be held.
func (t *slot) noteEnd() {
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

// releaseSlot gives the slot back. t may be nil.
func (t *slot) releaseSlot() {
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

// lastTime returns how long the last request to a host took, or 0 without one.
func (s *slots) lastTime(host string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paces[host]
}

// hasSlow reports whether slow requests run.
func (s *slots) hasSlow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[paceSlow]+len(s.overdue) > 0
}

func (q *queue) pop() *slot {
	t := (*q)[0]
	*q = (*q)[1:]
	return t
}

func (q *queue) remove(t *slot) {
	if i := slices.Index(*q, t); i >= 0 {
		*q = slices.Delete(*q, i, i+1)
	}
}
