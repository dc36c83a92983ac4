package browser

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errTimeOver is the cause of the context of a budget that has run out.
var errTimeOver = errors.New("timeout")

// budget is a timeout that can be paused. Its context ends with the cause errTimeOver.
type budget struct {
	context.Context
	end context.CancelCauseFunc

	mu     sync.Mutex
	left   time.Duration
	since  time.Time
	paused int
	idle   time.Duration // sum of all pauses
	timer  *time.Timer
}

func newBudget(parent context.Context, d time.Duration) *budget {
	b := &budget{left: d, since: time.Now()}
	b.Context, b.end = context.WithCancelCause(parent)
	b.timer = time.AfterFunc(d, func() { b.end(errTimeOver) })
	return b
}

// pause stops the clock until resume. Calls nest.
func (b *budget) pause() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused++; b.paused == 1 {
		b.timer.Stop()
		b.left -= time.Since(b.since)
		b.since = time.Now()
	}
}

// resume ends one pause.
func (b *budget) resume() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.paused--; b.paused == 0 {
		b.idle += time.Since(b.since)
		b.since = time.Now()
		b.timer.Reset(max(b.left, 0))
	}
}

// stop releases the resources of the budget.
func (b *budget) stop() {
	b.mu.Lock()
	b.timer.Stop()
	b.mu.Unlock()
	b.end(nil)
}

// pausedTime returns the sum of all pauses.
func (b *budget) pausedTime() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.idle
}
