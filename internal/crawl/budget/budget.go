// Package budget divides memory among the bodies of pages, so that waiters never deadlock.
//
//	b := budget.New(total)
//	account := b.OpenAccount(free)
//	err := account.Grow(ctx, size, most) // waits
//	account.Keep(0)                      // returns the memory
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

const (
	// FreeBytes is the memory that each request may use for its body without asking, so that
	// ordinary pages never wait.
	FreeBytes = 1 << 20
	// oldest is the number of longest waiters that are tried first when memory is returned.
	oldest = 8
	// TextGrowth is the maximum ratio of a page's text to its body: a byte of another charset may
	// need three in UTF-8.
	TextGrowth = 3
)

// ErrNoTime means that the batch ended before the item was fetched.
var ErrNoTime = errors.New("the batch ended before the URL was fetched")

// Budget is memory that many bodies share. A waiter keeps what it has. So a step is granted only
// while an order exists in which all accounts can still get their maximum, one after the other,
// from what earlier ones returned (the banker's algorithm). Therefore waiters never deadlock. It
// is safe for concurrent use.
type Budget struct {
	total int64

	mu      sync.Mutex
	used    int64
	open    map[*Account]bool
	waiting []*Account // in order of arrival
}

// Account is the share of one body in a Budget. One goroutine at a time uses it. A nil account
// grants everything.
type Account struct {
	budget *Budget
	free   int64 // granted without asking
	held   int64 // in excess of free
	most   int64 // maximum that held may become
	want   int64 // what held becomes when the wait ends
	ready  chan struct{}
}

// New returns a budget of total bytes.
func New(total int64) *Budget {
	return &Budget{total: total, open: map[*Account]bool{}}
}

// OfBodies returns the budget of bodies and the free share of each slot: half of the memory divided
// by the slots, at most FreeBytes. memory is in bytes; 0 means no limit.
func OfBodies(memory int64, hosts, slowHosts int) (b *Budget, free int64) {
	if memory <= 0 {
		return nil, 0
	}
	slots := int64(max(hosts, 1) + slowHosts)
	free = min(FreeBytes, memory/(2*slots))
	return New(max(memory-free*slots, 1)), free
}

// OpenAccount opens an account. It returns nil for a nil budget.
func (b *Budget) OpenAccount(free int64) *Account {
	if b == nil {
		return nil
	}
	return &Account{budget: b, free: free}
}

// Grow waits until size bytes are granted; the account will never need more than most. Sizes
// above the budget count as the whole budget. The error is ErrNoTime if ctx ends.
func (a *Account) Grow(ctx context.Context, size, most int64) error {
	if a == nil {
		return nil
	}
	b := a.budget
	size, most = min(size-a.free, b.total), min(max(size, most)-a.free, b.total)
	b.mu.Lock()
	if size <= a.held {
		b.mu.Unlock()
		return nil
	}
	a.want, a.most = size, max(most, a.most)
	b.open[a] = true
	if b.canGrant(a) {
		b.takeStep(a)
		b.mu.Unlock()
		return nil
	}
	a.ready = make(chan struct{})
	b.waiting = append(b.waiting, a)
	b.mu.Unlock()
	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.Index(b.waiting, a); i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
		a.want = a.held
		return fmt.Errorf("%w: no memory for the body: %w", ErrNoTime, context.Cause(ctx))
	}
	return nil // granted in the meantime
}

// TryGrow is Grow without waiting. It reports whether the bytes were granted.
func (a *Account) TryGrow(size int64) bool {
	if a == nil {
		return true
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	size = max(min(size-a.free, b.total), 0)
	if size > a.held && b.used+size-a.held > b.total {
		return false
	}
	if size > a.held {
		b.used += size - a.held
		a.held, a.most = size, size
		b.open[a] = true
	}
	return true
}

// Keep returns memory in excess of size bytes. The account can grow again later.
func (a *Account) Keep(size int64) {
	if a == nil {
		return
	}
	b := a.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	held := max(min(size-a.free, a.held), 0)
	b.used -= a.held - held
	a.held, a.most = held, held
	if held == 0 {
		delete(b.open, a)
	}
	b.grantWaiters()
}

// takeStep makes the step that a wants.
func (b *Budget) takeStep(a *Account) {
	b.used += a.want - a.held
	a.held = a.want
}

// canGrant reports whether all accounts can still finish after the step that a wants.
func (b *Budget) canGrant(a *Account) bool {
	free := b.total - b.used - (a.want - a.held)
	if free < 0 {
		return false
	}
	type need struct{ more, held int64 }
	needs := make([]need, 0, len(b.open))
	for o := range b.open {
		held := o.held
		if o == a {
			held = a.want
		}
		needs = append(needs, need{o.most - held, held})
	}
	slices.SortFunc(needs, func(x, y need) int { return cmp.Compare(x.more, y.more) })
	for _, n := range needs {
		if n.more > free {
			return false
		}
		free += n.held
	}
	return true
}

// grantWaiters grants steps to waiters: the oldest first, then the one with the smallest need, which is
// always possible when the others have finished.
func (b *Budget) grantWaiters() {
	for len(b.waiting) > 0 {
		list := slices.Clone(b.waiting[:min(len(b.waiting), oldest)])
		list = append(list, slices.MinFunc(b.waiting, func(x, y *Account) int { return cmp.Compare(x.most-x.held, y.most-y.held) }))
		i := slices.IndexFunc(list, b.canGrant)
		if i < 0 {
			return
		}
		a := list[i]
		b.takeStep(a)
		b.waiting = slices.Delete(b.waiting, slices.Index(b.waiting, a), slices.Index(b.waiting, a)+1)
		close(a.ready)
	}
}
