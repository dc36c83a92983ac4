package hostgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Pass permits one request to one host. It must be released, by any goroutine; other
// callers wait until then.
type Pass struct {
	gates     *Gates
	gate      *gate
	state     politeness.State // as stored at the start; zero: see lease
	delay     time.Duration    // that it began with
	exclusive bool
	slot      int // of a shared Pass

	busy, answered bool // see Busy, Answered
	pause          time.Duration

	once sync.Once
	err  error
}

// Troubles returns how many answers of the host in a row asked to come back later when the Pass began.
func (p *Pass) Troubles() int { return int(p.state.Troubles) }

// Busy records, at the Release, that the answer asks to come back later: no request of any process
// begins before pause is over, from the Release on; 0: only the usual gap. The last call of Busy or
// Answered counts.
func (p *Pass) Busy(pause time.Duration) { p.busy, p.answered, p.pause = true, false, pause }

// Answered records, at the Release, that the host gave another answer: its troubles end.
func (p *Pass) Answered() { p.busy, p.answered = false, true }

// settleState is state with the answer of the request. p may be nil.
func (p *Pass) settleState(state politeness.State, now time.Time) politeness.State {
	switch {
	case p == nil:
	case p.busy:
		return state.Busy(now, p.pause, p.state)
	case p.answered:
		return state.Answered(p.state)
	}
	return state
}

// Release ends the Pass. Call it when the response was read or abandoned. delay is the gap
// before the next request of any caller: the configured delay, or a longer one that
// robots.txt has named. An error means that the end could not be stored. The host is free
// even then, and the next request waits at least one gap from now. Further calls do nothing
// and return the same error.
func (p *Pass) Release(delay time.Duration) error {
	p.once.Do(func() {
		p.err = p.endPass(delay)
		select {
		case p.gate.freed <- struct{}{}:
		default: // the channel already holds a token
		}
		p.err = errors.Join(p.err, p.gates.leaveGate(p.gate))
		if p.err != nil {
			p.err = fmt.Errorf("release gate of host %q: %w", p.gate.host, p.err)
		}
	})
	return p.err
}

// endPass stores the end of the Pass, or keeps the locks for the next one of a host without a delay.
// The last Pass of this process unlocks the door.
func (p *Pass) endPass(delay time.Duration) (err error) {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.currentTime()
	if g.keepLease(p, now, delay) {
		return nil
	}
	err = g.endLease() // of other passes
	err = errors.Join(err, g.storeEnd(p.exclusive, now, delay, p))
	if p.exclusive {
		g.exclusive = false
	} else {
		unlockByte(g.file, slots+int64(p.slot))
		g.taken &^= 1 << p.slot
		g.kept &^= 1 << p.slot
	}
	g.active--
	if g.active == 0 {
		g.lease.ending = false
		unlockByte(g.file, door)
	}
	return err
}

// storeEnd stores the end of a request, that of p unless it is nil. While the door is exclusive, no other process changes the record.
// Behind a shared one the host stays marked as in flight unless this request is known to be the
// last. Two processes that leave at the same moment may leave the mark, which costs an exclusive
// Pass one gap. g.mu must be held.
func (g *gate) storeEnd(alone bool, end time.Time, delay time.Duration, p *Pass) error {
	last := alone
	if !alone {
		ctx, cancel := context.WithTimeout(context.Background(), paceLimit)
		defer cancel()
		if err := lockByte(ctx, g.file, pace, exclusive); err != nil {
			return err
		}
		defer unlockByte(g.file, pace)
	}
	state, _, err := g.clock.readState(g.file)
	if err != nil {
		return err
	}
	if !alone && g.active <= 1 {
		if last, err = tryLock(g.file, door, exclusive); err != nil {
			return err
		}
	}
	state.Start = laterTime(state.Start, g.lease.start) // requests of a lease are not in the record
	state = p.settleState(state.Finish(end, delay), end)
	state.InFlight = !last
	return g.clock.writeState(g.file, state)
}
