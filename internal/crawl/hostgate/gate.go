package hostgate

import (
	"container/list"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Bytes of a gate file that are locked. They need not exist in the file.
const (
	turnstile = 0 // held on the way in, so that a holder cannot push in again
	door      = 1 // exclusive for an alone Pass, shared by all others
	pace      = 2 // held for a moment to change the record under a shared door
	slots     = 8 // the first of MaxConcurrency bytes, one per shared Pass
)

// Pauses between two looks at a lock that another process holds.
const (
	minPoll = 200 * time.Microsecond
	maxPoll = 20 * time.Millisecond
)

// paceLimit bounds the wait for the pace byte on release. Its holders need
// microseconds; only a stopped process can keep it longer.
const paceLimit = time.Second

// gate is one host in this process. Byte locks belong to the open file, which
// all goroutines here share, so the fields below settle matters among them and
// the byte locks with other processes.
type gate struct {
	host, path string

	users int           // guarded by Gates.mu
	place *list.Element // in Gates.idle; guarded by Gates.mu

	// turn holds one token while a goroutine is on its way in. Goroutines blocked
	// on a channel are served in order of arrival, which makes the queue fair.
	turn  chan struct{}
	freed chan struct{} // a Pass of this process was released; for the turn's owner

	mu     sync.Mutex
	file   *os.File // nil until first needed
	active int      // passes held in this process
	alone  bool     // the only one of them is alone
	taken  uint64   // slots of shared passes, one bit each
}

func newGate(host, path string) *gate {
	return &gate{
		host: host, path: path,
		turn:  make(chan struct{}, 1),
		freed: make(chan struct{}, 1),
	}
}

// acquire waits for this goroutine's turn, for the locks, and for the gap.
func (g *gate) acquire(ctx context.Context, delay time.Duration, n int) (*Pass, error) {
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-g.turn }()
	if err := g.waitLocal(ctx, n); err != nil {
		return nil, err
	}
	if err := g.lockTurnstile(ctx); err != nil {
		return nil, err
	}
	defer unlock(g.file, turnstile)
	if n == 1 {
		return g.enterAlone(ctx, delay)
	}
	return g.enterShared(ctx, delay, n)
}

// waitLocal waits until the passes of this process leave room for one more. Only
// the owner of the turn adds passes, so the room stays.
func (g *gate) waitLocal(ctx context.Context, n int) error {
	for {
		g.mu.Lock()
		room := g.active == 0 || (!g.alone && g.active < n)
		g.mu.Unlock()
		if room {
			return nil
		}
		select {
		case <-g.freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lockTurnstile opens the file if needed and locks its turnstile. A file that a
// sweep removed meanwhile is left for a new one; no Pass is then held on it.
func (g *gate) lockTurnstile(ctx context.Context) error {
	for {
		if g.file == nil {
			f, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE, 0o640)
			if err != nil {
				return err
			}
			g.file = f
		}
		if err := lock(ctx, g.file, turnstile, exclusive); err != nil {
			return err
		}
		removed, err := unlinked(g.file)
		if err == nil && !removed {
			return nil
		}
		unlock(g.file, turnstile)
		if err != nil {
			return err
		}
		g.file.Close()
		g.file = nil
	}
}

// enterAlone takes the door for one Pass and waits out the gap behind it.
func (g *gate) enterAlone(ctx context.Context, delay time.Duration) (*Pass, error) {
	if err := lock(ctx, g.file, door, exclusive); err != nil {
		return nil, err
	}
	state, err := g.begin(ctx, delay, exclusive)
	if err != nil {
		unlock(g.file, door)
		return nil, err
	}
	g.mu.Lock()
	g.active, g.alone = 1, true
	g.mu.Unlock()
	return &Pass{gate: g, state: state, alone: true}, nil
}

// enterShared takes one of n slots behind a shared door and waits until the gap
// since the last start is over. The turnstile is held all the while, so starts
// come one by one.
func (g *gate) enterShared(ctx context.Context, delay time.Duration, n int) (*Pass, error) {
	g.mu.Lock()
	first, taken := g.active == 0, g.taken
	g.mu.Unlock()
	if first {
		if err := lock(ctx, g.file, door, shared); err != nil {
			return nil, err
		}
	}
	slot, err := lockSlot(ctx, g.file, taken, n)
	if err == nil {
		var state politeness.State
		state, err = g.begin(ctx, delay, shared)
		if err == nil {
			g.mu.Lock()
			g.active++
			g.taken |= 1 << slot
			g.mu.Unlock()
			return &Pass{gate: g, state: state, slot: slot}, nil
		}
		unlock(g.file, slots+int64(slot))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.active == 0 {
		unlock(g.file, door)
	}
	return nil, err
}

// begin waits until the gap is over and marks the host in flight.
func (g *gate) begin(ctx context.Context, delay time.Duration, m mode) (politeness.State, error) {
	for {
		state, wait, err := g.tryBegin(ctx, delay, m)
		if err != nil || wait == 0 {
			return state, err
		}
		if err := sleep(ctx, wait); err != nil {
			return politeness.State{}, err
		}
	}
}

// tryBegin is one look at the record: it marks the host in flight when the gap
// is over, else returns what is left of it. Behind a shared door others change
// the record too: mu keeps them off within the process, the pace byte between
// processes.
func (g *gate) tryBegin(ctx context.Context, delay time.Duration, m mode) (politeness.State, time.Duration, error) {
	if m == shared {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := lock(ctx, g.file, pace, exclusive); err != nil {
			return politeness.State{}, 0, err
		}
		defer unlock(g.file, pace)
	}
	stored, fresh, err := readRecord(g.file)
	if err != nil {
		return politeness.State{}, 0, err
	}
	now := time.Now()
	state := stored.Settle(now)
	wait := state.Wait(now, delay)
	if m == shared {
		state.InFlight = stored.InFlight // by others, who need not be dead
		wait = state.WaitStart(now, delay)
	}
	if wait > 0 {
		if state != stored {
			// What was settled is kept, or a second look would settle it anew
			// and the gap would never end.
			err = writeRecord(g.file, state)
		}
		return state, wait, err
	}
	state = state.Begin(now, delay)
	if fresh {
		return state, 0, writeNewRecord(g.file, state, g.host)
	}
	return state, 0, writeRecord(g.file, state)
}

// close closes the file. Nobody uses the gate any more.
func (g *gate) close() error {
	if g.file == nil {
		return nil
	}
	err := g.file.Close()
	g.file = nil
	return err
}

// lockSlot locks one of the first n slots that this process has not taken.
func lockSlot(ctx context.Context, f *os.File, taken uint64, n int) (int, error) {
	for pause := minPoll; ; pause = longer(pause) {
		for slot := range n {
			if taken&(1<<slot) != 0 {
				continue
			}
			ok, err := tryLock(f, slots+int64(slot), exclusive)
			if err != nil || ok {
				return slot, err
			}
		}
		if err := sleep(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// lock takes the lock on one byte of f, waiting for other processes. A blocking
// lock call could not be called off, so it looks again and again.
func lock(ctx context.Context, f *os.File, at int64, m mode) error {
	for pause := minPoll; ; pause = longer(pause) {
		ok, err := tryLock(f, at, m)
		if err != nil {
			return fmt.Errorf("lock byte %d of %s: %w", at, f.Name(), err)
		}
		if ok {
			return nil
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// longer returns the pause after pause: half as long again with some chance in
// it, so that processes do not look in step.
func longer(pause time.Duration) time.Duration {
	return min(pause+rand.N(pause), maxPoll)
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
