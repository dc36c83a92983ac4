package fileserver

import (
	"fmt"
	"sync"
)

// service says whether the server is in service, and counts what it sends.
type service struct {
	maxFlow int64

	mu     sync.Mutex
	isOff  bool
	reason string
	total  int64 // bytes sent
	flow   int64 // bytes sent since on
}

func (s *service) switchOff(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isOff, s.reason = true, reason
}

func (s *service) switchOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isOff, s.reason, s.flow = false, "", 0
}

// countSent counts bytes that left the server. It returns true if they put it out of service.
func (s *service) countSent(n int64) (tripped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total, s.flow = s.total+n, s.flow+n
	if s.maxFlow == 0 || s.flow <= s.maxFlow || s.isOff {
		return false
	}
	s.isOff, s.reason = true, fmt.Sprintf("outgoing flow: %d bytes were sent, the maximum is %d", s.flow, s.maxFlow)
	return true
}

// reasonIfOff returns the reason why the server is out of service.
func (s *service) reasonIfOff() (reason string, off bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason, s.isOff
}

func (s *service) fillStatus(st *Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st.InService, st.Reason, st.Sent, st.Flow = !s.isOff, s.reason, s.total, s.flow
}
