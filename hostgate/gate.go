package hostgate

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"hce/dc/internal/crawl/politeness"
)

// Locked bytes of a gate file. They need not exist in the file.
const (
	turnstile = 0 // held while a caller waits to enter, so that a holder queues up again
	door      = 1 // exclusive for an exclusive Pass, shared for all others
	pace      = 2 // held briefly to change the record under a shared door
	slots     = 8 // the first of MaxConcurrency bytes, one per shared Pass
)

// Pauses between two attempts to take a lock.
const (
	minPoll = 200 * time.Microsecond
	maxPoll = 20 * time.Millisecond
)

// paceLimit limits the wait for the pace byte on release. Its holders need microseconds;
// only a stopped process can keep it longer.
const paceLimit = time.Second

// gate is one host in this process. A byte lock belongs to the open file, which all
// goroutines here share. So the fields below order goroutines, and the byte locks order
// processes.
type gate struct {
	host, path string
	clock      clock

	users int           // guarded by Gates.mu
	place *list.Element // in Gates.idle; guarded by Gates.mu

	// turn holds one token while a goroutine enters. Go serves goroutines that block on a
	// channel in order of arrival, so the queue is fair.
	turn  chan struct{}
	freed chan struct{} // a Pass of this process was released; read by the owner of the turn

	mu        sync.Mutex
	file      *os.File // nil until first use
	active    int      // passes held in this process, and one that is entering with a shared door
	exclusive bool     // the one held Pass is exclusive
	taken     uint64   // slots of shared passes, one bit per slot
	kept      uint64   // locked slots: those of passes and of the lease
	lease     lease
}

func newGate(host, path string, c clock) *gate {
	return &gate{
		host: host, path: path, clock: c,
		turn:  make(chan struct{}, 1),
		freed: make(chan struct{}, 1),
	}
}

// acquirePass waits for the turn of this goroutine, for the locks, and for the gap.
func (g *gate) acquirePass(ctx context.Context, delay time.Duration, n int) (*Pass, error) {
	if err := g.takeTurn(ctx); err != nil {
		return nil, err
	}
	defer g.leaveTurn()
	return g.enterGate(ctx, delay, n)
}

func (g *gate) takeTurn(ctx context.Context) error {
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gate) leaveTurn() { <-g.turn }

// enterGate waits for the locks and for the gap. The caller has the turn.
func (g *gate) enterGate(ctx context.Context, delay time.Duration, n int) (*Pass, error) {
	if err := g.waitLocal(ctx, n); err != nil {
		return nil, err
	}
	if p, err := g.reuseLease(delay, n); p != nil || err != nil {
		return p, err
	}
	if err := g.lockTurnstile(ctx); err != nil {
		return nil, err
	}
	defer unlockByte(g.file, turnstile)
	if n == 1 {
		return g.enterExclusive(ctx, delay)
	}
	return g.enterShared(ctx, delay, n)
}

