package fetch

import (
	"context"
	"time"
)

// Memory grants the bytes of bodies, so that many bodies together stay within a limit. A
// Memory serves one request at a time.
type Memory interface {
	// Grow is called before the body takes size bytes in total; it will not take more than
	// most. It may block until memory is free. Its error ends the fetch with a Refused
	// fault.
	Grow(ctx context.Context, size, most int64) error
	// Keep reports the size of the complete body. The caller gives those bytes back later.
	Keep(size int64)
}

// meter requests memory for one body. The clock of the request is stopped while it waits,
// since the server is not responsible for that time. Without Memory it grants everything.
type meter struct {
	memory  Memory
	ctx     context.Context
	clock   *clock
	limit   int64       // of the body
	extra   int64       // memory of the decoders
	refused error       // of Memory
	rate    *rateReader // nil: any rate will do
}

// growBody requests size bytes for a body of at most most bytes.
func (m *meter) growBody(size, most int64) error {
	if m.memory == nil {
		return nil
	}
	m.clock.stopClock()
	if m.rate != nil {
		m.rate.pauseReading()
	}
	m.refused = m.memory.Grow(m.ctx, size+m.extra, most+m.extra)
	m.clock.restartClock()
	return m.refused
}

// growDecoder requests size bytes for a decoder.
func (m *meter) growDecoder(size int64) error {
	if size == 0 {
		return nil
	}
	m.extra += size
	return m.growBody(scratchSize, m.limit+1)
}

// keepBody reports that the body takes size bytes and its decoders are released.
func (m *meter) keepBody(size int64) {
	if m.memory != nil {
		m.memory.Keep(size)
	}
}

// clock is the timeout of a hop. It can be stopped and started.
type clock struct {
	left    time.Duration
	started time.Time
	waited  time.Duration // sum of all stops
	stopped time.Time
	timer   *time.Timer
}

// newClock starts a clock that calls end after left.
func newClock(left time.Duration, end func()) *clock {
	return &clock{left: left, started: time.Now(), timer: time.AfterFunc(left, end)}
}

func (c *clock) stopClock() {
	c.stopped = time.Now()
	if !c.timer.Stop() {
		c.stopped = time.Time{} // it has fired
	}
}

func (c *clock) restartClock() {
	if c.stopped.IsZero() {
		return
	}
	now := time.Now()
	c.waited += now.Sub(c.stopped)
	c.timer.Reset(max(c.left-(now.Sub(c.started)-c.waited), 0))
}
