package browser

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// errTimeOver is the cause of the context of a budget that has run out.
var errTimeOver = errors.New("timeout")

// budget is a timeout whose clock can stand still. Its context ends with the cause errTimeOver.
type budget struct {
	context.Context
	end   context.CancelCauseFunc
	timer *time.Timer
	idle  atomic.Int64 // nanoseconds for which the clock stood still

	mu  sync.Mutex // held while the clock stands still
	due time.Time
}

func newBudget(parent context.Context, d time.Duration) *budget {
	b := &budget{due: time.Now().Add(d)}
	b.Context, b.end = context.WithCancelCause(parent)
	b.timer = time.AfterFunc(d, func() { b.end(errTimeOver) })
	return b
}

// callUntimed calls f while the clock stands still. It calls one function at a time.
func (b *budget) callUntimed(f func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.timer.Stop()
	began := time.Now()
	err := f()
	idle := time.Since(began)
	b.idle.Add(int64(idle))
	b.due = b.due.Add(idle)
	b.timer.Reset(max(time.Until(b.due), 0))
	return err
}

// stop releases the resources of the budget.
func (b *budget) stop() {
	b.timer.Stop()
	b.end(nil)
}

// pausedTime returns how long the clock stood still.
func (b *budget) pausedTime() time.Duration { return time.Duration(b.idle.Load()) }
