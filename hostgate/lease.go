package hostgate

import (
	"time"
)

// leaseTime is how long a lease lasts without a request, and how often a process in continuous
// use of a lease looks for others that wait.
const leaseTime = maxPoll

// leaseAfter is the number of passes, each less than leaseTime after the one before, after which a
// lease begins.
const leaseAfter = 4

// lease keeps the locks of a host without a delay between two passes, so that a request costs no
// system call: the record is written when the lease begins and ends. It ends when the host asks
// for a pause, when another process waits, or after leaseTime without a request. gate.mu guards
// it.
type lease struct {
	streak  int // passes without a pause between them
	held    bool
	alone   bool // the door is exclusive
	ending  bool // it ended while passes were held; they do not begin another
	checked time.Time
	start   time.Time // start of the last request
	end     time.Time // end of the last request
	timer   *time.Timer
}

// reuseLease returns a Pass of the lease, or nil if the caller has to enter. The caller has the turn
// and there is room for its Pass.
func (g *gate) reuseLease(delay time.Duration, n int) (*Pass, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.lease
	if !l.held {
		return nil, nil
	}
	now := g.clock.currentTime()
	if delay > 0 || l.alone != (n == 1) || now.Sub(l.checked) >= leaseTime && g.isContended(now) {
		return nil, g.endLease()
	}
	slot := 0
	if !l.alone {
		for ; slot < n && (g.kept&^g.taken)&(1<<slot) == 0; slot++ {
		}
		if slot == n {
			return nil, nil // all slots of the lease are in use
		}
		g.taken |= 1 << slot
	}
	g.active++
	g.exclusive, l.start = l.alone, now
	return &Pass{gate: g, exclusive: l.alone, slot: slot}, nil
}

// isContended reports whether another process waits for the host, or has learned of a delay. An
// error counts as such: the caller then enters, and fails if it persists.
func (g *gate) isContended(now time.Time) bool {
	g.lease.checked = now
	ok, err := tryLock(g.file, turnstile, exclusive)
	if err != nil || !ok {
		return true
	}
	unlockByte(g.file, turnstile)
	state, _, err := g.clock.readState(g.file)
	return err != nil || state.Delay > 0 || state.Until.After(now)
}

// keepLease ends a Pass and keeps its locks as a lease, if the host has no delay and is in continuous
// use. It reports whether it did.
func (g *gate) keepLease(p *Pass, now time.Time, delay time.Duration) bool {
	l := &g.lease
	l.start = laterTime(l.start, p.state.Start)
	recorded := delay > 0 || p.busy || p.state.Troubles > 0 // what others have to know
	if l.streak++; now.Sub(l.end) >= leaseTime || recorded || p.delay > 0 || l.ending {
		l.streak = 0
	}
	l.end = now
	switch {
	case recorded || !l.held && l.streak < leaseAfter:
		return false
	case !l.held:
		l.held, l.alone, l.checked = true, p.exclusive, now
	}
	g.active--
	g.exclusive = false
	if !p.exclusive {
		g.taken &^= 1 << p.slot
	}
	if g.active == 0 && l.timer == nil {
		l.timer = time.AfterFunc(leaseTime, g.expireLease)
	}
	return true
}

// expireLease ends an unused lease.
func (g *gate) expireLease() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lease.timer = nil
	if !g.lease.held || g.active > 0 {
		return
	}
	if left := leaseTime - g.clock.currentTime().Sub(g.lease.end); left > 0 {
		g.lease.timer = time.AfterFunc(left, g.expireLease)
		return
	}
	_ = g.endLease() // the mark in flight stays, which costs the next caller a gap
}

// endLease stores the end of the last request and drops the locks that no Pass needs. mu must be
// held.
func (g *gate) endLease() (err error) {
	l := &g.lease
	if !l.held {
		return nil
	}
	for slot := range MaxConcurrency {
		if (g.kept&^g.taken)&(1<<slot) != 0 {
			unlockByte(g.file, slots+int64(slot))
		}
	}
	l.held, l.streak, g.kept = false, 0, g.taken
	if g.active > 0 {
		l.ending = true
		return nil
	}
	err = g.storeEnd(l.alone, l.end, 0, nil)
	unlockByte(g.file, door)
	return err
}

func laterTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
