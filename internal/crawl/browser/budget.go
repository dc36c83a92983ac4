package browser

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTimeOver is the cause of a context that a budget ended.
var errTimeOver = errors.New("time is over")

// budget is time that runs out, but not while it is paused. Its context ends then,
// by errTimeOver.
type budget struct {
	context.Context
	end context.CancelCauseFunc

	mu     sync.Mutex
	left   time.Duration
	since  time.Time
	paused int
	idle   time.Duration // all pauses together
	timer  *time.Timer
}

func newBudget(parent context.Context, d time.Duration) *budget {
	b := &budget{left: d, since: time.Now()}
	b.Context, b.end = context.WithCancelCause(parent)
	b.timer = time.AfterFunc(d, func() { b.end(errTimeOver) })
	return b
}

// pause stops the time until resume; both may be nested.
func (b *budget) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused++; b.paused == 1 {
		b.timer.Stop()
		b.left -= time.Since(b.since)
		b.since = time.Now()
	}
}

// resume lets the time run on.
func (b *budget) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused--; b.paused == 0 {
		b.idle += time.Since(b.since)
		b.since = time.Now()
		b.timer.Reset(max(b.left, 0))
	}
}

// stop frees the budget.
func (b *budget) stop() {
	b.mu.Lock()
	b.timer.Stop()
	b.mu.Unlock()
	b.end(nil)
}

// stood is how long the time was paused.
func (b *budget) stood() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.idle
}
