package jetstream

import (
	"context"
	"sync"
)

// slots counts the submitted tasks of a node by type, so that it takes only what it can start.
type slots struct {
	limits map[string]int // of the pool; "" for each other type

	mu    sync.Mutex
	busy  map[string]int
	freed chan struct{} // closed at the next release; nil: no caller waits
}

// tryTake takes a slot if one is free.
func (s *slots) tryTake(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, named := s.limits[kind]
	if !named {
		limit = s.limits[""]
	}
	if s.busy[kind] >= limit {
		return false
	}
	if s.busy == nil {
		s.busy = map[string]int{}
	}
	s.busy[kind]++
	return true
}

// awaitSlot waits for a slot until ctx ends.
func (s *slots) awaitSlot(ctx context.Context, kind string) error {
	for {
		s.mu.Lock()
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed := s.freed
		s.mu.Unlock()
		if s.tryTake(kind) {
			return nil
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *slots) releaseSlot(kind string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[kind]--; s.busy[kind] == 0 {
		delete(s.busy, kind)
	}
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}
