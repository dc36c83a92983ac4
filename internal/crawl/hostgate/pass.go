package hostgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Pass is the right to send one request to one host. It must be released, from
// any goroutine; until then others wait.
type Pass struct {
	gates *Gates
	gate  *gate
	state politeness.State // as stored at the beginning
	alone bool
	slot  int // of a shared Pass

	once sync.Once
	err  error
}

// Began returns when the right began, the start of the request for the gap of
// others.
func (p *Pass) Began() time.Time { return p.state.Start }

// Release gives the right back once the answer has been read or given up. The
// delay is the gap that the next request must leave, whoever sends it: the
// delay asked for, or a longer one that robots.txt has named meanwhile.
// An error means that the end could not be written; the host is free
// nevertheless, and the next request comes after a gap from now at least.
// Further calls do nothing and return the same error.
func (p *Pass) Release(delay time.Duration) error {
	p.once.Do(func() {
		if p.alone {
			p.err = p.leaveAlone(delay)
		} else {
			p.err = p.leaveShared(delay)
		}
		select {
		case p.gate.freed <- struct{}{}:
		default: // the news is there already
		}
		p.err = errors.Join(p.err, p.gates.leave(p.gate))
		if p.err != nil {
			p.err = fmt.Errorf("hostgate.Release: host %q: %w", p.gate.host, p.err)
		}
	})
	return p.err
}

// leaveAlone ends an alone Pass. Nobody else may have touched the record.
func (p *Pass) leaveAlone(delay time.Duration) error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	err := writeRecord(g.file, p.state.Finish(time.Now(), delay))
	unlock(g.file, door)
	g.active, g.alone = 0, false
	return err
}

// leaveShared ends a shared Pass, the door with the last one of this process.
func (p *Pass) leaveShared(delay time.Duration) error {
	g := p.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	err := g.finishShared(delay)
	unlock(g.file, slots+int64(p.slot))
	g.active--
	g.taken &^= 1 << p.slot
	if g.active == 0 {
		unlock(g.file, door)
	}
	return err
}

// finishShared stores the end of one of several requests. The host stays marked
// in flight unless this one is known to be the last; two processes that leave at
// the same moment may leave the mark, which costs an alone Pass a gap. g.mu is
// held.
func (g *gate) finishShared(delay time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), paceLimit)
	defer cancel()
	if err := lock(ctx, g.file, pace, exclusive); err != nil {
		return err
	}
	defer unlock(g.file, pace)
	state, _, err := readRecord(g.file)
	if err != nil {
		return err
	}
	last := false
	if g.active == 1 {
		if last, err = tryLock(g.file, door, exclusive); err != nil {
			return err
		}
	}
	state = state.Finish(time.Now(), delay)
	state.InFlight = !last
	return writeRecord(g.file, state)
}
