package fetch

import (
	"context"
	"time"
)

// Memory is asked for the bytes that a body takes, so that many bodies together
// stay within bounds. One request uses it at a time.
type Memory interface {
	// Grow is asked before the body takes size bytes in all, of which there will
	// be most in the end, or less. It may wait until they are there, or return an
	// error, which ends the fetch with a Refused fault.
	Grow(ctx context.Context, size, most int64) error
	// Keep is told how many bytes the body takes now that it is read. They are
	// the caller's to give back.
	Keep(size int64)
}

// meter asks the Memory of a request on behalf of one body. The clock of the
// request stands while it waits: a server shall not pay for memory that others
// take. A nil meter, and one of no Memory, grants everything.
type meter struct {
	memory  Memory
	ctx     context.Context
	clock   *clock
	limit   int64 // of the body
	extra   int64 // beside the body: what its decoders take
	refused error
}

// grow asks for size bytes of a body of most bytes at the end.
func (m *meter) grow(size, most int64) error {
	if m == nil || m.memory == nil {
		return nil
	}
	m.clock.stop()
	m.refused = m.memory.Grow(m.ctx, size+m.extra, most+m.extra)
	m.clock.start()
	return m.refused
}

// window asks for size bytes that a decoder keeps beside the body.
func (m *meter) window(size int64) error {
	if m == nil || size == 0 {
		return nil
	}
	m.extra += size
	return m.grow(scratchSize, m.limit+1)
}

// keep tells that the body takes size bytes, and its decoders nothing any more.
func (m *meter) keep(size int64) {
	if m != nil && m.memory != nil {
		m.memory.Keep(size)
	}
}

// err is the refusal that ended the body, nil for none.
func (m *meter) err() error {
	if m == nil {
		return nil
	}
	return m.refused
}

// clock ends a hop when its time is over. It can be stopped for a while.
type clock struct {
	left    time.Duration
	started time.Time
	waited  time.Duration // how long it stood
	stopped time.Time
	timer   *time.Timer
}

// newClock starts a clock that calls end after left.
func newClock(left time.Duration, end func()) *clock {
	return &clock{left: left, started: time.Now(), timer: time.AfterFunc(left, end)}
}

func (c *clock) stop() {
	c.stopped = time.Now()
	if !c.timer.Stop() {
		c.stopped = time.Time{} // it has rung
	}
}

func (c *clock) start() {
	if c.stopped.IsZero() {
		return
	}
	now := time.Now()
	c.waited += now.Sub(c.stopped)
	c.timer.Reset(max(c.left-(now.Sub(c.started)-c.waited), 0))
}
