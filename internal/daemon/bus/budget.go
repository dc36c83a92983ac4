package bus

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// Budget limits the bytes of requests that all peers of its sockets have under way, from the
// announcement of their length to their answer. It is safe for concurrent use.
type Budget struct {
	size int64

	mu      sync.Mutex
	used    int64
	waiting []*claim // first come, first served
	trim    *time.Timer
	trimmed int // how often memory went back since the budget was used
}

type claim struct {
	bytes   int64
	granted chan struct{}
}

// NewBudget returns a budget of size bytes.
func NewBudget(size int64) *Budget { return &Budget{size: size} }

// Size returns the limit.
func (b *Budget) Size() int64 { return b.size }

// Used returns the bytes that are under way.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// describeLoad describes the state for a refused peer.
func (b *Budget) describeLoad() string {
	return fmt.Sprintf("the daemon is busy with %d of %d bytes of requests (PeersMemory of dc-daemon.ini)", b.Used(), b.size)
}

// reserveBytes reserves n bytes. It waits at most limit, and reports whether it has them.
func (b *Budget) reserveBytes(n int64, limit time.Duration) bool {
	b.mu.Lock()
	if n > b.size {
		b.mu.Unlock()
		return false
	}
	if len(b.waiting) == 0 && b.used+n <= b.size {
		b.used += n
		b.mu.Unlock()
		return true
	}
	c := &claim{n, make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.mu.Unlock()

	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.granted:
		return true
	case <-timer.C:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, other := range b.waiting {
		if other == c {
			b.waiting = append(b.waiting[:i], b.waiting[i+1:]...)
			b.grantClaims() // a smaller one may have waited behind it
			return false
		}
	}
	return true // granted meanwhile
}

// trims are the times after which memory goes back to the system, from the last use of the budget and
// from each other. The first one comes too early for what an answer still holds, and an idle daemon has
// no other garbage collection for minutes.
var trims = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second}

// returnBytes returns n bytes. After the last ones the freed memory goes back to the system: the
// runtime itself keeps the pages of a burst for minutes.
func (b *Budget) returnBytes(n int64) {
	if n == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.grantClaims()
	switch b.trimmed = 0; {
	case b.used > 0:
	case b.trim == nil:
		b.trim = time.AfterFunc(trims[0], b.releaseMemory)
	default:
		b.trim.Reset(trims[0])
	}
}

// releaseMemory gives memory back while the budget is unused.
func (b *Budget) releaseMemory() {
	b.mu.Lock()
	unused := b.used == 0
	if b.trimmed++; unused && b.trimmed < len(trims) {
		b.trim.Reset(trims[b.trimmed])
	}
	b.mu.Unlock()
	if unused {
		runtime.GC() // the second collection in a row empties pools: encoding/json keeps its largest buffers in one
		debug.FreeOSMemory()
		trimHeap()
	}
}

// grantClaims serves the waiting claims in their order. Call it with b.mu held.
func (b *Budget) grantClaims() {
	for len(b.waiting) > 0 && b.used+b.waiting[0].bytes <= b.size {
		c := b.waiting[0]
		b.waiting = b.waiting[1:]
		b.used += c.bytes
		close(c.granted)
	}
}