// waitLocal waits until the passes of this process leave room for one more. The room stays,
// since only the owner of the turn adds passes.
func (g *gate) waitLocal(ctx context.Context, n int) error {
	for {
		g.mu.Lock()
		room := g.active == 0 || (!g.exclusive && g.active < n)
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

// lockTurnstile opens the file if needed and locks its turnstile. If a sweep has removed
// the file, it opens a new one. No Pass is held on the removed file then.
func (g *gate) lockTurnstile(ctx context.Context) error {
	for {
		if err := g.openFile(); err != nil {
			return err
		}
		if err := lockByte(ctx, g.file, turnstile, exclusive); err != nil {
			return err
		}
		removed, err := isUnlinked(g.file)
		if err == nil && !removed {
			return nil
		}
		unlockByte(g.file, turnstile)
		if err != nil {
			return err
		}
		g.file.Close()
		g.file = nil
	}
}

// openFile opens the file if needed.
func (g *gate) openFile() error {
	if g.file != nil {
		return nil
	}
	f, err := os.OpenFile(g.path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	g.file = f
	return nil
}

// isIdle reports whether this process holds no Pass and no lease. A caller with the turn may rely on it.
func (g *gate) isIdle() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.active == 0 && !g.lease.held
}

// enterExclusive locks the door for one Pass and waits until the gap is over.
func (g *gate) enterExclusive(ctx context.Context, delay time.Duration) (*Pass, error) {
	if err := lockByte(ctx, g.file, door, exclusive); err != nil {
		return nil, err
	}
	state, err := g.beginRequest(ctx, delay, exclusive)
	if err != nil {
		unlockByte(g.file, door)
		return nil, err
	}
	g.mu.Lock()
	g.active, g.exclusive = 1, true
	g.mu.Unlock()
	return &Pass{gate: g, state: state, exclusive: true, delay: delay}, nil
}

// enterShared locks one of n slots behind a shared door and waits until the gap since the
// last start is over. It holds the turnstile meanwhile, so requests start one by one.
func (g *gate) enterShared(ctx context.Context, delay time.Duration, n int) (*Pass, error) {
	g.mu.Lock()
	first, kept := g.active == 0, g.kept
	g.active++ // so that no release unlocks the door meanwhile
	g.mu.Unlock()
	slot, state, err := g.enterSlot(ctx, delay, n, first, kept)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		g.taken |= 1 << slot
		g.kept |= 1 << slot
		return &Pass{gate: g, state: state, slot: slot, delay: delay}, nil
	}
	g.active--
	if g.active == 0 && !g.lease.held {
		unlockByte(g.file, door)
	}
	return nil, err
}

// enterSlot locks the door, if this is the first Pass, and a slot, and begins the request.
func (g *gate) enterSlot(ctx context.Context, delay time.Duration, n int, first bool, kept uint64) (slot int, state politeness.State, err error) {
	if first {
		if err := lockByte(ctx, g.file, door, shared); err != nil {
			return 0, state, err
		}
	}
	if slot, err = lockSlot(ctx, g.file, kept, n); err != nil {
		return 0, state, err
	}
	if state, err = g.beginRequest(ctx, delay, shared); err != nil {
		unlockByte(g.file, slots+int64(slot))
	}
	return slot, state, err
}

// beginRequest waits until the gap is over and marks the host as in flight.
func (g *gate) beginRequest(ctx context.Context, delay time.Duration, m mode) (politeness.State, error) {
	for {
		state, wait, err := g.tryBegin(ctx, delay, m)
		if err != nil || wait == 0 {
			return state, err
		}
		if err := sleepFor(ctx, wait); err != nil {
			return politeness.State{}, err
		}
	}
}

// tryBegin marks the host as in flight if the gap is over. Otherwise it returns the rest of
// the gap. Behind a shared door others change the record too: mu excludes those of this
// process, the pace byte those of other processes.
func (g *gate) tryBegin(ctx context.Context, delay time.Duration, m mode) (politeness.State, time.Duration, error) {
	if m == shared {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err := lockByte(ctx, g.file, pace, exclusive); err != nil {
			return politeness.State{}, 0, err
		}
		defer unlockByte(g.file, pace)
	}
	stored, fresh, err := g.clock.readState(g.file)
	if err != nil {
		return politeness.State{}, 0, err
	}
	now := g.clock.currentTime()
	state := stored.Settle(now)
	wait := state.Wait(now, delay)
	if m == shared {
		state.InFlight = stored.InFlight // the mark may belong to a living holder
		wait = state.WaitStart(now, delay)
	}
	if wait > 0 {
		if state != stored {
			// Store the settled state. A second look would settle it again, and the gap
			// would never end.
			err = g.clock.writeState(g.file, state)
		}
		return state, wait, err
	}
	state = state.Begin(now, delay)
	if fresh {
		return state, 0, g.clock.writeNew(g.file, state, g.host)
	}
	return state, 0, g.clock.writeState(g.file, state)
}

// closeFile closes the file. The gate must have no users.
func (g *gate) closeFile() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.file == nil {
		return nil
	}
	err := errors.Join(g.endLease(), g.file.Close())
	g.file = nil
	return err
}

// lockSlot locks one of the first n slots that this process does not hold.
func lockSlot(ctx context.Context, f *os.File, taken uint64, n int) (int, error) {
	for pause := minPoll; ; pause = nextPause(pause) {
		for slot := range n {
			if taken&(1<<slot) != 0 {
				continue
			}
			ok, err := tryLock(f, slots+int64(slot), exclusive)
			if err != nil || ok {
				return slot, err
			}
		}
		if err := sleepFor(ctx, pause); err != nil {
			return 0, err
		}
	}
}

// lockByte locks one byte of f and waits for other processes. It polls, since a blocking lock
// call cannot be cancelled.
func lockByte(ctx context.Context, f *os.File, at int64, m mode) error {
	for pause := minPoll; ; pause = nextPause(pause) {
		ok, err := tryLock(f, at, m)
		if err != nil {
			return fmt.Errorf("lock byte %d of %s: %w", at, f.Name(), err)
		}
		if ok {
			return nil
		}
		if err := sleepFor(ctx, pause); err != nil {
			return err
		}
	}
}

// nextPause returns the pause after pause. It grows by a random part, so that processes do not
// poll in step.
func nextPause(pause time.Duration) time.Duration {
	return min(pause+rand.N(pause), maxPoll)
}

func sleepFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
